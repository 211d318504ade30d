import { SluiceError } from '../../errors.ts';
import type { TableName, TimeColumnType } from '../../flow/definition.ts';
import { civilFromDays } from '../../window/civil-date.ts';
import { floorDiv, floorMod } from '../../window/floor-division.ts';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE, SECOND } from '../../window/instant.ts';

/** SQL text is built from these and from constants only. */

export function quoteIdentifier(name: string): string {
  if (name === '') throw new SluiceError('invalid_request', 'a name is empty; PostgreSQL allows no empty name');
  return `"${storable(name).replaceAll('"', '""')}"`;
}

export function quoteTable(name: TableName): string {
  return `${quoteIdentifier(name.schema)}.${quoteIdentifier(name.table)}`;
}

/**
 * A string literal that means the same whatever `standard_conforming_strings` and `client_encoding` are: a backslash or
 * a character beyond ASCII makes it an escape string, in which both are spelt in ASCII. The leading blank keeps
 * its `E` apart from a word before it.
 */
export function quoteLiteral(value: string): string {
  const text = storable(value);
  if (/^[\x20-\x5b\x5d-\x7e]*$/.test(text)) return `'${text.replaceAll("'", "''")}'`;
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "''")
    .replace(/[^\x20-\x7e]/gu, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
    });
  return ` E'${escaped}'`;
}

export function bigintLiteral(value: bigint): string {
  return `'${value}'::pg_catalog.int8`;
}

/**
 * An instant as a literal of a time type. `date`: not a literal of its own, for an instant may lie within a day; compare a date
 * column with a literal of the type that the window expression takes.
 */
export function instantLiteral(t: Instant, type: Exclude<TimeColumnType, 'date'>): string {
  return type === 'timestamptz'
    ? `'${timestampText(t)}+00${era(t)}'::pg_catalog.timestamptz`
    : `'${timestampText(t)}${era(t)}'::pg_catalog.timestamp`;
}

/** Digits as PostgreSQL reads them: any number of year digits from four on; the year before 1 AD is 1 BC. */
function timestampText(t: Instant): string {
  if (t < INSTANT_MIN || t >= INSTANT_MAX) {
    throw new SluiceError('invalid_request', `the instant ${t} is outside of what the database can store`);
  }
  const { year, month, day } = civilFromDays(Number(floorDiv(t, DAY)));
  const time = floorMod(t, DAY);
  const shownYear = year > 0 ? year : 1 - year;
  const clock = [time / HOUR, (time % HOUR) / MINUTE, (time % MINUTE) / SECOND]
    .map((part) => padded(part, 2))
    .join(':');
  return `${padded(shownYear, 4)}-${padded(month, 2)}-${padded(day, 2)} ${clock}.${padded(time % SECOND, 6)}`;
}

function era(t: Instant): string {
  return civilFromDays(Number(floorDiv(t, DAY))).year > 0 ? '' : ' BC';
}

function padded(value: number | bigint, digits: number): string {
  return String(value).padStart(digits, '0');
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

function storable(text: string): string {
  if (text.includes('\0') || !text.isWellFormed()) {
    throw new SluiceError(
      'invalid_request',
      'a name or text holds the character NUL or half of a surrogate pair, which PostgreSQL cannot store',
    );
  }
  return text;
}
