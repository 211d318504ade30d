import type { FlowDefinition, TableName } from '../flow/definition.ts';
import { tablesRead } from '../flow/tables-read.ts';
import type { FlowListing, TableReader } from './flow-store.ts';

/** What is kept with each source table of a definition. */
export function readersOfDefinition(
  definition: FlowDefinition,
): readonly { readonly table: TableName; readonly reader: TableReader }[] {
  const { name, compiled, expireAfter, options } = definition;
  return tablesRead(compiled).map(({ schema, table, timeColumn }) => {
    const window = timeColumn === null ? null : (compiled.window?.spec ?? null);
    return {
      table: { schema, table },
      reader: {
        flow: name,
        window,
        timeColumn: window === null ? null : timeColumn,
        refreshesWhole: window === null && compiled.window !== null && options.onDimensionChange === 'refresh',
        expireAfter,
      },
    };
  });
}

export function listingOf({ name, sink, query, comment, options }: FlowDefinition): FlowListing {
  return { name, sink, query, comment, connection: options.connection };
}
