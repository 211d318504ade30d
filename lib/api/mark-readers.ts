import type { EngineDeps } from '../engine/deps.ts';
import { type Change, type MarkedFlow, markTable } from '../engine/marks.ts';
import { SluiceError } from '../errors.ts';
import type { TableName } from '../flow/definition.ts';

/** A mark that reaches no flow is most likely a misspelt table, and would be lost without a word. Throws `table_not_found`. */
export async function markReaders(
  engine: EngineDeps,
  connection: string,
  table: TableName,
  change: Change,
): Promise<readonly MarkedFlow[]> {
  return someReaders(await markTable(engine, connection, table, change), connection, table);
}

/** Throws `table_not_found` where there are none. */
export function someReaders(
  marked: readonly MarkedFlow[],
  connection: string,
  table: TableName,
): readonly MarkedFlow[] {
  if (marked.length > 0) return marked;
  throw new SluiceError(
    'table_not_found',
    `no flow reads table ${table.schema}.${table.table} of connection ${connection}; check schema, case and connection, or create the flow first`,
  );
}
