import type { Node, SelectStmt } from 'libpg-query';
import type { QueryModel } from './query-model.ts';
import { preserved } from './trace.ts';
import { isSetOperation, nameParts } from './tree.ts';

/**
 * Output columns, as indexes, that hold one constant in all rows of a branch, so that rows of two branches always differ in one of
 * them; null where two branches may give equal rows.
 */
export function distinguishingColumns(model: QueryModel, branches: readonly SelectStmt[]): readonly number[] | null {
  const [first] = branches;
  const columns: { readonly index: number; readonly values: readonly string[] }[] = [];
  for (const index of (first === undefined ? [] : (model.outputs(first) ?? [])).keys()) {
    const constants = branches.map((branch) => constantOf(model, branch, index, []));
    const kinds = new Set(constants.flatMap((constant) => constant?.kind ?? []).filter((kind) => kind !== 'null'));
    // Of several kinds, one is converted to another, by which values may become equal.
    if (constants.every((constant) => constant !== null) && kinds.size <= 1) {
      columns.push({ index, values: constants.map(({ kind, value }) => JSON.stringify([kind, value])) });
    }
  }
  const marks = branches.map((_, branch) => JSON.stringify(columns.map(({ values }) => values[branch])));
  if (new Set(marks).size < branches.length) return null;
  return columns.filter(({ values }) => new Set(values).size > 1).map(({ index }) => index);
}

interface Constant {
  readonly kind: 'text' | 'integer' | 'boolean' | 'null';
  readonly value: string;
}

function constantOf(
  model: QueryModel,
  select: SelectStmt,
  index: number,
  above: readonly SelectStmt[],
): Constant | null {
  // A constant that is grouped by is NULL where it is rolled up.
  const rolledUp = model.groupItems(select).some(({ kind }) => kind === 'grouping_sets');
  if (isSetOperation(select) || above.includes(select) || rolledUp) return null;
  const output = model.outputs(select)?.[index];
  if (output === undefined) return null;
  const { value } = output;
  if (value.kind === 'expression' && !('ColumnRef' in value.node)) return literal(value.node);
  const source =
    value.kind === 'source'
      ? value.source
      : 'ColumnRef' in value.node
        ? model.resolve(select, value.node.ColumnRef)
        : null;
  if (source === null || source.kind === 'merged') return null;
  const { column, blockers } = preserved(model.from(select), source);
  if (blockers.length > 0 || column.leaf.origin.kind !== 'query') return null;
  return constantOf(model, column.leaf.origin.select, column.index, [...above, select]);
}

/** Constants that differ if their texts do: of no other type, since '1.0' and '1.00' are two texts and one number. */
function literal(node: Node): Constant | null {
  if ('TypeCast' in node) {
    const { arg, typeName } = node.TypeCast;
    if (arg === undefined || typeName?.typmods !== undefined || typeName?.arrayBounds !== undefined) return null;
    const type = nameParts(typeName?.names).at(-1);
    const inner = literal(arg);
    return (['text', 'varchar'].includes(type ?? '') && inner?.kind === 'text') || inner?.kind === 'null'
      ? inner
      : null;
  }
  if (!('A_Const' in node)) return null;
  const { isnull, sval, ival, boolval } = node.A_Const;
  if (isnull === true) return { kind: 'null', value: '' };
  if (sval !== undefined) return { kind: 'text', value: sval.sval ?? '' };
  if (ival !== undefined) return { kind: 'integer', value: String(ival.ival ?? 0) };
  return boolval === undefined ? null : { kind: 'boolean', value: String(boolval.boolval ?? false) };
}
