import type { CompiledSource, FlowOptions, TableName } from '../flow/definition.ts';
import { eachOnce } from '../flow/tables-read.ts';
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

/** One for each input of a query with a window that is read whole, also through a view. */
export function readingWarnings(
  inputs: readonly QueryInput[],
  beneath: readonly CompiledSource[],
  onChange: FlowOptions['onDimensionChange'],
): readonly string[] {
  const unfiltered = onChange === 'refresh' ? 'dirties everything once it is marked' : 'dirties no window';
  const filtered = eachOnce(inputs).filter(({ timeColumn }) => timeColumn !== null);
  const warnings = inputs.flatMap(({ schema, table, alias, timeColumn }) => {
    if (timeColumn !== null) return [];
    const name = `${schema}.${table}${alias === null ? '' : ` (${alias})`}`;
    const also = filtered.some((source) => source.schema === schema && source.table === table);
    const change = also ? 'dirties only the window it lies in' : unfiltered;
    return [`${name} is read whole at every plan, and a change of it ${change}.`];
  });
  const read = eachOnce([...inputs, ...beneath]).slice(eachOnce(inputs).length);
  const hidden = read.flatMap(({ schema, table, timeColumn }) => {
    if (timeColumn !== null) return [];
    return [
      `${schema}.${table} is read through a view that does not pass its time up as it is: a change of it ${unfiltered}.`,
    ];
  });
  return [...new Set([...warnings, ...hidden])];
}
