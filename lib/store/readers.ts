import type { FlowDefinition, TableName } from '../flow/definition.ts';
import type { FlowListing, TableReader } from './flow-store.ts';

/** What is kept with each source table of a definition. */
export function readersOfDefinition(
  definition: FlowDefinition,
): readonly { readonly table: TableName; readonly reader: TableReader }[] {
  const { name, compiled, expireAfter } = definition;
  return compiled.sources.map(({ schema, table, timeColumn }) => ({
    table: { schema, table },
    reader: {
      flow: name,
      window: timeColumn === null ? null : (compiled.window?.spec ?? null),
      expireAfter,
    },
  }));
}

export function listingOf({ name, sink, query, comment, options }: FlowDefinition): FlowListing {
  return { name, sink, query, comment, connection: options.connection };
}
