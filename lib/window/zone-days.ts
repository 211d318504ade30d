import type { CalendarGrid } from './calendar-grid.ts';
import { HOUR, type Micros } from './instant.ts';
import { MAX_OFFSET, type OffsetSegment, type ZoneOffsets } from './zone-offsets.ts';

/**
 * Windows of whole local days or more. A window's label is its first wall-clock reading (a local midnight), which is monotone
 * in time but for a clock set back across that midnight. Such a midnight is no boundary: the windows on both sides are
 * joined, so that every boundary has the lower labels before it and the higher ones after it. All bounds are bigint
 * microseconds that do not saturate.
 */

export function startInZone(grid: CalendarGrid, zone: ZoneOffsets, t: bigint): bigint {
  for (let index = indexInZone(grid, zone, t); ; index -= 1) {
    const cut = cleanCut(zone, grid.startOf(index));
    if (cut !== null) return cut;
  }
}

export function endInZone(grid: CalendarGrid, zone: ZoneOffsets, t: bigint): bigint {
  for (let index = indexInZone(grid, zone, t) + 1; ; index += 1) {
    const cut = cleanCut(zone, grid.startOf(index));
    if (cut !== null) return cut;
  }
}

function indexInZone(grid: CalendarGrid, zone: ZoneOffsets, t: bigint): number {
  return grid.indexOf(t + zone.offsetAt(t));
}

/**
 * The moment that has every earlier wall-clock reading before it and every reading from `wallClock` on after it, or null where a
 * clock set back makes them alternate. A reading that was skipped is cut where the clock jumped over it.
 */
function cleanCut(zone: ZoneOffsets, wallClock: bigint): bigint | null {
  const reach: Micros = MAX_OFFSET + HOUR;
  const segments = zone.segments(wallClock - reach, wallClock + reach);
  const [only] = segments;
  if (only !== undefined && segments.length === 1) return wallClock - only.offset;
  const first = firstAtOrAfter(segments, wallClock);
  return first === lastBefore(segments, wallClock) ? first : null;
}

/** The first moment whose reading is `wallClock` or later. */
function firstAtOrAfter(segments: readonly OffsetSegment[], wallClock: bigint): bigint | null {
  for (const { start, end, offset } of segments) {
    if (end + offset <= wallClock) continue;
    return start + offset > wallClock ? start : wallClock - offset;
  }
  return null;
}

/** The end of the last moments whose reading is earlier than `wallClock`. */
function lastBefore(segments: readonly OffsetSegment[], wallClock: bigint): bigint | null {
  let last: bigint | null = null;
  for (const { start, end, offset } of segments) {
    if (start + offset >= wallClock) continue;
    last = end + offset < wallClock ? end : wallClock - offset;
  }
  return last;
}
