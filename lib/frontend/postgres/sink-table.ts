import { SluiceError } from '../../errors.ts';
import type { FlowDefinition, TableName } from '../../flow/definition.ts';
import { QUESTION_MS, questionSettings } from './ask.ts';
import { describeSink } from './catalog.ts';
import type { Connections } from './connections.ts';
import { describeQuery } from './describe-query.ts';
import { queryText } from './query-text.ts';
import { translate } from './server-error.ts';
import { beginTransaction, type SessionSettings } from './session.ts';
import { quoteIdentifier, quoteLiteral, quoteTable } from './sql-text.ts';

const NOTE = 'Kept up to date by Sluice; what others write into it may be overwritten.';

type NewSink = Pick<FlowDefinition, 'sink' | 'compiled' | 'options' | 'comment'>;

export async function createSink(connections: Connections, definition: NewSink): Promise<void> {
  const { sink, compiled, options, comment } = definition;
  const table = quoteTable(sink);
  const query = queryText(compiled, { ranges: null, gridTime: null });
  const statements = [
    `CREATE TABLE ${table} (${compiled.columns.map(quoteIdentifier).join(', ')}) AS (\n${query}) WITH NO DATA`,
    ...(compiled.columns.includes('update_at') ? [] : [`ALTER TABLE ${table} ADD COLUMN "update_at" timestamptz`]),
    ...(compiled.keys.length === 0
      ? []
      : [`CREATE UNIQUE INDEX ON ${table} (${compiled.keys.map(quoteIdentifier).join(', ')}) NULLS NOT DISTINCT`]),
    `COMMENT ON TABLE ${table} IS ${quoteLiteral(comment ?? NOTE)}`,
    'COMMIT',
  ];
  try {
    await write(connections, questionSettings(QUESTION_MS, options.timeZone), statements, 'creating the sink');
  } catch (error) {
    if (!isTaken(error) || !(await isEqual(connections, definition, query))) throw error;
  }
}

export async function dropSink(connections: Connections, sink: TableName): Promise<void> {
  const statements = [`DROP TABLE IF EXISTS ${quoteTable(sink)}`, 'COMMIT'];
  await write(connections, questionSettings(QUESTION_MS), statements, 'dropping the sink');
}

async function write(
  connections: Connections,
  settings: SessionSettings,
  statements: readonly string[],
  doing: string,
): Promise<void> {
  try {
    await connections.use(
      () => ({ text: beginTransaction({ ...settings, readOnly: false }), limitMs: QUESTION_MS }),
      (connection) => connection.send({ text: statements.join(';\n'), limitMs: QUESTION_MS }),
    );
  } catch (error) {
    throw translate(error, { doing });
  }
}

/** Duplicate table, or the catalog's unique key where two sessions create it at the same time. */
function isTaken(error: unknown): boolean {
  return error instanceof SluiceError && /SQLSTATE (42P07|23505)\)/.test(error.message);
}

async function isEqual(
  connections: Connections,
  { sink, compiled, options }: NewSink,
  query: string,
): Promise<boolean> {
  const existing = await describeSink(connections, sink);
  if (existing === null) return false;
  const given = await describeQuery(connections, query, options.timeZone);
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
