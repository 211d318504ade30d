import type { TimeColumnType } from '../flow/definition.ts';
import { parseInterval } from '../flow/interval.ts';
import { isUtc } from '../flow/time-zone.ts';
import { DAY, HOUR, type Instant, MINUTE, type Micros, SECOND } from '../window/instant.ts';
import type { CalendarUnit, WindowSpec } from '../window/window-spec.ts';
import { labelOf, type WindowMeaning, wallReading } from './label.ts';
import { stringLiteral } from './literal.ts';
import { instantLiteral, intervalLiteral, quoteIdentifier, quoteString } from './sql-literal.ts';
import { type Obstacle, type TimeValue, timeValue, zoneOf } from './time-value.ts';
import { instantOfLiteral, isPlainYear } from './timestamp-literal.ts';
import type { WindowCall } from './window-call.ts';
import type { Wrapper } from './wrappers.ts';

/** A window that no flow can have, whatever else it says. */
export interface BadWindow {
  readonly bad: string;
}

type Found = WindowMeaning | Obstacle | BadWindow;

export interface WindowUse {
  readonly call: WindowCall;
  readonly functionName: readonly string[];
  /** Around the call, outermost first. */
  readonly wrappers: readonly Wrapper[];
  /** Around the time column inside the call, outermost first. */
  readonly conversions: readonly Wrapper[];
  readonly column: TimeColumnType;
}

/** `sessionZone`: in which the flow's sessions read times without a zone. */
export function windowMeaning(
  { call, functionName, wrappers, conversions, column }: WindowUse,
  sessionZone: string,
): Found {
  const value = timeValue(column, conversions, sessionZone);
  if ('obstacle' in value) return value;
  const cut =
    call.name === 'date_trunc'
      ? truncated(call, value, sessionZone)
      : binned(call, functionName, value, column, sessionZone);
  if ('obstacle' in cut || 'bad' in cut) return cut;
  return labelOf(cut, wrappers, sessionZone);
}

function binned(
  call: WindowCall,
  functionName: readonly string[],
  value: TimeValue,
  column: TimeColumnType,
  sessionZone: string,
): Found {
  if (value.type === 'timestamp' && !isUtc(value.zone)) {
    return {
      obstacle: `${call.name} over local time makes windows that a change of the clock tears apart; give it the column itself`,
    };
  }
  if (call.name === 'time_bucket' && column === 'date' && value.expression[0] === '') {
    return {
      obstacle: 'time_bucket over a date has dates for labels; cast the column to timestamp first, or use date_trunc',
    };
  }
  const stride = strideOf(call);
  if (typeof stride !== 'bigint') return stride;
  const origin = originOf(call, value, sessionZone);
  if (typeof origin !== 'bigint') return origin;
  const [before, after] = value.expression;
  const name = call.name === 'date_bin' ? 'pg_catalog.date_bin' : functionName.map(quoteIdentifier).join('.');
  return {
    spec: { kind: 'fixed', size: stride, origin },
    expression: [`${name}(${intervalLiteral(stride)}, ${before}`, `${after}, ${instantLiteral(origin, value.type)})`],
    argumentType: value.argumentType,
    labelType: value.type,
    reading: value.type === 'timestamp' ? [wallReading(value.zone)] : [],
  };
}

function strideOf({ name, step }: WindowCall): Micros | Obstacle | BadWindow {
  const literal = stringLiteral(step);
  if (literal === null || (literal.type !== null && literal.type !== 'interval')) {
    return { obstacle: `the stride of ${name} must be a constant interval, such as '5 minutes'` };
  }
  try {
    return parseInterval(literal.value);
  } catch (error) {
    return { bad: `the stride of ${name} cannot be used: ${error instanceof Error ? error.message : ''}` };
  }
}

/** TimescaleDB counts from a Monday where no origin is given. */
const TIME_BUCKET_ORIGIN = 946_857_600_000_000n as Instant;
const EPOCH = 0n as Instant;

function originOf({ name, third }: WindowCall, value: TimeValue, sessionZone: string): Instant | Obstacle {
  if (third === null) return name === 'date_bin' ? EPOCH : TIME_BUCKET_ORIGIN;
  const literal = stringLiteral(third);
  if (literal === null) return { obstacle: `the origin of ${name} must be a constant timestamp, such as '2000-01-01'` };
  if (name === 'time_bucket' && literal.type === null) {
    return {
      obstacle:
        "time_bucket takes a third text as a time zone; give the origin its type, such as TIMESTAMPTZ '2000-01-01'",
    };
  }
  const { type } = literal;
  const fits =
    type === null || type === 'date' || type === value.type || (type === 'timestamp' && value.type === 'timestamptz');
  if (!fits)
    return { obstacle: `the origin of ${name} is of type ${type}, the time of type ${value.type}; give both the same` };
  // An offset in a constant without a zone is passed over by the server; it is not read here either.
  const readAs = type === 'date' || type === 'timestamp' ? 'timestamp' : value.type;
  const origin =
    value.type === 'timestamptz' && readAs === 'timestamp'
      ? hasOffset(literal.value)
        ? null
        : instantOfLiteral(literal.value, 'timestamptz', sessionZone)
      : instantOfLiteral(literal.value, readAs, sessionZone);
  if (origin === null || !isPlainYear(origin)) {
    return {
      obstacle: `the origin ${quoteString(literal.value)} cannot be read exactly; write it as 2000-01-01 00:00:00+00`,
    };
  }
  return origin;
}

function hasOffset(text: string): boolean {
  return /(?:[Zz]|[+-]\d\d(?::?\d\d)?)$/.test(text.trim()) && text.includes(':');
}

const SHORT_UNITS: Readonly<Record<string, Micros>> = {
  microsecond: 1n,
  millisecond: 1000n,
  second: SECOND,
  minute: MINUTE,
};

const CALENDAR_UNITS: readonly CalendarUnit[] = [
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
  'decade',
  'century',
  'millennium',
];

const UNIT_NAMES = [...Object.keys(SHORT_UNITS), ...CALENDAR_UNITS];

const PLURALS: Readonly<Record<string, string>> = { centuries: 'century', millennia: 'millennium' };

/** The server takes capital letters and plurals too, and abbreviations, which are not read here. */
function unitName(text: string): string | null {
  const name = text.toLowerCase();
  const singular = PLURALS[name] ?? (UNIT_NAMES.includes(name.replace(/s$/, '')) ? name.replace(/s$/, '') : name);
  return UNIT_NAMES.includes(singular) && name !== 'quarters' ? singular : null;
}

function truncated(call: WindowCall, value: TimeValue, sessionZone: string): Found {
  const unit = stringLiteral(call.step);
  if (unit === null || (unit.type !== null && unit.type !== 'text')) {
    return { obstacle: "the unit of date_trunc must be a constant, such as 'hour'" };
  }
  const zone = zoneOfCall(call, value, sessionZone);
  if (typeof zone !== 'string') return zone;
  const name = unitName(unit.value);
  if (name === null) {
    return { bad: `${quoteString(unit.value)} is not a unit of date_trunc; use one of ${UNIT_NAMES.join(', ')}` };
  }
  const calendarUnit = CALENDAR_UNITS.find((each) => each === name);
  const local = value.type === 'timestamp' && !isUtc(value.zone);
  if (local && (calendarUnit === undefined || calendarUnit === 'hour')) {
    return {
      obstacle: `local time shows an hour twice when the clock is set back; use date_trunc(unit, column, ${quoteString(zone)})`,
    };
  }
  const [before, after] = value.expression;
  const zoneArgument = call.third === null ? '' : `, ${quoteString(zone)}`;
  return {
    spec: calendarUnit === undefined ? fixed(SHORT_UNITS[name] ?? SECOND) : calendarSpec(calendarUnit, zone),
    expression: [`pg_catalog.date_trunc(${quoteString(name)}, ${before}`, `${after}${zoneArgument})`],
    argumentType: value.argumentType,
    labelType: value.type,
    reading: value.type === 'timestamp' ? [wallReading(value.zone)] : [],
  };
}

/** The zone in which date_trunc reads the time. */
function zoneOfCall({ third }: WindowCall, value: TimeValue, sessionZone: string): string | Obstacle | BadWindow {
  if (third === null) return value.type === 'timestamptz' ? sessionZone : value.zone;
  const literal = stringLiteral(third);
  if (literal === null) return { obstacle: "the zone of date_trunc must be a constant, such as 'Europe/Berlin'" };
  const zone = zoneOf(literal.value);
  if (zone === null) {
    return {
      bad: `${quoteString(literal.value)} is not a time zone that can be used; give a name of the IANA database with its area, such as 'Europe/Berlin', or 'UTC'`,
    };
  }
  if (value.type !== 'timestamptz') {
    return { obstacle: 'date_trunc with a zone wants a timestamptz, and this time has no zone; leave the zone out' };
  }
  return zone;
}

/** Days and weeks of UTC are all of one length, and so are hours; elsewhere clocks change. Weeks begin on Monday. */
export function calendarSpec(unit: CalendarUnit, zone: string): WindowSpec {
  if (isUtc(zone)) {
    if (unit === 'hour') return fixed(HOUR);
    if (unit === 'day') return fixed(DAY);
    if (unit === 'week') return { kind: 'fixed', size: 7n * DAY, origin: (4n * DAY) as Instant };
  }
  return { kind: 'calendar', unit, zone };
}

function fixed(size: Micros): WindowSpec {
  return { kind: 'fixed', size, origin: EPOCH };
}
