import { type AlterFlowStatement, readAlterFlow, readCommentOn } from './alter-flow.ts';
import { type CreateFlowStatement, readCreateFlow } from './create-flow.ts';
import type { FlowDefinition } from './definition.ts';
import { readFlowName } from './flow-name.ts';
import { formatInterval } from './interval.ts';
import { lexicalError } from './lexical-error.ts';
import { type NameFilter, readNameFilter } from './name-filter.ts';
import { checkName } from './names.ts';
import { type OptionValue, writtenOptions } from './options.ts';
import { type RefreshFlowStatement, readRefreshFlow } from './refresh-flow.ts';
import { TokenReader } from './token-reader.ts';

export type Statement =
  | CreateFlowStatement
  | AlterFlowStatement
  | { readonly kind: 'drop_flow'; readonly name: string; readonly ifExists: boolean; readonly dropSink: boolean }
  | { readonly kind: 'pause_flow' | 'resume_flow' | 'flush_flow'; readonly name: string }
  | RefreshFlowStatement
  | { readonly kind: 'show_flows'; readonly shows: NameFilter }
  | { readonly kind: 'show_create_flow'; readonly name: string };

/** What each first word begins. */
const STATEMENTS: Readonly<
  Record<string, { readonly name: string; readonly read: (reader: TokenReader) => Statement }>
> = {
  create: { name: 'CREATE FLOW', read: readCreateFlow },
  alter: { name: 'ALTER FLOW', read: readAlterFlow },
  comment: { name: 'COMMENT ON FLOW', read: readCommentOn },
  drop: { name: 'DROP FLOW', read: readDropFlow },
  pause: { name: 'PAUSE FLOW', read: (reader) => readNamed(reader, 'pause_flow', 'PAUSE') },
  resume: { name: 'RESUME FLOW', read: (reader) => readNamed(reader, 'resume_flow', 'RESUME') },
  flush: { name: 'FLUSH FLOW', read: (reader) => readNamed(reader, 'flush_flow', 'FLUSH') },
  refresh: { name: 'REFRESH FLOW', read: readRefreshFlow },
  admin: { name: "ADMIN FLUSH_FLOW('…')", read: readAdmin },
  show: { name: 'SHOW [CREATE] FLOW', read: readShow },
};

/** The statements that {@link parseStatement} reads, for people. */
export const STATEMENT_NAMES = Object.values(STATEMENTS)
  .map(({ name }) => name)
  .join(', ');

/**
 * Reads one statement of Sluice's SQL. Throws `invalid_statement` or `invalid_option`, and `invalid_query` for a query that is
 * empty or too long, with the position in characters where there is one.
 */
export function parseStatement(sql: string): Statement {
  const reader = new TokenReader(asStatement(sql));
  const { kind, value } = reader.next;
  const found = kind === 'word' && Object.hasOwn(STATEMENTS, value) ? STATEMENTS[value] : undefined;
  if (found === undefined) throw reader.unexpected(`one of ${STATEMENT_NAMES}${elsewhere(value)}`);
  reader.take();
  return found.read(reader);
}

/** Where what other databases answer by a query is to be found here. */
function elsewhere(word: string): string {
  return word === 'select' || word === 'with'
    ? ' (tables are read in the database itself; what is known of flows is shown by SHOW FLOWS, GET /flows/{name} and GET /flows/{name}/state)'
    : '';
}

/** The statement that creates this flow again: it reads back to the same name, sink, query, intervals, comment and options. */
export function renderCreateFlow(
  flow: Pick<FlowDefinition, 'name' | 'sink' | 'query' | 'expireAfter' | 'evalInterval' | 'comment' | 'options'>,
): string {
  const { name, sink, query, expireAfter, evalInterval, comment, options } = flow;
  const written = writtenOptions(options).map(([option, value]) => {
    return `${option} = ${writtenValue(value)}`;
  });
  return [
    `CREATE FLOW ${quoteName(name)}`,
    `SINK TO ${quoteName(sink.schema)}.${quoteName(sink.table)}`,
    ...(expireAfter === null ? [] : [`EXPIRE AFTER ${quoteString(formatInterval(expireAfter))}`]),
    ...(evalInterval === null ? [] : [`EVAL INTERVAL ${quoteString(formatInterval(evalInterval))}`]),
    ...(comment === null ? [] : [`COMMENT ${quoteString(comment)}`]),
    ...(written.length === 0 ? [] : [`WITH (${written.join(', ')})`]),
    `AS\n${query}`,
  ].join('\n');
}

function asStatement(sql: string): string {
  const nul = sql.indexOf('\0');
  if (nul !== -1)
    throw lexicalError(sql, nul, 'the statement contains the character NUL, which PostgreSQL cannot store');
  if (!sql.isWellFormed()) throw lexicalError(sql, 0, 'the statement contains half of a surrogate pair, no character');
  return sql;
}

function readDropFlow(reader: TokenReader): Statement {
  reader.expect('FLOW after DROP (Sluice drops nothing else)', 'flow');
  const ifExists = reader.takeIf('if', 'exists');
  const name = readFlowName(reader);
  const dropSink = reader.takeIf('with', 'sink');
  if (!dropSink) reader.takeIf('keep', 'sink');
  reader.expectEnd('DROP FLOW, a name, and KEEP SINK or WITH SINK');
  return { kind: 'drop_flow', name, ifExists, dropSink };
}

function readNamed(reader: TokenReader, kind: 'pause_flow' | 'resume_flow' | 'flush_flow', word: string): Statement {
  reader.expect(`FLOW after ${word}`, 'flow');
  const name = readFlowName(reader);
  reader.expectEnd(`${word} FLOW and a name`);
  return { kind, name };
}

/** As GreptimeDB writes it. */
function readAdmin(reader: TokenReader): Statement {
  reader.expect("FLUSH_FLOW('…') after ADMIN", 'flush_flow');
  reader.expectSymbol('(', '( and the name of a flow in quotes');
  const token = reader.string('the name of a flow in quotes');
  const name = reader.checked(token, () => checkName('name of the flow', token.value));
  reader.expectSymbol(')', ') after the name');
  reader.expectEnd("ADMIN FLUSH_FLOW('…')");
  return { kind: 'flush_flow', name };
}

function readShow(reader: TokenReader): Statement {
  if (reader.takeIf('create')) {
    reader.expect('FLOW after SHOW CREATE', 'flow');
    const name = readFlowName(reader);
    reader.expectEnd('SHOW CREATE FLOW and a name');
    return { kind: 'show_create_flow', name };
  }
  if (reader.sees('flow', 'status')) {
    throw reader.unexpected('FLOWS or CREATE FLOW after SHOW; how far a flow is tells GET /flows/{name}/state');
  }
  reader.expect('FLOWS or CREATE FLOW after SHOW', 'flows');
  return { kind: 'show_flows', shows: readNameFilter(reader, 'SHOW FLOWS') };
}

function writtenValue(value: OptionValue): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? quoteString(value) : `(${value.map(quoteName).join(', ')})`;
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Backslashes are plain characters in such a string. */
function quoteString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
