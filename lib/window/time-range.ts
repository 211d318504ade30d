import { INSTANT_MAX, INSTANT_MIN, type Instant } from './instant.ts';

/** Half-open: `start` belongs to it, `end` does not. `start < end` always. */
export interface TimeRange {
  readonly start: Instant;
  readonly end: Instant;
}

/** The range that holds every finite time. Its bounds mean "no bound on this side". */
export const ALL_TIME: TimeRange = { start: INSTANT_MIN, end: INSTANT_MAX };

export function rangeLength(range: TimeRange): bigint {
  return range.end - range.start;
}

/** The common part of both, or null. */
export function intersect(a: TimeRange, b: TimeRange): TimeRange | null {
  const start = a.start > b.start ? a.start : b.start;
  const end = a.end < b.end ? a.end : b.end;
  return start < end ? { start, end } : null;
}

export function covers(outer: TimeRange, inner: TimeRange): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}
