import type { CompiledQuery, CompiledSource, TableName } from './definition.ts';

/** Every table whose changes reach the flow, be it through views, each once. */
export function tablesRead({
  sources,
  beneath,
}: Pick<CompiledQuery, 'sources' | 'beneath'>): readonly CompiledSource[] {
  return eachOnce([...sources, ...beneath]);
}

/** A table that is read twice counts as filtered if one reading is. */
export function eachOnce(readings: readonly (TableName & Pick<CompiledSource, 'timeColumn'>)[]): CompiledSource[] {
  const tables = new Map<string, CompiledSource>();
  for (const { schema, table, timeColumn } of readings) {
    const key = JSON.stringify([schema, table]);
    const known = tables.get(key);
    if (known === undefined) tables.set(key, { schema, table, timeColumn });
    else if (known.timeColumn === null) tables.set(key, { ...known, timeColumn });
  }
  return [...tables.values()];
}
