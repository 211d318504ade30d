import { SluiceError } from '../errors.ts';
import { calendarGrid, meanLength } from './calendar-grid.ts';
import { floorDiv } from './floor-division.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant, type Micros } from './instant.ts';
import type { TimeRange } from './time-range.ts';
import type { WindowSpec } from './window-spec.ts';
import { endInZone, startInZone } from './zone-days.ts';
import { hourEndInZone, hourStartInZone } from './zone-hours.ts';
import { zoneOffsets } from './zone-offsets.ts';

/**
 * The windows of a spec tile all time from INSTANT_MIN to INSTANT_MAX; the outermost ones are cut there, and both limits
 * count as boundaries. Where a clock set back makes labels alternate, the windows concerned are joined into one, so that at each
 * boundary `b` all times before it have lower labels than all times from it on.
 *
 * Every function throws `invalid_option` for a zone that is not known, and nothing else.
 */

/** The window that holds `t`. INSTANT_MAX, which is past the last time, counts to the last window. */
export function windowContaining(spec: WindowSpec, t: Instant): TimeRange {
  const { startOf, endOf } = cutting(spec);
  const inside = t === INSTANT_MAX ? t - 1n : t;
  return { start: instant(startOf(inside)), end: instant(endOf(inside)) };
}

/** The smallest range of whole windows that covers `range`. */
export function alignOutwards(spec: WindowSpec, range: TimeRange): TimeRange {
  const { startOf, endOf } = cutting(spec);
  return { start: instant(startOf(range.start)), end: instant(endOf(range.end - 1n)) };
}

/**
 * The boundary `n` windows later, earlier for a negative `n`; never past the limits. From a `boundary` that is none, the
 * rest of its window counts as one.
 */
export function stepWindows(spec: WindowSpec, boundary: Instant, n: number): Instant {
  const { startOf, endOf, jump } = cutting(spec);
  if (n === 0) return boundary;
  if (jump !== null) return instant(jump(boundary, n));
  let at = boundary;
  if (n > 0) {
    for (let step = 0; step < n && at < INSTANT_MAX; step += 1) at = instant(endOf(at));
  } else {
    for (let step = 0; step > n && at > INSTANT_MIN; step -= 1) at = instant(startOf(at - 1n));
  }
  return at;
}

/** Whether a window starts or ends at `t`. */
export function isBoundary(spec: WindowSpec, t: Instant): boolean {
  return t === INSTANT_MIN || t === INSTANT_MAX || cutting(spec).startOf(t) === t;
}

/** Length of a window, the mean one where they differ. */
export function typicalLength(spec: WindowSpec): Micros {
  return spec.kind === 'fixed' ? spec.size : meanLength(spec.unit);
}

/**
 * Whole windows that hold all times whose label is `label`. A label may lie outside of its own window (hours of
 * Australia/Lord_Howe after the half-hour shift), but never further than in the next one.
 */
export function windowsNearLabel(spec: WindowSpec, label: Instant): TimeRange {
  const { start, end } = windowContaining(spec, label);
  return { start: stepWindows(spec, start, -1), end: stepWindows(spec, end, 1) };
}

/** How a spec cuts time. None of the three saturates. */
interface Cutting {
  readonly startOf: (t: bigint) => bigint;
  readonly endOf: (t: bigint) => bigint;
  /** As {@link stepWindows}, in one step; null where windows have to be passed one by one. */
  readonly jump: ((boundary: bigint, n: number) => bigint) | null;
}

function cutting(spec: WindowSpec): Cutting {
  if (spec.kind === 'fixed') return fixedCutting(spec.size, spec.origin);
  const zone = zoneOffsets(spec.zone);
  const grid = calendarGrid(spec.unit);
  if (zone === null) {
    return numberedCutting(
      (t) => BigInt(grid.indexOf(t)),
      (index) => grid.startOf(Number(index)),
    );
  }
  if (spec.unit === 'hour') {
    return { startOf: (t) => hourStartInZone(zone, t), endOf: (t) => hourEndInZone(zone, t), jump: null };
  }
  return { startOf: (t) => startInZone(grid, zone, t), endOf: (t) => endInZone(grid, zone, t), jump: null };
}

/** As PostgreSQL's `date_bin` cuts, with windows before the origin too. */
function fixedCutting(size: Micros, origin: Instant): Cutting {
  if (size <= 0n) throw new SluiceError('internal', `A window of ${size} microseconds has no length.`);
  return numberedCutting(
    (t) => floorDiv(t - origin, size),
    (index) => origin + index * size,
  );
}

/** Windows that a number tells apart: those between two of them need not be passed. */
function numberedCutting(indexOf: (t: bigint) => bigint, startOf: (index: bigint) => bigint): Cutting {
  return {
    startOf: (t) => startOf(indexOf(t)),
    endOf: (t) => startOf(indexOf(t) + 1n),
    // Counted back from the last moment of the window before, so that a rest counts as a window.
    jump: (boundary, n) =>
      n > 0 ? startOf(indexOf(boundary) + BigInt(n)) : startOf(indexOf(boundary - 1n) + 1n + BigInt(n)),
  };
}
