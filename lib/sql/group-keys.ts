import type { SelectStmt } from 'libpg-query';
import type { ColumnSource } from './from-tree.ts';
import { MAX_SETS } from './grouping-sets.ts';
import type { GroupItem, GroupingSets, PlainGroupItem, QueryModel } from './query-model.ts';
import { isSetOperation } from './tree.ts';
import { layers } from './wrappers.ts';

/** A SELECT that an output column is passed up from, whose GROUP BY or DISTINCT tells its rows apart. */
export interface Aggregate {
  readonly select: SelectStmt;
  /** By DISTINCT: all of its columns together identify a row. Otherwise the group keys do. */
  readonly distinct: boolean;
  /** Of the column, in the aggregate's own select list. */
  readonly index: number;
  /** By which parts of which FROM clauses it came; equal for columns of one row. */
  readonly way: string;
  /** Other tables are joined above the aggregate. */
  readonly joined: boolean;
}

/**
 * Follows an output column up to the outermost GROUP BY, which comes first, and back through each DISTINCT above it. Empty if there
 * is none, or a set operation is above it.
 */
export function aggregatesOf(model: QueryModel, select: SelectStmt, index: number): readonly Aggregate[] {
  return aggregatesBelow(model, select, index, { way: '', joined: false, seen: [] });
}

interface Above {
  readonly way: string;
  readonly joined: boolean;
  readonly seen: readonly SelectStmt[];
}

function aggregatesBelow(
  model: QueryModel,
  select: SelectStmt,
  index: number,
  { way, joined, seen }: Above,
): readonly Aggregate[] {
  if (isSetOperation(select) || seen.includes(select)) return [];
  const own = isDistinct(select) && model.outputs(select) !== null;
  const distinct: Aggregate[] = own ? [{ select, distinct: true, index, way, joined }] : [];
  if (select.groupClause !== undefined) return [{ select, distinct: false, index, way, joined }, ...distinct];
  const output = model.outputs(select)?.[index];
  if (output === undefined) return distinct;
  const source = output.value.kind === 'source' ? output.value.source : referenced(model, select, output.value.node);
  const column = source === null ? null : oneSide(source);
  if (column === null || column.leaf.origin.kind !== 'query') return distinct;
  const trees = model.from(select);
  const below = aggregatesBelow(model, column.leaf.origin.select, column.index, {
    way: `${way}/${column.leaf.id}`,
    joined: joined || trees.length > 1 || trees[0]?.kind !== 'leaf',
    seen: [...seen, select],
  });
  return [...below, ...distinct];
}

/** Not DISTINCT ON, which has expressions. */
function isDistinct({ distinctClause }: SelectStmt): boolean {
  return distinctClause?.every((node) => Object.keys(node).length === 0) === true;
}

/** The label may be cast on its way up. */
function referenced(
  model: QueryModel,
  select: SelectStmt,
  expression: Parameters<typeof layers>[0],
): ColumnSource | null {
  const inner = layers(expression).at(-1);
  return inner !== undefined && 'ColumnRef' in inner ? model.resolve(select, inner.ColumnRef) : null;
}

function oneSide(source: ColumnSource): (ColumnSource & { readonly kind: 'column' }) | null {
  if (source.kind === 'column') return source;
  return source.join.type === 'full' ? null : oneSide(source.join.type === 'right' ? source.right : source.left);
}

/** Why two rows of the query could have the same values in all columns that hold a key. */
export type MissingKey =
  /** No output column holds this key. */
  | { readonly missing: PlainGroupItem }
  /** A key that is rolled up looks like one that is NULL: no GROUPING over all these keys is selected. */
  | { readonly untold: readonly PlainGroupItem[]; readonly location: number }
  /** Two of the grouping sets are the same, or may be. */
  | { readonly repeated: GroupingSets };

/**
 * Output columns that identify a row, as indexes: the window's first, then the other keys of the aggregate.
 * `window`: index of the window's column, or of any column of the aggregate, which then does not count as a key by itself.
 */
export function keyColumns(
  model: QueryModel,
  select: SelectStmt,
  aggregate: Aggregate,
  window: number | null,
): readonly number[] | MissingKey {
  const keys = window === null ? [] : [window];
  const columns = keptColumns(model, select, aggregate);
  const windowKeys = window === null ? [] : windowKeyTexts(model, aggregate);
  const items = keyItems(model, aggregate);
  const sets = items.filter((item) => item.kind === 'grouping_sets');
  for (const item of [...plain(items), ...rolledUp(sets)]) {
    const text = model.canonicalItem(aggregate.select, item);
    if (window !== null && text !== null && windowKeys.includes(text)) continue;
    const found = columns.find(({ inner }) => holds(model, aggregate.select, inner, item, text));
    if (found === undefined) return { missing: item };
    keys.push(found.index);
  }
  const [first] = sets;
  if (first === undefined) return [...new Set(keys)];
  if (aggregate.select.groupDistinct !== true && hasRepeatedSet(model, aggregate.select, plain(items), sets)) {
    return { repeated: first };
  }
  const levels = levelColumns(model, aggregate.select, columns, rolledUp(sets));
  if (levels === null) return { untold: rolledUp(sets), location: first.location };
  return [...new Set([...keys, ...levels])];
}

/** An output column that holds one of the aggregate's own, `inner`, as it is. */
interface KeptColumn {
  readonly index: number;
  readonly inner: number;
}

function keptColumns(model: QueryModel, select: SelectStmt, aggregate: Aggregate): KeptColumn[] {
  return (model.outputs(select) ?? []).flatMap((output, index) => {
    const own = aggregatesOf(model, select, index).find((each) => each.select === aggregate.select);
    if (own?.way !== aggregate.way) return [];
    // A cast may give two keys one value: only the window's is known not to.
    const cast = output.value.kind === 'expression' && layers(output.value.node).length > 1;
    return cast && aggregate.select !== select ? [] : [{ index, inner: own.index }];
  });
}

function keyItems(model: QueryModel, { select, distinct }: Aggregate): readonly GroupItem[] {
  if (!distinct) return model.groupItems(select);
  return (model.outputs(select) ?? []).map(({ location }, index) => ({ kind: 'output', index, location }));
}

function plain(items: readonly GroupItem[]): readonly PlainGroupItem[] {
  return items.filter((item) => item.kind !== 'grouping_sets');
}

function rolledUp(sets: readonly GroupingSets[]): readonly PlainGroupItem[] {
  return sets.flatMap((each) => each.sets?.flat() ?? []);
}

/** Several ROLLUPs of one GROUP BY are combined, each set of one with each of the others. */
function hasRepeatedSet(
  model: QueryModel,
  select: SelectStmt,
  always: readonly PlainGroupItem[],
  all: readonly GroupingSets[],
): boolean {
  const count = all.reduce((product, { sets }) => product * (sets?.length ?? Number.POSITIVE_INFINITY), 1);
  if (count > MAX_SETS) return true;
  const combined = all.reduce<readonly (readonly PlainGroupItem[])[]>(
    (before, { sets }) => before.flatMap((one) => (sets ?? []).map((other) => [...one, ...other])),
    [always],
  );
  const texts = combined.map((set) => {
    const names = new Set(set.map((item) => model.canonicalItem(select, item) ?? ''));
    return JSON.stringify([...names].sort());
  });
  return new Set(texts).size < texts.length;
}

/** Columns that hold GROUPING over all keys that are rolled up, one or several of them; null where they do not. */
function levelColumns(
  model: QueryModel,
  select: SelectStmt,
  columns: readonly KeptColumn[],
  items: readonly PlainGroupItem[],
): readonly number[] | null {
  const open = new Set(items.map((item) => model.canonicalItem(select, item) ?? ''));
  const levels: number[] = [];
  for (const { index, inner } of columns) {
    const value = model.outputs(select)?.[inner]?.value;
    if (value?.kind !== 'expression' || !('GroupingFunc' in value.node)) continue;
    levels.push(index);
    for (const argument of value.node.GroupingFunc.args ?? []) open.delete(model.canonical(select, argument));
  }
  return open.size === 0 ? levels : null;
}

/** The group key may be the window expression, or any cast around it up to the output column. */
function windowKeyTexts(model: QueryModel, { select, index }: Aggregate): string[] {
  const output = model.outputs(select)?.[index];
  if (output === undefined) return [];
  if (output.value.kind === 'source') return [model.canonicalOutput(select, output)];
  return layers(output.value.node).map((node) => model.canonical(select, node));
}

function holds(
  model: QueryModel,
  select: SelectStmt,
  index: number,
  item: PlainGroupItem,
  text: string | null,
): boolean {
  if (item.kind === 'output' && item.index === index) return true;
  const output = model.outputs(select)?.[index];
  return output !== undefined && text !== null && model.canonicalOutput(select, output) === text;
}
