import type { TimeColumnType } from '../flow/definition.ts';
import { isUtc } from '../flow/time-zone.ts';
import { DAY } from '../window/instant.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { quoteString } from './sql-literal.ts';
import { type Obstacle, sameZone, zoneOf } from './time-value.ts';
import type { Wrapper } from './wrappers.ts';

/** What a window expression computes. */
export interface WindowMeaning {
  readonly spec: WindowSpec;
  readonly expression: readonly [string, string];
  readonly argumentType: 'timestamptz' | 'timestamp';
  readonly labelType: TimeColumnType;
  /**
   * How the label is read off the start of the window, step by step: windows of one spec with equal readings have equal labels,
   * whatever the expression. Empty for the instant itself.
   */
  readonly reading: readonly string[];
}

/** The clock's reading in a zone. */
export function wallReading(zone: string): string {
  return isUtc(zone) ? 'wall UTC' : `wall ${zone.toLowerCase()}`;
}

/** Whether two window expressions give one label to the times of each window. */
export function sameLabels(a: WindowMeaning, b: WindowMeaning): boolean {
  return a.labelType === b.labelType && a.reading.join() === b.reading.join() && sameWindows(a.spec, b.spec);
}

function sameWindows(a: WindowSpec, b: WindowSpec): boolean {
  if (a.kind === 'fixed' && b.kind === 'fixed') return a.size === b.size && (a.origin - b.origin) % a.size === 0n;
  return a.kind === 'calendar' && b.kind === 'calendar' && a.unit === b.unit && sameZone(a.zone, b.zone);
}

/**
 * The label after the casts around the window expression, outermost first. A cast must keep the labels of two windows apart, else
 * a group of the query would hold several windows.
 */
export function labelOf(
  meaning: WindowMeaning,
  wrappers: readonly Wrapper[],
  sessionZone: string,
): WindowMeaning | Obstacle {
  let current = meaning;
  /** In which zone a label without a zone is the clock's reading. */
  let wallZone: string | null = null;
  for (const wrapper of wrappers.toReversed()) {
    const from = current.labelType;
    const zone: string | null = wrapper.kind === 'cast' ? sessionZone : zoneOf(wrapper.zone);
    const to: TimeColumnType =
      wrapper.kind === 'cast' ? wrapper.type : from === 'timestamptz' || from === 'date' ? 'timestamp' : 'timestamptz';
    if (wrapper.kind === 'cast' && to === from) continue;
    if (zone === null || (wrapper.kind === 'at_time_zone' && from === 'date')) {
      return { obstacle: 'the label is converted with AT TIME ZONE in a way that cannot be followed' };
    }
    if (!keepsApart(current.spec, from, to, zone, wallZone)) {
      return {
        obstacle: `the label is converted to ${to}, which may give two windows one label there; leave that out, or convert in the zone that is cut in`,
      };
    }
    if (from === 'timestamptz') wallZone = zone;
    const [before, after] = current.expression;
    const expression: [string, string] =
      wrapper.kind === 'cast'
        ? [`CAST(${before}`, `${after} AS pg_catalog.${to})`]
        : [`pg_catalog.timezone(${quoteString(zone)}, ${before}`, `${after})`];
    current = { ...current, labelType: to, expression, reading: readAs(current.reading, from, to, zone) };
  }
  return current;
}

function readAs(reading: readonly string[], from: TimeColumnType, to: TimeColumnType, zone: string): readonly string[] {
  if (to === 'timestamptz') {
    // Exact only off a clock that never changes.
    const inUtc = isUtc(zone) && reading.at(-1) === wallReading('UTC');
    return inUtc ? reading.slice(0, -1) : [...reading, `instant ${zone.toLowerCase()}`];
  }
  const wall = from === 'timestamptz' ? [...reading, wallReading(zone)] : reading;
  if (to === 'date') return [...wall, 'date'];
  return from === 'date' ? [...wall, 'midnight'] : wall;
}

/** Whether labels of different windows stay different. */
function keepsApart(
  spec: WindowSpec,
  from: TimeColumnType,
  to: TimeColumnType,
  zone: string,
  wallZone: string | null,
): boolean {
  const wholeDays = spec.kind === 'fixed' ? spec.size >= DAY : spec.unit !== 'hour';
  if (from === 'timestamptz') {
    // Local midnights of the zone that made them are different dates there; elsewhere an hour may be shown twice.
    const ownDays = spec.kind === 'calendar' && wholeDays && sameZone(spec.zone, zone);
    return ownDays || (isUtc(zone) && (to !== 'date' || isFullDayApart(spec)));
  }
  if (to === 'date') return wholeDays;
  if (to === 'timestamp') return true;
  // Back to an instant: exact where the reading was taken off the same clock, or off one that never changes.
  return isUtc(zone) || (wholeDays && wallZone !== null && sameZone(wallZone, zone));
}

/** Labels at least 24 hours apart have different dates in UTC. Days of a zone may be shorter. */
function isFullDayApart(spec: WindowSpec): boolean {
  return spec.kind === 'fixed' ? spec.size >= DAY : isUtc(spec.zone) || (spec.unit !== 'hour' && spec.unit !== 'day');
}
