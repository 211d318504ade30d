import { SluiceError } from '../errors.ts';
import type { TableName } from './definition.ts';

/** PostgreSQL's `NAMEDATALEN` less the end mark. */
const MAX_NAME_BYTES = 63;
const MAX_QUERY_BYTES = 64 * 1024;
const MAX_COMMENT_BYTES = 4096;

/** A name that PostgreSQL could store without cutting it. Throws `invalid_request`. */
export function checkName(what: string, name: string): string {
  if (name === '') throw invalid(`The ${what} is empty; give it a name.`);
  checkText(what, name);
  const bytes = utf8Length(name);
  if (bytes > MAX_NAME_BYTES) {
    throw invalid(
      `The ${what} ${show(name)} is ${bytes} bytes long; a name has at most ${MAX_NAME_BYTES} bytes of UTF-8.`,
    );
  }
  return name;
}

/** A table that a flow may own. A sink without a schema lies in `public`. Throws `invalid_request`. */
export function checkSink(schema: string | null, table: string): TableName {
  const sink = { schema: checkName('schema of the sink', schema ?? 'public'), table: checkName('sink', table) };
  if (/^pg_|^information_schema$/.test(sink.schema)) {
    throw invalid(`Schema ${show(sink.schema)} belongs to the database; put the sink into another schema.`);
  }
  return sink;
}

/** Throws `invalid_query` for a query that is empty or too long. */
export function checkQueryText(query: string): string {
  if (query.trim() === '') throw new SluiceError('invalid_query', 'The query is empty; give a SELECT.');
  const bytes = utf8Length(query);
  if (bytes > MAX_QUERY_BYTES) {
    throw new SluiceError(
      'invalid_query',
      `The query is ${bytes} bytes long; a flow's query has at most ${MAX_QUERY_BYTES} bytes.`,
    );
  }
  return query;
}

export function checkComment(comment: string): string {
  checkText('comment', comment);
  const bytes = utf8Length(comment);
  if (bytes > MAX_COMMENT_BYTES) {
    throw invalid(`The comment is ${bytes} bytes long; a comment has at most ${MAX_COMMENT_BYTES} bytes.`);
  }
  return comment;
}

/** Text that can be stored as UTF-8 and sent to PostgreSQL, which ends a string at NUL. Throws `invalid_request`. */
export function checkText(what: string, text: string): string {
  if (text.includes('\0'))
    throw invalid(`The ${what} contains the character NUL, which PostgreSQL cannot store; remove it.`);
  if (!text.isWellFormed())
    throw invalid(`The ${what} contains half of a surrogate pair, which is no character; remove it.`);
  return text;
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

function show(name: string): string {
  const points = [...name];
  return JSON.stringify(points.length > 32 ? `${points.slice(0, 32).join('')}…` : name);
}

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_request', message);
}
