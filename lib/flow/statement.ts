import { type CreateFlowStatement, readCreateFlow, readFlowName } from './create-flow.ts';
import type { FlowDefinition } from './definition.ts';
import { formatInterval } from './interval.ts';
import { lexicalError } from './lexical-error.ts';
import { type OptionValue, writtenOptions } from './options.ts';
import { TokenReader } from './token-reader.ts';

export type Statement =
  | CreateFlowStatement
  | { readonly kind: 'drop_flow'; readonly name: string; readonly ifExists: boolean }
  | { readonly kind: 'show_flows' }
  | { readonly kind: 'show_create_flow'; readonly name: string };

/**
 * Reads one statement of Sluice's SQL. Throws `invalid_statement` or `invalid_option`, and `invalid_query` for a query that is
 * empty or too long, with the position in characters where there is one.
 */
export function parseStatement(sql: string): Statement {
  const reader = new TokenReader(asStatement(sql));
  if (reader.takeIf('create')) return readCreateFlow(reader);
  if (reader.takeIf('drop')) return readDropFlow(reader);
  if (reader.takeIf('show')) return readShow(reader);
  throw reader.unexpected('CREATE FLOW, DROP FLOW, SHOW FLOWS or SHOW CREATE FLOW');
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
  reader.expectEnd('DROP FLOW and a name');
  return { kind: 'drop_flow', name, ifExists };
}

function readShow(reader: TokenReader): Statement {
  if (reader.takeIf('create')) {
    reader.expect('FLOW after SHOW CREATE', 'flow');
    const name = readFlowName(reader);
    reader.expectEnd('SHOW CREATE FLOW and a name');
    return { kind: 'show_create_flow', name };
  }
  reader.expect('FLOWS or CREATE FLOW after SHOW', 'flows');
  if (reader.sees('like') || reader.sees('where')) {
    throw reader.unexpected('nothing more after SHOW FLOWS: it lists every flow, a filter is not supported');
  }
  reader.expectEnd('SHOW FLOWS');
  return { kind: 'show_flows' };
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
