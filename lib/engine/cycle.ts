import { SluiceError } from '../errors.ts';
import type { FlowDefinition, TableName } from '../flow/definition.ts';
import { tablesRead } from '../flow/tables-read.ts';
import { refuseWhileChanging } from './definition-change.ts';
import type { EngineDeps } from './deps.ts';

/**
 * Refuses a flow that reads its own sink, be it through other flows: each run would make the next one necessary, for ever.
 *
 * Throws `invalid_query` with the way from table to table, and `conflict` while a flow on that way is being changed.
 */
export async function refuseCycle(
  deps: EngineDeps,
  draft: Pick<FlowDefinition, 'name' | 'sink' | 'compiled' | 'options'>,
): Promise<void> {
  const { connection } = draft.options;
  const seen = new Set<string>();
  const open = tablesRead(draft.compiled).map((table) => ({ table: table as TableName, way: [nameOf(draft.sink)] }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { table } = next;
    const way = [...next.way, nameOf(table)];
    if (nameOf(table) === nameOf(draft.sink)) throw cycle(draft.name, way);
    if (seen.has(nameOf(table))) continue;
    seen.add(nameOf(table));
    for (const source of await sourcesOfSink(deps, connection, table, draft.name)) open.push({ table: source, way });
  }
}

/** What the flow that writes a table reads; nothing where no flow does. */
async function sourcesOfSink(
  deps: EngineDeps,
  connection: string,
  table: TableName,
  self: string,
): Promise<readonly TableName[]> {
  const holder = await deps.store.sinkHolder(connection, table);
  if (holder === null || holder === self) return [];
  const loaded = await deps.store.load(holder, { limit: 1, order: 'newest' });
  // Two changes at once that close a cycle between them: each claims its sink before it looks, so that one of them sees the other.
  if (loaded !== null) refuseWhileChanging(holder, loaded.state, deps.clock());
  return loaded?.definition == null ? [] : tablesRead(loaded.definition.compiled);
}

function nameOf({ schema, table }: TableName): string {
  return `${JSON.stringify(schema)}.${JSON.stringify(table)}`;
}

function cycle(flow: string, way: readonly string[]): SluiceError {
  return new SluiceError(
    'invalid_query',
    `flow ${flow} would read its own sink: ${way.join(' reads ')}. Read the tables that these rows come from instead`,
  );
}
