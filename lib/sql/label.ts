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
    current = { ...current, labelType: to, expression };
  }
  return current;
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
