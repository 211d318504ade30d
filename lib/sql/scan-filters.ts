import type { RangeVar } from 'libpg-query';
import type { TimeColumnType } from '../flow/definition.ts';
import { type NoWindow, no } from './no-window.ts';
import type { QueryModel } from './query-model.ts';
import type { Blocker, Scan } from './trace.ts';

/** A column of a scan that is filtered by window. */
export interface ScanFilter {
  readonly scan: Scan;
  readonly type: TimeColumnType;
}

/** WITH queries that are also read elsewhere, where the filter inside of them would take rows away. */
export function halfFiltered(model: QueryModel, passed: readonly RangeVar[]): Blocker[] {
  const { ctes } = model.references;
  return passed.flatMap((reference) => {
    const cte = ctes.get(reference);
    const other = [...ctes].find(([each, of]) => of === cte && !passed.includes(each));
    if (cte === undefined || other === undefined) return [];
    const reason = `${JSON.stringify(cte.name)} is read again here, where its rows must not be filtered; write it out a second time`;
    return [{ reason, location: other[0].location ?? -1 }];
  });
}

export function filtersOf(scans: readonly Scan[]): ReadonlyMap<RangeVar, ScanFilter> | NoWindow {
  const filters = new Map<RangeVar, ScanFilter>();
  const columns = new Map<string, string>();
  for (const scan of scans) {
    const { reference, relation, column } = scan;
    const location = reference.location ?? -1;
    const table = JSON.stringify([relation.schema, relation.table]);
    const known = columns.get(table);
    if (known !== undefined && known !== column.name) {
      const both = `${JSON.stringify(known)} and by ${JSON.stringify(column.name)}`;
      return no(location, `this table would be filtered by ${both}; a table has one time column in a flow`);
    }
    columns.set(table, column.name);
    filters.set(reference, { scan, type: column.timeType ?? 'timestamptz' });
  }
  return filters;
}
