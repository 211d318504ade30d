import type { Node, SelectStmt } from 'libpg-query';
import type { QueryModel } from './query-model.ts';
import { type SourceText, tokenIndexAt, tokenIs } from './source-text.ts';
import { builtinName, isSetOperation, nodesUnder, startOf } from './tree.ts';

const PLAIN_AGGREGATES = ['count', 'sum', 'min', 'max', 'avg'];

/**
 * Whether the query's own ORDER BY can be left out without changing which rows there are. It decides over rows with LIMIT and
 * DISTINCT ON, it makes a query without GROUP BY an aggregate, and a set-returning function in it multiplies rows.
 */
export function orderIsIdle(model: QueryModel, select: SelectStmt): boolean {
  const { sortClause, limitCount, limitOffset, distinctClause } = select;
  if (sortClause === undefined || limitCount !== undefined || limitOffset !== undefined) return false;
  if (distinctClause?.some((node) => Object.keys(node).length > 0) === true) return false;
  const outputs = isSetOperation(select) ? [] : (model.outputs(select) ?? []);
  const selected = new Set(outputs.map((output) => model.canonicalOutput(select, output)));
  return sortClause.every((node) => {
    const expression = 'SortBy' in node ? node.SortBy.node : undefined;
    if (expression === undefined) return false;
    return selected.has(model.canonical(select, expression)) || isPlain(select, expression);
  });
}

function isPlain(select: SelectStmt, expression: Node): boolean {
  for (const { kind, node } of nodesUnder(expression)) {
    if (kind === 'SubLink') return false;
    if (kind !== 'FuncCall') continue;
    const name = builtinName(node);
    if (select.groupClause === undefined || name === null || !PLAIN_AGGREGATES.includes(name)) return false;
  }
  return true;
}

/** From `ORDER` to the end of the query, or to the bracket that closes it. */
export function orderByRange(source: SourceText, select: SelectStmt): { start: number; end: number } {
  let by = tokenIndexAt(source, startOf(select.sortClause));
  while (!(tokenIs(source, by, 'by') && tokenIs(source, by - 1, 'order'))) by--;
  let depth = 0;
  let last = by;
  for (let at = by + 1; at < source.tokens.length && depth >= 0; at++) {
    if (tokenIs(source, at, '(')) depth++;
    if (tokenIs(source, at, ')')) depth--;
    if (tokenIs(source, at, ';')) break;
    if (depth >= 0) last = at;
  }
  return { start: source.tokens[by - 1]?.start ?? 0, end: source.tokens[last]?.end ?? 0 };
}
