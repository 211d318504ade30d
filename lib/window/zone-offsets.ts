import { SluiceError } from '../errors.ts';
import { DAYS_PER_CYCLE } from './civil-date.ts';
import { floorDiv } from './floor-division.ts';
import { type Micros, SECOND } from './instant.ts';

/** A stretch of time, half-open, in which a zone keeps one offset. */
export interface OffsetSegment {
  readonly start: bigint;
  readonly end: bigint;
  /** Wall clock minus UTC. */
  readonly offset: Micros;
}

/** Offsets of one zone. Takes any microsecond count, also past the limits of an Instant. */
export interface ZoneOffsets {
  readonly offsetAt: (t: bigint) => Micros;
  /** Segments that cover `[from, to)` without a gap, cut at both ends; neighbours differ in their offset. */
  readonly segments: (from: bigint, to: bigint) => OffsetSegment[];
}

/** No zone was ever further from UTC: the Philippines stood at -15:56 until 1844, Alaska at +15:13 until 1867. */
export const MAX_OFFSET: Micros = 16n * 3600n * SECOND;

/**
 * Offsets are asked for at the ends of blocks of two days, and a block whose ends differ is searched. A zone that changes and
 * changes back inside a block would be missed; in the time-zone database the closest such pair lies four days apart
 * (Africa/Freetown, September 1939).
 */
const BLOCK_SECONDS = 2 * 86_400;
const BLOCK: Micros = BigInt(BLOCK_SECONDS) * SECOND;

/** Some years of windows. Bounds the memory of a long-lived process; what is dropped costs two look-ups to find again. */
const MAX_BLOCKS = 4096;

/** `Date` and `Intl` end at ±100 million days, half-way through the year 275760. */
const LAST_DATE_SECOND = 8_640_000_000_000;
const CYCLE_SECONDS = DAYS_PER_CYCLE * 86_400;

const cache = new Map<string, ZoneOffsets | null>();

/** Offsets of an IANA zone, or null where every offset is zero for ever. Throws `invalid_option` for an unknown name. */
export function zoneOffsets(zone: string): ZoneOffsets | null {
  // By name, since the first zone that Intl loads costs a process more than ten milliseconds.
  if (zone === 'UTC') return null;
  const known = cache.get(zone);
  if (known !== undefined) return known;
  const format = offsetFormat(zone);
  if (format === null) {
    throw new SluiceError(
      'invalid_option',
      `Time zone ${JSON.stringify(zone.slice(0, 64))} is not known. Give a name of the IANA time-zone database, such as Europe/Berlin or UTC.`,
    );
  }
  const offsets = format.resolvedOptions().timeZone === 'UTC' ? null : createZoneOffsets(format);
  cache.set(zone, offsets);
  return offsets;
}

/** Whether the name is one of the IANA time-zone database. Offsets such as `+02:00` are not. */
export function isZone(zone: string): boolean {
  return cache.has(zone) || offsetFormat(zone) !== null;
}

function offsetFormat(zone: string): Intl.DateTimeFormat | null {
  // Intl takes `+02:00` as east of Greenwich, PostgreSQL as west of it.
  if (!/^[A-Za-z]/.test(zone)) return null;
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hour: '2-digit',
      hourCycle: 'h23',
      timeZoneName: 'longOffset',
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

interface Change {
  readonly at: bigint;
  readonly offset: Micros;
}

interface Block {
  /** The offset at the start, then each change before the end. */
  readonly changes: readonly Change[];
  /** Seconds that the zone is ahead of UTC at the start, and at the end. */
  readonly first: number;
  readonly last: number;
}

function createZoneOffsets(format: Intl.DateTimeFormat): ZoneOffsets {
  const blocks = new Map<number, Block>();

  function changesIn(index: number): readonly Change[] {
    const known = blocks.get(index);
    if (known !== undefined) return known.changes;
    const from = index * BLOCK_SECONDS;
    const to = from + BLOCK_SECONDS;
    const first = blocks.get(index - 1)?.last ?? offsetSeconds(format, from);
    const last = blocks.get(index + 1)?.first ?? offsetSeconds(format, to);
    const changes = findChanges(format, from, first, to, last);
    if (blocks.size >= MAX_BLOCKS) blocks.clear();
    blocks.set(index, { changes, first, last });
    return changes;
  }

  function segments(from: bigint, to: bigint): OffsetSegment[] {
    const found: OffsetSegment[] = [];
    let start = from;
    let offset: Micros | null = null;
    const lastBlock = Number(floorDiv(to - 1n, BLOCK));
    for (let index = Number(floorDiv(from, BLOCK)); index <= lastBlock; index += 1) {
      for (const change of changesIn(index)) {
        if (change.at >= to || change.offset === offset) continue;
        if (offset !== null && change.at > start) {
          found.push({ start, end: change.at, offset });
          start = change.at;
        }
        offset = change.offset;
      }
    }
    found.push({ start, end: to, offset: offset ?? 0n });
    return found;
  }

  function offsetAt(t: bigint): Micros {
    let offset: Micros = 0n;
    for (const change of changesIn(Number(floorDiv(t, BLOCK)))) {
      if (change.at <= t) offset = change.offset;
    }
    return offset;
  }

  return { offsetAt, segments };
}

/** The offset at `from`, then every change before `to`. All in seconds. */
function findChanges(format: Intl.DateTimeFormat, from: number, first: number, to: number, last: number): Change[] {
  const found = [change(from, first)];
  let offset = first;
  let known = from;
  while (offset !== last) {
    let changed = to;
    while (changed - known > 1) {
      const middle = Math.floor((known + changed) / 2);
      if (offsetSeconds(format, middle) === offset) known = middle;
      else changed = middle;
    }
    // A change at the very end belongs to the next block.
    if (changed === to) break;
    offset = offsetSeconds(format, changed);
    known = changed;
    found.push(change(changed, offset));
  }
  return found;
}

function change(seconds: number, offset: number): Change {
  return { at: BigInt(seconds) * SECOND, offset: BigInt(offset) * SECOND };
}

/** Seconds that the zone is ahead of UTC. */
function offsetSeconds(format: Intl.DateTimeFormat, seconds: number): number {
  const past = Math.max(0, Math.ceil((seconds - LAST_DATE_SECOND) / CYCLE_SECONDS));
  const text = format.format((seconds - past * CYCLE_SECONDS) * 1000);
  const parts = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (parts === null) throw new SluiceError('internal', `Intl spelt a zone's offset as ${JSON.stringify(text)}.`);
  const [, sign, hours = '0', minutes = '0', rest = '0'] = parts;
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
  return sign === '-' ? -size : size;
}
