import type { SelectStmt } from 'libpg-query';
import type { ColumnSource } from './from-tree.ts';
import type { GroupItem, QueryModel } from './query-model.ts';
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

/** A key that no output column holds, so that two rows of the query could have the same values in all that do. */
export interface MissingKey {
  readonly missing: GroupItem;
}

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
  const outputs = model.outputs(select) ?? [];
  const reached = outputs.map((output, index) => ({
    index,
    // A cast may give two keys one value: only the window's is known not to.
    plain: output.value.kind === 'source' || layers(output.value.node).length === 1,
    aggregate: aggregatesOf(model, select, index).find((each) => each.select === aggregate.select),
  }));
  const windowKeys = window === null ? [] : windowKeyTexts(model, aggregate);
  for (const item of keyItems(model, aggregate)) {
    const text = model.canonicalItem(aggregate.select, item);
    if (window !== null && text !== null && windowKeys.includes(text)) continue;
    const found = reached.find((column) => {
      if (column.aggregate?.way !== aggregate.way) return false;
      if (aggregate.select !== select && !column.plain) return false;
      return holds(model, aggregate.select, column.aggregate.index, item, text);
    });
    if (found === undefined) return { missing: item };
    keys.push(found.index);
  }
  return [...new Set(keys)];
}

function keyItems(model: QueryModel, { select, distinct }: Aggregate): readonly GroupItem[] {
  if (!distinct) return model.groupItems(select);
  return (model.outputs(select) ?? []).map(({ location }, index) => ({ kind: 'output', index, location }));
}

/** The group key may be the window expression, or any cast around it up to the output column. */
function windowKeyTexts(model: QueryModel, { select, index }: Aggregate): string[] {
  const output = model.outputs(select)?.[index];
  if (output === undefined) return [];
  if (output.value.kind === 'source') return [model.canonicalOutput(select, output)];
  return layers(output.value.node).map((node) => model.canonical(select, node));
}

function holds(model: QueryModel, select: SelectStmt, index: number, item: GroupItem, text: string | null): boolean {
  if (item.kind === 'output' && item.index === index) return true;
  const output = model.outputs(select)?.[index];
  return output !== undefined && text !== null && model.canonicalOutput(select, output) === text;
}
