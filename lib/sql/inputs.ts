import type { CompiledSource, FlowOptions, TableName } from '../flow/definition.ts';
import type { Analysis } from './analyse-query.ts';

/** One reading of a table: a query may read a table twice, once filtered and once whole. */
export interface QueryInput extends TableName {
  readonly alias: string | null;
  /** The column whose scan is filtered by window; null where this reading takes the whole table. */
  readonly timeColumn: string | null;
}

/** In order of appearance. */
export function inputsOf({ relations, window }: Pick<Analysis, 'relations' | 'window'>): QueryInput[] {
  return [...relations].map(([reference, { schema, table }]) => {
    const alias = reference.alias?.aliasname ?? null;
    return { schema, table, alias, timeColumn: window?.filters.get(reference)?.scan.column.name ?? null };
  });
}

/** Each table once; one that is read twice counts as filtered if one reading is. */
export function sourcesOf(inputs: readonly QueryInput[]): CompiledSource[] {
  const sources = new Map<string, CompiledSource>();
  for (const { schema, table, timeColumn } of inputs) {
    const key = JSON.stringify([schema, table]);
    const known = sources.get(key);
    if (known === undefined) sources.set(key, { schema, table, timeColumn });
    else if (known.timeColumn === null) sources.set(key, { ...known, timeColumn });
  }
  return [...sources.values()];
}

/** One for each input of a query with a window that is read whole. */
export function readingWarnings(
  inputs: readonly QueryInput[],
  onChange: FlowOptions['onDimensionChange'],
): readonly string[] {
  const filtered = sourcesOf(inputs).filter(({ timeColumn }) => timeColumn !== null);
  const warnings = inputs.flatMap(({ schema, table, alias, timeColumn }) => {
    if (timeColumn !== null) return [];
    const name = `${schema}.${table}${alias === null ? '' : ` (${alias})`}`;
    const also = filtered.some((source) => source.schema === schema && source.table === table);
    const change = also
      ? 'dirties only the window it lies in'
      : onChange === 'refresh'
        ? 'dirties everything once it is marked'
        : 'dirties no window';
    return [`${name} is read whole at every plan, and a change of it ${change}.`];
  });
  return [...new Set(warnings)];
}
