import type { TimeColumnType } from '../flow/definition.ts';
import { isUtc, readTimeZone } from '../flow/time-zone.ts';
import { quoteString } from './sql-literal.ts';
import type { Wrapper } from './wrappers.ts';

/** The time that a window function is given, as a function of the column's value. */
export interface TimeValue {
  readonly type: 'timestamptz' | 'timestamp';
  /** Of a `timestamp`: in which zone it is the clock's reading. Columns without a zone count as UTC. */
  readonly zone: string;
  /** Type in which the column's value is given. */
  readonly argumentType: 'timestamptz' | 'timestamp';
  /** Text before and after the column's value. */
  readonly expression: readonly [string, string];
}

/** Why the conversions around a column, or around a window, cannot be followed. */
export interface Obstacle {
  readonly obstacle: string;
}

const NO_PLAIN_TIME =
  'the time it cuts is converted first; cut the column itself, as in date_trunc(unit, column, zone) for local days';

/** `conversions` stand around the column, outermost first. */
export function timeValue(
  column: TimeColumnType,
  conversions: readonly Wrapper[],
  sessionZone: string,
): TimeValue | Obstacle {
  const inwards = conversions.toReversed();
  let value: TimeValue;
  if (column === 'date' && inwards[0]?.kind === 'cast' && inwards[0].type === 'timestamp') {
    value = plain('timestamp');
    inwards.shift();
  } else {
    // Where no type is asked for, PostgreSQL prefers to read a date as midnight in the session's zone.
    value = plain(column === 'timestamp' ? 'timestamp' : 'timestamptz');
  }
  for (const conversion of inwards) {
    const next = converted(value, conversion, sessionZone);
    if (next === null) return { obstacle: NO_PLAIN_TIME };
    value = next;
  }
  return value;
}

export function zoneOf(name: string): string | null {
  try {
    return readTimeZone(name);
  } catch {
    return null;
  }
}

export function sameZone(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function plain(type: 'timestamptz' | 'timestamp'): TimeValue {
  return { type, zone: 'UTC', argumentType: type, expression: ['', ''] };
}

/** null where the instant would no longer be known exactly. */
function converted(value: TimeValue, conversion: Wrapper, sessionZone: string): TimeValue | null {
  if (conversion.kind === 'cast' && conversion.type === value.type) return value;
  if (conversion.kind === 'cast' && conversion.type === 'date') return null;
  const zone = conversion.kind === 'cast' ? sessionZone : zoneOf(conversion.zone);
  if (zone === null) return null;
  const [before, after] = value.expression;
  const expression: [string, string] = [`pg_catalog.timezone(${quoteString(zone)}, ${before}`, `${after})`];
  if (value.type === 'timestamptz') return { ...value, type: 'timestamp', zone, expression };
  return isUtc(zone) && isUtc(value.zone) ? { ...value, type: 'timestamptz', expression } : null;
}
