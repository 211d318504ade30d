import { SluiceError } from '../errors.ts';
import { MINUTE, type Micros } from '../window/instant.ts';
import type { FlowOptions, TableName } from './definition.ts';
import { parseInterval } from './interval.ts';
import { checkComment, checkName, checkQueryText, checkSink, checkText } from './names.ts';
import { nearestName } from './nearest-name.ts';
import { DEFAULT_OPTIONS, readOption } from './options.ts';
import { parseTableName } from './table-name.ts';

/** What a user says a flow is, checked in itself but not against any database. */
export interface FlowInput {
  readonly name: string;
  readonly sink: TableName;
  /** The user's own text, without the final semicolon. */
  readonly query: string;
  readonly expireAfter: Micros | null;
  /** Whole minutes. */
  readonly evalInterval: Micros | null;
  readonly comment: string | null;
  readonly options: FlowOptions;
}

const FIELDS = ['sink', 'query', 'expire_after', 'eval_interval', 'comment', 'options'];

/**
 * A flow in its JSON form: `{ sink, query, expire_after?, eval_interval?, comment?, options? }`. `sink` is a table name as SQL
 * writes it, or `{ schema?, table }` taken as it is; intervals are strings. Throws `invalid_request`, `invalid_option`,
 * `invalid_query`.
 */
export function flowInputFromJson(name: string, body: unknown): FlowInput {
  if (!isRecord(body)) throw invalid('A flow is a JSON object with at least "sink" and "query".');
  const unknown = Object.keys(body).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw invalid(unknownField(unknown, FIELDS));
  return {
    name: checkName('name of the flow', name),
    sink: readSink(body.sink),
    query: readQuery(body.query),
    expireAfter: null,
    evalInterval: null,
    comment: null,
    ...readOptionalClauses(body),
    options: readOptions(body.options ?? {}),
  };
}

/** In JSON: absent, null for none, or text. */
export interface OptionalClauses {
  readonly expire_after?: unknown;
  readonly eval_interval?: unknown;
  readonly comment?: unknown;
}

/** Those that are given. */
export function readOptionalClauses(
  clauses: OptionalClauses,
): Partial<Pick<FlowInput, 'expireAfter' | 'evalInterval' | 'comment'>> {
  const { expire_after, eval_interval, comment } = clauses;
  return {
    ...(expire_after === undefined ? {} : { expireAfter: readNullable('expire_after', expire_after, parseInterval) }),
    ...(eval_interval === undefined
      ? {}
      : { evalInterval: readNullable('eval_interval', eval_interval, parseEvalInterval) }),
    ...(comment === undefined ? {} : { comment: readNullable('comment', comment, checkComment) }),
  };
}

/** Throws `invalid_request` for anything but whole minutes: the clock has no shorter period. */
export function parseEvalInterval(text: string): Micros {
  const interval = parseInterval(text);
  if (interval % MINUTE === 0n) return interval;
  throw invalid(
    `An eval interval of ${JSON.stringify(text.slice(0, 48))} cannot be kept: it must be whole minutes, at least one, which is the shortest period of the clock (EventBridge).`,
  );
}

function readSink(value: unknown): TableName {
  if (typeof value === 'string') return parseTableName(value);
  if (!isRecord(value))
    throw invalid('"sink" expects a table name, such as "public.hourly", or { "schema", "table" }.');
  const unknown = Object.keys(value).find((field) => field !== 'schema' && field !== 'table');
  if (unknown !== undefined) throw invalid(unknownField(unknown, ['schema', 'table']));
  const schema = value.schema ?? null;
  const table = value.table;
  if (typeof table !== 'string' || (schema !== null && typeof schema !== 'string')) {
    throw invalid('"sink" expects "table", and "schema" if any, to be strings.');
  }
  return checkSink(schema, table);
}

function readQuery(value: unknown): string {
  if (typeof value !== 'string') throw invalid(`"query" expects a SELECT as a string; got ${typeName(value)}.`);
  return checkQueryText(trimQuery(checkText('query', value)));
}

/**
 * Without white space around it and without final semicolons. One that ends a line comment may go too: the comment loses
 * its last character.
 */
export function trimQuery(query: string): string {
  let trimmed = query.trim();
  while (trimmed.endsWith(';')) trimmed = trimmed.slice(0, -1).trimEnd();
  return trimmed;
}

function readOptions(value: unknown): FlowOptions {
  if (!isRecord(value)) throw invalid(`"options" expects an object; got ${typeName(value)}.`);
  const read = Object.entries(value).map(([name, each]) => readOption(name, each));
  return Object.assign({ ...DEFAULT_OPTIONS }, ...read);
}

function readNullable<T>(field: string, value: unknown, read: (text: string) => T): T | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw invalid(`"${field}" expects a string; got ${typeName(value)}.`);
  return read(value);
}

function unknownField(field: string, known: readonly string[]): string {
  const near = nearestName(field, known);
  const meant = near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
  return `There is no field ${JSON.stringify(field.slice(0, 64))}.${meant} Known fields: ${known.join(', ')}.`;
}

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_request', message);
}
