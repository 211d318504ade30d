import { SluiceError } from '../errors.ts';
import { civilFromDays, daysFromCivil, daysInMonth } from './civil-date.ts';
import { floorDiv, floorMod } from './floor-division.ts';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE, SECOND } from './instant.ts';

/**
 * RFC 3339 in UTC with microseconds, such as `2024-02-29T12:00:00.000000Z`. Years outside of 0000 to 9999 are ISO 8601
 * expanded years of six digits with a sign; 0000 is 1 BC.
 */
export function formatInstant(t: Instant): string {
  const { year, month, day } = civilFromDays(Number(floorDiv(t, DAY)));
  const time = floorMod(t, DAY);
  const clock = [time / HOUR, (time / MINUTE) % 60n, (time / SECOND) % 60n].map((part) => digits(part, 2)).join(':');
  return `${formatYear(year)}-${digits(month, 2)}-${digits(day, 2)}T${clock}.${digits(time % SECOND, 6)}Z`;
}

/** `year-month-day`, `T` or a space, `hour:minute:second`, fraction, offset. The last three groups may be missing. */
const SHAPE =
  /^(?<year>\d{4}|[+-]\d{6})-(?<month>\d\d)-(?<day>\d\d)(?:[Tt ](?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?<offset>[Zz]|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads RFC 3339 with an offset, exactly; years as in {@link formatInstant}. INSTANT_MAX itself is read too, since a range may
 * end there. Throws `invalid_request` for anything else, with what to write instead.
 */
export function parseInstant(text: string): Instant {
  const parts = SHAPE.exec(text)?.groups;
  if (parts === undefined) throw refuse(text, shapeProblem(text));
  if (parts.hour === undefined) throw refuse(text, 'it has no time of day; add one, such as T00:00:00Z');
  if (parts.offset === undefined) throw refuse(text, 'it has no offset from UTC; add Z for UTC, or one such as +02:00');
  if (parts.year === '-000000') throw refuse(text, 'year zero is written 0000');

  const year = Number(parts.year);
  const month = inRange(text, 'month', parts.month, 1, 12);
  const day = inRange(text, 'day', parts.day, 1, daysInMonth(year, month));
  const hour = inRange(text, 'hour', parts.hour, 0, 23);
  const minute = inRange(text, 'minute', parts.minute, 0, 59);
  const second = inRange(text, 'second', parts.second, 0, 59);
  const time = BigInt(hour * 3600 + minute * 60 + second) * SECOND + readFraction(text, parts.fraction ?? '');
  const t = BigInt(daysFromCivil(year, month, day)) * DAY + time - readOffset(text, parts.offset);
  if (t < INSTANT_MIN || t > INSTANT_MAX) {
    throw refuse(
      text,
      `it lies outside of ${formatInstant(INSTANT_MIN)} to ${formatInstant(INSTANT_MAX)}, which PostgreSQL can store`,
    );
  }
  return t as Instant;
}

function readFraction(text: string, fraction: string): bigint {
  if (!/^\d{0,6}0*$/.test(fraction)) {
    throw refuse(text, `it has ${fraction.length} digits after the second; instants are exact to six, round it first`);
  }
  return BigInt(fraction.slice(0, 6).padEnd(6, '0'));
}

function readOffset(text: string, offset: string): bigint {
  if (offset === 'Z' || offset === 'z') return 0n;
  const hours = inRange(text, "offset's hour", offset.slice(1, 3), 0, 23);
  const minutes = inRange(text, "offset's minute", offset.slice(4), 0, 59);
  const size = BigInt(hours * 60 + minutes) * MINUTE;
  return offset.startsWith('-') ? -size : size;
}

function inRange(text: string, what: string, written: string | undefined, least: number, most: number): number {
  const value = Number(written);
  if (value >= least && value <= most) return value;
  throw refuse(text, `its ${what} ${written} is not between ${digits(least, 2)} and ${digits(most, 2)}`);
}

function shapeProblem(text: string): string {
  if (/^[+-]?\d+(\.\d+)?$/.test(text)) return 'a plain number does not say its unit; write the date and time out';
  if (/^[+-]?\d{5,}-/.test(text))
    return 'a year outside of 0000 to 9999 is written with a sign and six digits, such as +012024';
  return 'expected a date and time as in RFC 3339';
}

const LONGEST_SHOWN = 48;

function refuse(text: string, problem: string): SluiceError {
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return new SluiceError(
    'invalid_request',
    `${JSON.stringify(shown)} is not an instant: ${problem}. Example: 2024-02-29T13:45:00.000000Z.`,
  );
}

function formatYear(year: number): string {
  if (year >= 0 && year <= 9999) return digits(year, 4);
  return `${year < 0 ? '-' : '+'}${digits(Math.abs(year), 6)}`;
}

function digits(value: bigint | number, length: number): string {
  return value.toString().padStart(length, '0');
}
