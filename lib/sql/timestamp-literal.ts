import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE, type Micros } from '../window/instant.ts';
import { parseInstant } from '../window/rfc3339.ts';
import { zoneOffsets } from '../window/zone-offsets.ts';

const SHAPE =
  /^(?<date>\d{4}-\d\d-\d\d)(?:[Tt ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(?<offset> ?(?:[Zz]|[+-]\d\d(?::?\d\d)?))?)?$/;

/**
 * The instant that a timestamp constant stands for, of the forms that PostgreSQL reads in one way only: `2000-01-01`, with a
 * time of day, with an offset; and `epoch`. Without an offset it is read in `zone`. null for any other text, and for a
 * reading that the zone's clock skipped or showed twice.
 */
export function instantOfLiteral(text: string, type: 'timestamptz' | 'timestamp', zone: string): Instant | null {
  const trimmed = text.trim();
  if (trimmed.toLowerCase() === 'epoch') return 0n as Instant;
  const { date, time = '00:00', offset } = SHAPE.exec(trimmed)?.groups ?? {};
  // PostgreSQL passes over the offset of a timestamp without a zone.
  if (date === undefined || (offset !== undefined && type === 'timestamp')) return null;
  const wallClock = readUtc(`${date}T${time.length === 5 ? `${time}:00` : time}Z`);
  if (wallClock === null) return null;
  if (offset !== undefined) return within(wallClock - offsetMicros(offset.trim()));
  return type === 'timestamp' ? wallClock : fromWallClock(wallClock, zone);
}

/** Of years 0001 to 9999, which every date style writes and reads alike. */
export function isPlainYear(t: Instant): boolean {
  return t >= -62_135_596_800_000_000n && t < 253_402_300_800_000_000n;
}

function readUtc(text: string): Instant | null {
  try {
    return parseInstant(text);
  } catch {
    return null;
  }
}

function offsetMicros(offset: string): Micros {
  if (offset === 'Z' || offset === 'z') return 0n;
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  const size = BigInt(digits.slice(0, 2)) * HOUR + BigInt(digits.slice(2)) * MINUTE;
  return offset.startsWith('-') ? -size : size;
}

/** Every offset that the zone has within a day of the reading is tried. */
function fromWallClock(wallClock: Instant, zone: string): Instant | null {
  const offsets = zoneOffsets(zone);
  if (offsets === null) return wallClock;
  const around = offsets.segments(wallClock - 2n * DAY, wallClock + 2n * DAY).map(({ offset }) => offset);
  const found = [...new Set(around)]
    .map((offset) => wallClock - offset)
    .filter((t) => t + offsets.offsetAt(t) === wallClock);
  const [only, second] = found;
  return only === undefined || second !== undefined ? null : within(only);
}

function within(t: bigint): Instant | null {
  return t >= INSTANT_MIN && t < INSTANT_MAX ? (t as Instant) : null;
}
