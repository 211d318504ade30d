import { SluiceError } from '../errors.ts';
import type { SinkColumn, TableName } from '../flow/definition.ts';
import { holdsEvery } from '../flow/type-pairs.ts';
import type { SinkTable } from '../frontend/frontend.ts';

/** Filled by Sluice with the time of the write, unless the query gives a column of this name. */
const UPDATE_AT = 'update_at';
const TIMESTAMPTZ = 'timestamp with time zone';

/** What keeps an existing table from being the sink of a query with these columns and keys; empty if it fits. */
export function sinkProblems(
  sink: SinkTable,
  columns: readonly SinkColumn[],
  keys: readonly string[],
): readonly string[] {
  const problems: string[] = [];
  for (const { name, type } of columns) {
    const own = sink.columns.find((column) => column.name === name);
    if (own === undefined) problems.push(`column ${quote(name)} of type ${type} is missing`);
    else if (!holdsEvery(own.type, type))
      problems.push(`column ${quote(name)} is of type ${own.type}, the query gives ${type}`);
  }
  for (const { name, notNull, hasDefault } of sink.columns) {
    if (columns.some((column) => column.name === name) || !notNull || hasDefault || isUpdateAt(sink, name)) continue;
    problems.push(`column ${quote(name)} is not in the query and takes neither NULL nor a default`);
  }
  if (keys.length > 0 && !sink.uniqueKeys.some((key) => sameNames(key, keys))) {
    const list = keys.map(quote).join(', ');
    problems.push(`it has no unique index NULLS NOT DISTINCT on exactly (${list})`);
  }
  return problems;
}

/** Throws `sink_mismatch` that lists everything that does not fit. */
export function checkSinkTable(sink: SinkTable, columns: readonly SinkColumn[], keys: readonly string[]): void {
  const problems = sinkProblems(sink, columns, keys);
  if (problems.length === 0) return;
  throw new SluiceError(
    'sink_mismatch',
    `table ${tableText(sink)} cannot be the sink of this query: ${problems.join('; ')}. Change the table or the query, or name a table that does not exist yet.`,
    { details: { problems } },
  );
}

/** Whether the sink has a column that Sluice is to fill with the time of the write. */
export function fillsUpdateAt(sink: SinkTable | null, columns: readonly SinkColumn[]): boolean {
  if (columns.some(({ name }) => name === UPDATE_AT)) return false;
  return sink === null || isUpdateAt(sink, UPDATE_AT);
}

function isUpdateAt(sink: SinkTable, name: string): boolean {
  return name === UPDATE_AT && sink.columns.some((column) => column.name === name && column.type === TIMESTAMPTZ);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function tableText({ schema, table }: TableName): string {
  return `${quote(schema)}.${quote(table)}`;
}
