import { SluiceError } from '../errors.ts';
import type { FlowOptions } from './definition.ts';
import { nearestName } from './nearest-name.ts';
import { readTimeZone } from './time-zone.ts';

export const DEFAULT_OPTIONS: FlowOptions = {
  connection: 'default',
  timeZone: 'UTC',
  mergeDistance: 3,
  maxRanges: 20,
  maxWindows: 20,
  order: 'newest',
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
  option('order', 'order', readOrder),
];

const NAMES = OPTIONS.map(({ name }) => name);

/** Whether an option has this name. Throws `invalid_option` with the nearest known name if not. */
export function checkOptionName(name: string): void {
  if (NAMES.includes(name)) return;
  const near = nearestName(name, NAMES);
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  throw invalid(`There is no option ${JSON.stringify(name.slice(0, 64))}.${meant} Known options: ${NAMES.join(', ')}.`);
}

/** One option's value, checked. Throws `invalid_option`. */
export function readOption(name: string, value: unknown): Partial<FlowOptions> {
  checkOptionName(name);
  const found = OPTIONS.find((each) => each.name === name);
  return found === undefined ? {} : { [found.field]: found.read(name, value) };
}

/** The options that differ from their defaults, by the names they are written with. */
export function writtenOptions(options: FlowOptions): [name: string, value: string | number][] {
  return OPTIONS.filter(({ field }) => options[field] !== DEFAULT_OPTIONS[field]).map(({ name, field }) => [
    name,
    options[field],
  ]);
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

function readOrder(name: string, value: unknown): 'newest' | 'oldest' {
  if (value === 'newest' || value === 'oldest') return value;
  throw invalid(`Option ${name} expects 'newest' or 'oldest'; got ${show(value)}.`);
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
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_option', message);
}
