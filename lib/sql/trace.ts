import type { ColumnRef, FuncCall, Node, RangeVar, SelectStmt } from 'libpg-query';
import type { Relation, RelationColumn } from '../frontend/frontend.ts';
import type { ColumnSource, FromTree, Leaf } from './from-tree.ts';
import type { GroupItem, Output, QueryModel } from './query-model.ts';
import type { Cte } from './references.ts';
import { isObject, isSetOperation, startOf } from './tree.ts';
import { type WindowCall, windowCall } from './window-call.ts';
import { unwrap, type Wrapper } from './wrappers.ts';

/** Why a filter on the window's time would change the answer, or cannot be shown not to. */
export interface Blocker {
  readonly reason: string;
  readonly location: number;
}

/** A table whose time column feeds the window. */
export interface Scan {
  readonly reference: RangeVar;
  readonly relation: Relation;
  readonly column: RelationColumn;
}

/** One window expression; a query has several where the branches of a UNION ALL compute their own. */
export interface TracedCall {
  readonly call: WindowCall;
  /** With its schema where one is needed: `time_bucket` belongs to an extension. */
  readonly functionName: readonly string[];
  /** Around the window expression, outermost first, from the output column down to the call. */
  readonly wrappers: readonly Wrapper[];
  /** Around the time column inside the call, outermost first. */
  readonly conversions: readonly Wrapper[];
  readonly scans: readonly Scan[];
}

/** The way from an output column down to the scans that feed its window. */
export interface WindowTrace {
  readonly calls: readonly TracedCall[];
  readonly blockers: readonly Blocker[];
  /** References of WITH queries that the way passes. */
  readonly passed: readonly RangeVar[];
}

/**
 * Follows output columns down. The way passes plain projections, filters, inner joins, the preserved side of outer joins, UNION
 * ALL, and group keys that hold the window or its time: a filter on the time at the scan then keeps exactly the rows that a
 * filter on the window would keep at the top. Everything else is a blocker.
 */
export function traceWindow(model: QueryModel, select: SelectStmt, index: number): WindowTrace | null {
  return outputWindow(model, select, index, []);
}

type Way = readonly SelectStmt[];

function outputWindow(model: QueryModel, select: SelectStmt, index: number, above: Way): WindowTrace | null {
  if (above.includes(select)) return null;
  const way = [...above, select];
  if (isSetOperation(select)) {
    const { larg, rarg } = select;
    const left = larg === undefined ? null : outputWindow(model, larg, index, way);
    const right = rarg === undefined ? null : outputWindow(model, rarg, index, way);
    if (left === null && right === null) return null;
    const parts = [left, right].filter((part) => part !== null);
    const oneSided = blocker(startOf(larg), 'only one side of the UNION ALL computes a window in this column');
    return joined([whole(select), parts.length === 1 ? withBlocker(oneSided) : [], setBlockers(select), parts].flat());
  }
  const output = model.outputs(select)?.[index];
  if (output === undefined) return null;
  const below =
    output.value.kind === 'source'
      ? sourceWindow(model, select, output.value.source, way)
      : expressionWindow(model, select, output.value.node, way);
  if (below === null) return null;
  return joined([...whole(select), ...plainBlockers(model, select, index, output), below]);
}

function expressionWindow(model: QueryModel, select: SelectStmt, expression: Node, way: Way): WindowTrace | null {
  const { inner, wrappers } = unwrap(expression);
  const call = windowCall(inner);
  if (call !== null) {
    const { inner: time, wrappers: conversions } = unwrap(call.time);
    const column = referenceTime(model, select, time, way);
    return {
      calls: [{ call, functionName: model.functionName(call.call), wrappers, conversions, scans: column.scans }],
      blockers: column.blockers,
      passed: column.passed,
    };
  }
  if (!('ColumnRef' in inner)) return null;
  const source = model.resolve(select, inner.ColumnRef);
  const below = source === null ? null : sourceWindow(model, select, source, way);
  if (below === null) return null;
  return { ...below, calls: below.calls.map((each) => ({ ...each, wrappers: [...wrappers, ...each.wrappers] })) };
}

function sourceWindow(model: QueryModel, select: SelectStmt, source: ColumnSource, way: Way): WindowTrace | null {
  const { column, blockers } = preserved(model.from(select), source);
  if (column.leaf.origin.kind !== 'query') return null;
  const { select: inner, reference, cte } = column.leaf.origin;
  const below = outputWindow(model, inner, column.index, way);
  return below === null ? null : joined([{ ...EMPTY, blockers }, ...passing(reference, cte), below]);
}

/** The scans of a time column, without a window on the way. */
export interface TimeTrace {
  readonly scans: readonly Scan[];
  readonly blockers: readonly Blocker[];
  /** References of WITH queries that the way passes. */
  readonly passed: readonly RangeVar[];
}

/** The same for an output column that is itself the time. */
export function traceTime(model: QueryModel, select: SelectStmt, index: number): TimeTrace {
  return outputTime(model, select, index, startOf(select), []);
}

function referenceTime(model: QueryModel, select: SelectStmt, expression: Node, way: Way): TimeTrace {
  const location = startOf(expression);
  if (!('ColumnRef' in expression)) {
    return noTime(location, 'the time it cuts is computed; it must be a plain column of a table');
  }
  const source = model.resolve(select, expression.ColumnRef);
  if (source === null) {
    // A LATERAL subquery computes with the row beside which it stands: the time is a column of that row. Of a UNION ALL there, other
    // branches may give that row other times.
    const around = way.at(-2);
    if (around !== undefined && !isSetOperation(around) && model.isOuter(select, expression.ColumnRef)) {
      return referenceTime(model, around, expression, way.slice(0, -1));
    }
    const name = columnText(expression.ColumnRef);
    return noTime(location, `the time it cuts, ${name}, is not a column of a table in the same FROM clause`);
  }
  return sourceTime(model, select, source, location, way);
}

function sourceTime(
  model: QueryModel,
  select: SelectStmt,
  source: ColumnSource,
  location: number,
  way: Way,
): TimeTrace {
  const { column, blockers } = preserved(model.from(select), source);
  if (source.kind === 'merged' && !oneType(model, select, source, location, way)) {
    blockers.push(blocker(location, 'USING merges columns that are not shown to be of one type; qualify the column'));
  }
  const { leaf, index } = column;
  const { origin } = leaf;
  if (origin.kind === 'opaque') return noTime(location, 'the time it cuts comes from something that is not a table');
  if (origin.kind === 'table') {
    const found = origin.relation.columns[index];
    if (found === undefined) return noTime(location, 'the time it cuts is a system column');
    return { scans: [{ reference: origin.reference, relation: origin.relation, column: found }], blockers, passed: [] };
  }
  const below = outputTime(model, origin.select, index, location, way);
  const passed = passing(origin.reference, origin.cte);
  return {
    scans: below.scans,
    blockers: [...blockers, ...passed.flatMap((each) => each.blockers), ...below.blockers],
    passed: [...passed.flatMap((each) => each.passed), ...below.passed],
  };
}

/** A merged column has the common type of both sides: only where they are equal is it the column itself. */
function oneType(
  model: QueryModel,
  select: SelectStmt,
  { left, right }: ColumnSource & { readonly kind: 'merged' },
  location: number,
  way: Way,
): boolean {
  const sides = [left, right].map((side) => sourceTime(model, select, side, location, way).scans);
  const types = new Set(sides.flat().map(({ column }) => column.timeType));
  return types.size === 1 && sides.every(({ length }) => length > 0);
}

function outputTime(model: QueryModel, select: SelectStmt, index: number, location: number, above: Way): TimeTrace {
  if (above.includes(select)) return noTime(location, 'a query that reads itself cannot be filtered by time');
  const way = [...above, select];
  if (isSetOperation(select)) {
    const branches = [select.larg, select.rarg].filter((branch) => branch !== undefined);
    const parts = branches.map((branch) => outputTime(model, branch, index, location, way));
    return timeBelow([...whole(select), ...setBlockers(select)], parts);
  }
  const output = model.outputs(select)?.[index];
  if (output === undefined)
    return noTime(location, 'the time it cuts comes from a list of values or an unknown column');
  const below =
    output.value.kind === 'source'
      ? sourceTime(model, select, output.value.source, output.location, way)
      : referenceTime(model, select, output.value.node, way);
  return timeBelow([...whole(select), ...plainBlockers(model, select, index, output)], [below]);
}

function timeBelow(above: readonly WindowTrace[], parts: readonly TimeTrace[]): TimeTrace {
  return {
    scans: parts.flatMap(({ scans }) => scans),
    blockers: [...above, ...parts].flatMap(({ blockers }) => blockers),
    passed: parts.flatMap(({ passed }) => passed),
  };
}

const EMPTY: WindowTrace = { calls: [], blockers: [], passed: [] };

function blocker(location: number, reason: string): Blocker {
  return { reason, location };
}

function withBlocker(...blockers: readonly Blocker[]): WindowTrace[] {
  return [{ ...EMPTY, blockers }];
}

function noTime(location: number, reason: string): TimeTrace {
  return { scans: [], blockers: [blocker(location, reason)], passed: [] };
}

function joined(parts: readonly WindowTrace[]): WindowTrace {
  return {
    calls: parts.flatMap(({ calls }) => calls),
    blockers: parts.flatMap(({ blockers }) => blockers),
    passed: parts.flatMap(({ passed }) => passed),
  };
}

function passing(reference: RangeVar | null, cte: Cte | null): WindowTrace[] {
  const recursive =
    cte?.recursive === true
      ? [blocker(cte.location, `${cte.name} is recursive: later rows are made of earlier ones`)]
      : [];
  return [{ ...EMPTY, blockers: recursive, passed: reference === null ? [] : [reference] }];
}

/** LIMIT and OFFSET count rows that a filter would take away; they may belong to a set operation too. */
function whole(select: SelectStmt): WindowTrace[] {
  const limit = select.limitCount ?? select.limitOffset;
  if (limit === undefined) return [];
  return withBlocker(blocker(startOf(limit), 'LIMIT and OFFSET count rows of all windows'));
}

function setBlockers(select: SelectStmt): WindowTrace[] {
  if (select.op === 'SETOP_UNION' && select.all === true) return [];
  const name = (select.op ?? '').replace('SETOP_', '');
  return withBlocker(
    blocker(startOf(select.rarg), `${name} compares rows of its sides; of set operations only UNION ALL passes`),
  );
}

/** What stands between the output column of a plain SELECT and its FROM clause. */
function plainBlockers(model: QueryModel, select: SelectStmt, index: number, output: Output): WindowTrace[] {
  const blockers: Blocker[] = [];
  const distinct = select.distinctClause?.find((node) => Object.keys(node).length > 0);
  if (distinct !== undefined) {
    blockers.push(blocker(startOf(distinct), 'DISTINCT ON keeps one row out of several windows'));
  }
  const over = firstWindowFunction(select);
  if (over !== null) {
    blockers.push(blocker(over.location ?? -1, 'a window function (OVER) looks at rows of other windows'));
  }
  if (select.groupClause !== undefined) blockers.push(...groupBlockers(model, select, index, output));
  return withBlocker(...blockers);
}

function groupBlockers(model: QueryModel, select: SelectStmt, index: number, output: Output): Blocker[] {
  const items = model.groupItems(select);
  const own = new Set(determiningExpressions(model, select, output));
  const fixes = (item: GroupItem) => {
    if (item.kind === 'output' && item.index === index) return true;
    const key = model.canonicalItem(select, item);
    return key !== null && own.has(key);
  };
  const sets = items.find((item) => item.kind === 'grouping_sets');
  const rolledUp = items.some((item) => item.kind === 'grouping_sets' && item.sets?.flat().some(fixes) !== false);
  if (items.some(fixes) && !rolledUp) return [];
  if (sets === undefined) return [blocker(output.location, 'this column is not among the group keys of its SELECT')];
  const outside = 'group by the window outside of them, as in GROUP BY window, ROLLUP (city, shop)';
  return [blocker(sets.location, `ROLLUP, CUBE and GROUPING SETS make groups that span windows; ${outside}`)];
}

/** Expressions that, once grouped by, fix the window: the output itself, what it wraps, the time that it cuts. */
function determiningExpressions(model: QueryModel, select: SelectStmt, output: Output): string[] {
  const found = [model.canonicalOutput(select, output)];
  if (output.value.kind === 'source') return found;
  const { inner } = unwrap(output.value.node);
  const call = windowCall(inner);
  const times = call === null ? [] : [call.time, unwrap(call.time).inner];
  return [...found, ...[inner, ...times].map((node) => model.canonical(select, node))];
}

/** In the select list or ORDER BY, subqueries left out: those have a FROM clause of their own. */
function firstWindowFunction(select: SelectStmt): FuncCall | null {
  const open: unknown[] = [select.targetList, select.sortClause];
  while (open.length > 0) {
    const value = open.pop();
    if (!isObject(value) || 'SelectStmt' in value) continue;
    const call = value.FuncCall;
    if (isObject(call) && call.over !== undefined) return call as FuncCall;
    open.push(...Object.values(value));
  }
  return null;
}

/**
 * Down through the joins of a FROM clause to the leaf. A row of the nullable side that is filtered away leaves its partner
 * behind with NULLs, so that side blocks.
 */
export function preserved(
  trees: readonly FromTree[],
  source: ColumnSource,
): { column: ColumnSource & { readonly kind: 'column' }; blockers: Blocker[] } {
  if (source.kind === 'merged') {
    const { join } = source;
    const kept = preserved(trees, join.type === 'right' ? source.right : source.left);
    if (join.type === 'full')
      kept.blockers.push(blocker(-1, 'a FULL JOIN keeps rows of either side without the other'));
    return kept;
  }
  const blockers = trees.flatMap((tree) => joinBlockers(tree, source.leaf) ?? []);
  return { column: source, blockers };
}

/** null: the leaf is not in this part. */
function joinBlockers(tree: FromTree, leaf: Leaf): Blocker[] | null {
  if (tree.kind === 'leaf') return tree === leaf ? [] : null;
  const left = joinBlockers(tree.left, leaf);
  const right = joinBlockers(tree.right, leaf);
  const below = left ?? right;
  if (below === null) return null;
  const side = left === null ? 'right' : 'left';
  if (tree.type === 'inner' || tree.type === side) return below;
  const name = leaf.qualifier ?? 'a subquery';
  const reason =
    tree.type === 'full'
      ? 'a FULL JOIN keeps rows of either side without the other'
      : `${name} is on the nullable side of a ${tree.type.toUpperCase()} JOIN, where a missing row becomes NULLs`;
  return [blocker(leafLocation(leaf), reason), ...below];
}

function leafLocation({ origin }: Leaf): number {
  if (origin.kind === 'table') return origin.reference.location ?? 0;
  if (origin.kind === 'opaque') return -1;
  return origin.reference?.location ?? startOf(origin.select);
}

function columnText(reference: ColumnRef): string {
  return (reference.fields ?? []).map((node) => ('String' in node ? node.String.sval : '*')).join('.');
}
