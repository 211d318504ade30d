import type { SelectStmt } from 'libpg-query';
import type { ColumnSource } from './from-tree.ts';
import type { GroupItem, QueryModel } from './query-model.ts';
import { isSetOperation } from './tree.ts';
import { layers } from './wrappers.ts';

/** The aggregate that an output column is passed up from. */
export interface Aggregate {
  readonly select: SelectStmt;
  /** Of the column, in the aggregate's own select list. */
  readonly index: number;
  /** By which parts of which FROM clauses it came; equal for columns of one row. */
  readonly way: string;
  /** Other tables are joined above the aggregate. */
  readonly joined: boolean;
}

/** Follows an output column up to the outermost aggregate; null if there is none, or a set operation is above it. */
export function aggregateOf(model: QueryModel, select: SelectStmt, index: number): Aggregate | null {
  return aggregateBelow(model, select, index, { way: '', joined: false, seen: [] });
}

interface Above {
  readonly way: string;
  readonly joined: boolean;
  readonly seen: readonly SelectStmt[];
}

function aggregateBelow(model: QueryModel, select: SelectStmt, index: number, above: Above): Aggregate | null {
  if (isSetOperation(select) || above.seen.includes(select)) return null;
  if (select.groupClause !== undefined) return { select, index, way: above.way, joined: above.joined };
  const output = model.outputs(select)?.[index];
  if (output === undefined) return null;
  const source = output.value.kind === 'source' ? output.value.source : referenced(model, select, output.value.node);
  if (source === null) return null;
  const column = oneSide(source);
  if (column === null || column.leaf.origin.kind !== 'query') return null;
  const trees = model.from(select);
  return aggregateBelow(model, column.leaf.origin.select, column.index, {
    way: `${above.way}/${column.leaf.id}`,
    joined: above.joined || trees.length > 1 || trees[0]?.kind !== 'leaf',
    seen: [...above.seen, select],
  });
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

/** A group key that no output column holds, so that two rows of the query could have the same values in all that do. */
export interface MissingKey {
  readonly missing: GroupItem;
}

/**
 * Output columns that identify a row, as indexes: the window's first, then the other group keys of the outermost aggregate.
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
    aggregate: aggregateOf(model, select, index),
  }));
  const windowKeys = window === null ? [] : windowKeyTexts(model, aggregate);
  for (const item of model.groupItems(aggregate.select)) {
    const text = model.canonicalItem(aggregate.select, item);
    if (window !== null && text !== null && windowKeys.includes(text)) continue;
    const found = reached.find((column) => {
      if (column.aggregate?.select !== aggregate.select || column.aggregate.way !== aggregate.way) return false;
      if (aggregate.select !== select && !column.plain) return false;
      return holds(model, aggregate.select, column.aggregate.index, item, text);
    });
    if (found === undefined) return { missing: item };
    keys.push(found.index);
  }
  return [...new Set(keys)];
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
