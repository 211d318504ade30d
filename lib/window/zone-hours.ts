import { floorMod } from './floor-division.ts';
import { HOUR, type Micros } from './instant.ts';
import type { ZoneOffsets } from './zone-offsets.ts';

/**
 * Hours read in a zone. PostgreSQL cuts the wall-clock reading to the hour and keeps the offset of the instant (see
 * `timestamptz_trunc_internal`: the offset is looked up again from the day on only). So a label lies less than an hour before its
 * instant; a shift that is not whole hours starts a new label in mid-hour, at times one that lies before the window or
 * below an earlier label. Windows that a shift makes overlap like this are joined.
 */

/** Further than any label reaches from its window, and than a joined window reaches from a shift. */
const CALM: Micros = 3n * HOUR;

export function hourStartInZone(zone: ZoneOffsets, t: bigint): bigint {
  const offset = calmOffset(zone, t);
  if (offset !== null) return t - floorMod(t + offset, HOUR);
  for (let reach = 2n * CALM; ; reach *= 2n) {
    const start = cleanCuts(zone, t - reach, t + reach).findLast((cut) => cut <= t);
    if (start !== undefined) return start;
  }
}

export function hourEndInZone(zone: ZoneOffsets, t: bigint): bigint {
  const offset = calmOffset(zone, t);
  if (offset !== null) return t - floorMod(t + offset, HOUR) + HOUR;
  for (let reach = 2n * CALM; ; reach *= 2n) {
    const end = cleanCuts(zone, t - reach, t + reach).find((cut) => cut > t);
    if (end !== undefined) return end;
  }
}

/** The offset, where no shift is near. */
function calmOffset(zone: ZoneOffsets, t: bigint): Micros | null {
  const segments = zone.segments(t - CALM, t + CALM);
  return segments.length === 1 ? (segments[0]?.offset ?? null) : null;
}

/** A stretch of time under one label. */
interface Piece {
  readonly start: bigint;
  readonly label: bigint;
}

/** Every moment in the range with only lower labels before it and only higher ones after it, ascending. */
function cleanCuts(zone: ZoneOffsets, from: bigint, to: bigint): bigint[] {
  const pieces = labelledPieces(zone, from, to);
  const lowestFrom: bigint[] = [];
  let lowest: bigint | null = null;
  for (const { label } of pieces.toReversed()) {
    lowest = lowest === null || label < lowest ? label : lowest;
    lowestFrom.unshift(lowest);
  }
  const cuts: bigint[] = [];
  let highest: bigint | null = null;
  pieces.forEach(({ start, label }, index) => {
    const after = lowestFrom[index];
    if (highest !== null && after !== undefined && highest < after) cuts.push(start);
    highest = highest === null || label > highest ? label : highest;
  });
  return cuts;
}

function labelledPieces(zone: ZoneOffsets, from: bigint, to: bigint): Piece[] {
  const pieces: Piece[] = [];
  for (const { start, end, offset } of zone.segments(from, to)) {
    for (let at = start; at < end; ) {
      const label = at - floorMod(at + offset, HOUR);
      pieces.push({ start: at, label });
      at = label + HOUR;
    }
  }
  return pieces;
}
