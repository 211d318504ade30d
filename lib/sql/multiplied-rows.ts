import type { FuncCall, Node, SelectStmt } from 'libpg-query';
import type { Aggregate } from './group-keys.ts';
import type { QueryModel } from './query-model.ts';
import { isObject, nodesUnder, type TreeObject } from './tree.ts';

/**
 * A set-returning function, such as `unnest`, in a select list at or above the aggregate: it makes several rows of one group, so that
 * group keys do not identify rows. null: there is none. Below the aggregate, in subqueries, as a group key and under DISTINCT such
 * functions are fine.
 */
export function rowMultiplier(
  model: QueryModel,
  select: SelectStmt,
  { select: aggregate, distinct }: Aggregate,
): FuncCall | null {
  const fine = new Set<object>();
  const { fromClause, whereClause, withClause } = aggregate;
  for (const { node } of nodesUnder([fromClause, whereClause, { WithClause: withClause }])) fine.add(node);
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind === 'SubLink') for (const inner of nodesUnder(node['subselect'])) fine.add(inner.node);
  }
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind !== 'SelectStmt' || fine.has(node) || (distinct && node === aggregate)) continue;
    for (const expression of expressionsOf(model, node, node === aggregate)) {
      for (const { kind: inner, node: call } of nodesUnder(expression)) {
        if (inner === 'FuncCall' && !fine.has(call) && model.returnsSet(call as FuncCall)) return call as FuncCall;
      }
    }
  }
  return null;
}

/** Of the select list, but for group keys, which are computed before rows are grouped, and of ORDER BY. */
function expressionsOf(model: QueryModel, select: TreeObject & SelectStmt, grouped: boolean): unknown[] {
  const outputs = model.outputs(select) ?? [];
  const keys = grouped ? model.groupItems(select).map((item) => model.canonicalItem(select, item)) : [];
  const listed = outputs.flatMap(({ value }) => (value.kind === 'expression' ? [value.node] : []));
  const sorted = (select.sortClause ?? []).flatMap((each) => ('SortBy' in each ? (each.SortBy.node ?? []) : []));
  return [...listed, ...sorted].filter((node: Node) => isObject(node) && !keys.includes(model.canonical(select, node)));
}
