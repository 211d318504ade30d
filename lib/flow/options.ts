import { SluiceError } from '../errors.ts';
import type { Instant, Micros } from '../window/instant.ts';
import { formatInstant, parseInstant } from '../window/rfc3339.ts';
import type { FlowOptions } from './definition.ts';
import { formatInterval, parseInterval } from './interval.ts';
import { checkName } from './names.ts';
import { nearestName } from './nearest-name.ts';
import { readTimeZone } from './time-zone.ts';

export const DEFAULT_OPTIONS: FlowOptions = {
  connection: 'default',
  timeZone: 'UTC',
  mergeDistance: 3,
  maxRanges: 20,
  maxWindows: 20,
  order: 'newest',
  window: null,
  timeColumn: null,
  key: [],
  onDimensionChange: 'ignore',
  onDelete: 'apply',
  lookback: null,
  delay: null,
  acceptPast: null,
  acceptFuture: null,
  cadence: 'duration',
  missedTicks: 'latest',
  catchUpMaxRuns: 3,
  catchUpMaxLag: null,
  scheduleAnchor: 0n as Instant,
  scheduleStart: null,
};

/** How one option is written and read. `read` throws `invalid_option` for a value of the wrong type or out of bounds. */
interface Option<Field extends keyof FlowOptions> {
  readonly name: string;
  readonly field: Field;
  readonly read: (name: string, value: unknown) => FlowOptions[Field];
}

function option<Field extends keyof FlowOptions>(
  name: string,
  field: Field,
  read: (name: string, value: unknown) => FlowOptions[Field],
): Option<Field> {
  return { name, field, read };
}

const OPTIONS = [
  option('connection', 'connection', readConnection),
  option('time_zone', 'timeZone', readZone),
  option('merge_distance', 'mergeDistance', wholeNumber(0, 1000)),
  option('max_ranges', 'maxRanges', wholeNumber(1, 100)),
  option('max_windows', 'maxWindows', wholeNumber(1, 10_000)),
  option('order', 'order', oneOf('newest', 'oldest')),
  option('window', 'window', readWindow),
  option('time_column', 'timeColumn', readColumn),
  option('key', 'key', readKey),
  option('on_dimension_change', 'onDimensionChange', oneOf('ignore', 'refresh')),
  option('on_delete', 'onDelete', oneOf('apply', 'keep')),
  option('lookback', 'lookback', readLength),
  option('delay', 'delay', readLength),
  option('accept_past', 'acceptPast', readLength),
  option('accept_future', 'acceptFuture', readLength),
  option('cadence', 'cadence', oneOf('duration', 'window')),
  option('missed_ticks', 'missedTicks', oneOf('latest', 'skip', 'catch_up')),
  option('catch_up_max_runs', 'catchUpMaxRuns', wholeNumber(1, 1000)),
  option('catch_up_max_lag', 'catchUpMaxLag', readLength),
  option('schedule_anchor', 'scheduleAnchor', readInstant),
  option('schedule_start', 'scheduleStart', readInstant),
];

const NAMES = OPTIONS.map(({ name }) => name);

/** Whether an option has this name. Throws `invalid_option` with the nearest known name if not. */
export function checkOptionName(name: string): void {
  if (NAMES.includes(name)) return;
  const near = nearestName(name, NAMES);
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  throw invalid(`There is no option ${JSON.stringify(name.slice(0, 64))}.${meant} Known options: ${NAMES.join(', ')}.`);
}

/** One option's value, checked; null stands for the default. Throws `invalid_option`. */
export function readOption(name: string, value: unknown): Partial<FlowOptions> {
  checkOptionName(name);
  const found = OPTIONS.find((each) => each.name === name);
  if (found === undefined) return {};
  return { [found.field]: value === null ? DEFAULT_OPTIONS[found.field] : found.read(name, value) };
}

/** What an option's value is written as. */
export type OptionValue = string | number | readonly string[];

/** The options that differ from their defaults, by the names they are written with. */
export function writtenOptions(options: FlowOptions): [name: string, value: OptionValue][] {
  const differing = OPTIONS.filter(({ field }) => show(options[field]) !== show(DEFAULT_OPTIONS[field]));
  return differing.map(({ name, field }) => [name, written(field, options[field])]);
}

/** Every option by the name it is written with; null where it says nothing. */
export function shownOptions(options: FlowOptions): Record<string, OptionValue | null> {
  return Object.fromEntries(
    OPTIONS.map(({ name, field }) => [name, options[field] === null ? null : written(field, options[field])]),
  );
}

function written(field: keyof FlowOptions, value: FlowOptions[keyof FlowOptions]): OptionValue {
  if (typeof value !== 'bigint') return value ?? '';
  return field === 'scheduleAnchor' || field === 'scheduleStart'
    ? formatInstant(value as Instant)
    : formatInterval(value);
}

function readConnection(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[^\0]{1,63}$/u.test(value)) return value;
  throw invalid(`Option ${name} expects the name of a connection, a string of 1 to 63 characters; got ${show(value)}.`);
}

function readZone(name: string, value: unknown): string {
  if (typeof value !== 'string') {
    throw invalid(`Option ${name} expects a time zone as a string, such as 'Europe/Berlin'; got ${show(value)}.`);
  }
  return readTimeZone(value);
}

function oneOf<const T extends string>(...values: readonly T[]): (name: string, value: unknown) => T {
  return (name, value) => {
    const found = values.find((each) => each === value);
    if (found !== undefined) return found;
    const list = values.map((each) => `'${each}'`).join(' or ');
    throw invalid(`Option ${name} expects ${list}; got ${show(value)}.`);
  };
}

function readLength(name: string, value: unknown): Micros {
  if (typeof value !== 'string') {
    throw invalid(`Option ${name} expects a length of time as a string, such as '1 hour'; got ${show(value)}.`);
  }
  return told(name, () => parseInterval(value));
}

function readInstant(name: string, value: unknown): Instant {
  const example = '2026-01-01T00:00:00Z';
  if (typeof value !== 'string') {
    throw invalid(`Option ${name} expects a time as a string, such as '${example}'; got ${show(value)}.`);
  }
  return told(name, () => parseInstant(value));
}

/** One calendar unit, or a fixed length. */
function readWindow(name: string, value: unknown): string {
  if (typeof value !== 'string') {
    throw invalid(`Option ${name} expects a window as a string, such as '1 hour' or '1 month'; got ${show(value)}.`);
  }
  if (/^\s*(?:1\s+)?(?:day|week|month|quarter|year)\s*$/i.test(value)) return value;
  told(name, () => parseInterval(value));
  return value;
}

function readColumn(name: string, value: unknown): string {
  if (typeof value === 'string') return told(name, () => checkName('column', value));
  throw invalid(`Option ${name} expects the name of a column; got ${show(value)}.`);
}

function readKey(name: string, value: unknown): readonly string[] {
  const names = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(names)) {
    throw invalid(`Option ${name} expects the names of one or more columns, such as (id, region); got ${show(value)}.`);
  }
  const columns = names.map((each) => readColumn(name, each));
  const twice = columns.find((each, index) => columns.indexOf(each) !== index);
  if (twice !== undefined) throw invalid(`Option ${name} names ${show(twice)} twice.`);
  return columns;
}

/** Names the option in what is wrong with its value. */
function told<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SluiceError ? invalid(`Option ${name}: ${error.message}`, error) : error;
  }
}

function wholeNumber(least: number, most: number): (name: string, value: unknown) => number {
  return (name, value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalid(
      `Option ${name} expects a whole number from ${least} to ${most}, without quotes; got ${show(value)}.`,
    );
  };
}

function show(value: unknown): string {
  const text =
    JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? each.toString() : each)) ?? typeof value;
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}

function invalid(message: string, cause?: unknown): SluiceError {
  return new SluiceError('invalid_option', message, { cause });
}
