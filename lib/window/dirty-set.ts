import { INSTANT_MAX } from './instant.ts';
import { intersect, type TimeRange } from './time-range.ts';
import type { WindowSpec } from './window-spec.ts';
import { stepWindows } from './windows.ts';

/**
 * Sets of times as lists of ranges. But for the argument of {@link normalize}, every list is normal: ascending, disjoint, with a
 * gap between neighbours. So is every list that comes back.
 */

/** The same times as a normal list: sorted, overlaps and touching neighbours joined, empty ranges dropped. */
export function normalize(ranges: readonly TimeRange[]): TimeRange[] {
  const sorted = ranges
    .filter((range) => range.start < range.end)
    .toSorted((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
  return joinWhere(sorted, (previous, next) => next.start <= previous.end);
}

/** Joins neighbours that lie at most `distance` windows apart, with the gap between them. */
export function joinNear(ranges: readonly TimeRange[], spec: WindowSpec, distance: number): TimeRange[] {
  return joinWhere(ranges, (previous, next) => next.start <= stepWindows(spec, previous.end, distance));
}

/** Times of `a` that are not in `b`. */
export function subtract(a: readonly TimeRange[], b: readonly TimeRange[]): TimeRange[] {
  const left: TimeRange[] = [];
  let from = 0;
  for (const range of a) {
    let start = range.start;
    while (from < b.length && endOf(b, from) <= start) from += 1;
    for (let index = from; index < b.length; index += 1) {
      const hole = b[index];
      if (hole === undefined || hole.start >= range.end) break;
      if (hole.start > start) left.push({ start, end: hole.start });
      start = hole.end;
    }
    if (start < range.end) left.push({ start, end: range.end });
  }
  return left;
}

/** Times of `ranges` that lie in `within`. */
export function clip(ranges: readonly TimeRange[], within: TimeRange): TimeRange[] {
  return ranges.flatMap((range) => intersect(range, within) ?? []);
}

export interface TakeLimits {
  /** Most ranges taken. */
  readonly maxRanges: number;
  /** Most windows taken, over all ranges together. From 1 on, one window at least is taken, however long it is. */
  readonly maxWindows: number;
  /** Which end goes first. */
  readonly order: 'newest' | 'oldest';
}

/**
 * Divides into what one plan takes and what it leaves. A range that is longer than what may still be taken is split at a
 * window boundary. Windows are counted by stepping over those that are taken, so the cost follows the limits and not the length
 * of the ranges.
 */
export function takeWindows(
  ranges: readonly TimeRange[],
  spec: WindowSpec,
  limits: TakeLimits,
): { readonly taken: TimeRange[]; readonly left: TimeRange[] } {
  const newestFirst = limits.order === 'newest';
  const taken: TimeRange[] = [];
  const left: TimeRange[] = [];
  let windows = limits.maxWindows;
  for (const range of newestFirst ? ranges.toReversed() : ranges) {
    if (windows < 1 || taken.length >= limits.maxRanges) {
      left.push(range);
      continue;
    }
    const part = newestFirst ? newestPart(range, spec, windows) : oldestPart(range, spec, windows);
    windows -= part.windows;
    taken.push(part.range);
    left.push(...subtract([range], [part.range]));
  }
  if (newestFirst) {
    taken.reverse();
    left.reverse();
  }
  return { taken, left };
}

interface Part {
  readonly range: TimeRange;
  readonly windows: number;
}

function newestPart({ start, end }: TimeRange, spec: WindowSpec, maxWindows: number): Part {
  let at = end;
  let windows = 0;
  while (windows < maxWindows && at > start) {
    at = stepWindows(spec, at, -1);
    windows += 1;
  }
  return { range: { start: at > start ? at : start, end }, windows };
}

function oldestPart({ start, end }: TimeRange, spec: WindowSpec, maxWindows: number): Part {
  let at = start;
  let windows = 0;
  while (windows < maxWindows && at < end) {
    at = stepWindows(spec, at, 1);
    windows += 1;
  }
  return { range: { start, end: at < end ? at : end }, windows };
}

function joinWhere(
  ascending: readonly TimeRange[],
  belongs: (previous: TimeRange, next: TimeRange) => boolean,
): TimeRange[] {
  const joined: TimeRange[] = [];
  for (const range of ascending) {
    const previous = joined.at(-1);
    if (previous === undefined || !belongs(previous, range)) {
      joined.push(range);
    } else if (range.end > previous.end) {
      joined[joined.length - 1] = { start: previous.start, end: range.end };
    }
  }
  return joined;
}

function endOf(ranges: readonly TimeRange[], index: number): bigint {
  return ranges[index]?.end ?? INSTANT_MAX;
}
