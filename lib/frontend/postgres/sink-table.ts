import { DatabaseError } from 'pg';
import { SluiceError } from '../../errors.ts';
import type { TableName } from '../../flow/definition.ts';
import type { NewSink } from '../frontend.ts';
import { QUESTION_MS, questionSettings } from './ask.ts';
import type { Connections } from './connections.ts';
import { describeQuery } from './describe-query.ts';
import { queryText } from './query-text.ts';
import { translate } from './server-error.ts';
import { beginTransaction, type SessionSettings } from './session.ts';
import { describeSink } from './sink-catalog.ts';
import { quoteIdentifier, quoteLiteral, quoteTable } from './sql-text.ts';

const NOTE = 'Kept up to date by Sluice; what others write into it may be overwritten.';

/** The statements that create a sink. */
export function sinkStatements(definition: NewSink): string[] {
  const { sink, compiled, comment } = definition;
  const table = quoteTable(sink);
  const found = compiled.history?.column ?? compiled.window?.column;
  return [
    `CREATE TABLE ${table} (${compiled.columns.map(quoteIdentifier).join(', ')}) AS (\n${wholeQuery(compiled)}) WITH NO DATA`,
    ...(compiled.columns.includes('update_at') ? [] : [`ALTER TABLE ${table} ADD COLUMN "update_at" timestamptz`]),
    ...(compiled.keys.length === 0
      ? []
      : [`CREATE UNIQUE INDEX ON ${table} (${compiled.keys.map(quoteIdentifier).join(', ')}) NULLS NOT DISTINCT`]),
    // By which a run finds the rows of its grid time or its windows, unless the key begins with this column.
    ...(found === undefined || compiled.keys.includes(found)
      ? []
      : [`CREATE INDEX ON ${table} (${quoteIdentifier(found)})`]),
    `COMMENT ON TABLE ${table} IS ${quoteLiteral(comment ?? NOTE)}`,
  ];
}

export async function createSink(connections: Connections, definition: NewSink): Promise<void> {
  const { sink, options } = definition;
  const statements = [...sinkStatements(definition), 'COMMIT'];
  const refused = await write(connections, questionSettings(QUESTION_MS, options.timeZone), statements);
  if (refused === null) return;
  switch (refused.code) {
    case '42P07':
    case '42710':
    case '23505':
      // The table exists, or two sessions created it at the same time and met at a unique key of the catalog.
      if (await isEqual(connections, definition)) return;
      throw new SluiceError(
        'sink_mismatch',
        `${nameOf(sink)} exists, and its columns or unique key are not those that the query needs; drop it, or name another sink`,
      );
    case '3F000':
      throw new SluiceError(
        'sink_mismatch',
        `the schema of the sink ${nameOf(sink)} does not exist; create it, or name another one`,
      );
    default:
      throw translate(refused, { doing: 'creating the sink' });
  }
}

/** The statement that drops a sink. */
export function dropStatement(sink: TableName): string {
  return `DROP TABLE IF EXISTS ${quoteTable(sink)}`;
}

export async function dropSink(connections: Connections, sink: TableName): Promise<void> {
  const refused = await write(connections, questionSettings(QUESTION_MS), [dropStatement(sink), 'COMMIT']);
  if (refused === null) return;
  switch (refused.code) {
    case '2BP01':
      throw new SluiceError(
        'conflict',
        `${nameOf(sink)} cannot be dropped, because views or other objects depend on it; drop those first`,
      );
    case '42809':
      throw new SluiceError('sink_mismatch', `${nameOf(sink)} is not a table, so it is not dropped`);
    default:
      throw translate(refused, { doing: 'dropping the sink' });
  }
}

/** One transaction. Answers with what the server refused it for, or null. */
async function write(
  connections: Connections,
  settings: SessionSettings,
  statements: readonly string[],
): Promise<DatabaseError | null> {
  try {
    await connections.use(
      () => ({ text: beginTransaction({ ...settings, readOnly: false }), limitMs: QUESTION_MS }),
      (connection) => connection.send({ text: statements.join(';\n'), limitMs: QUESTION_MS }),
    );
    return null;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw translate(error, { doing: 'writing the sink' });
  }
}

function wholeQuery(compiled: NewSink['compiled']): string {
  return queryText(compiled, { ranges: null, gridTime: null });
}

function nameOf({ schema, table }: TableName): string {
  return `${schema}.${table}`;
}

async function isEqual(connections: Connections, { sink, compiled, options }: NewSink): Promise<boolean> {
  const existing = await describeSink(connections, sink);
  if (existing === null) return false;
  const given = await describeQuery(connections, wholeQuery(compiled), options.timeZone);
  const expected = given.map(({ type }, index) => `${compiled.columns[index]} ${type}`);
  if (!compiled.columns.includes('update_at')) expected.push('update_at timestamp with time zone');
  const found = existing.columns.map(({ name, type }) => `${name} ${type}`);
  const keyed =
    compiled.keys.length === 0 ||
    existing.uniqueKeys.some(
      (key) => key.length === compiled.keys.length && key.every((name, index) => name === compiled.keys[index]),
    );
  return keyed && found.length === expected.length && found.every((column, index) => column === expected[index]);
}
