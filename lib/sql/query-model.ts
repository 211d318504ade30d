import type { ColumnRef, FuncCall, Node, RangeVar, ResTarget, SelectStmt } from 'libpg-query';
import type { FunctionFamily, Relation } from '../frontend/frontend.ts';
import { columnName } from './column-name.ts';
import { buildFromTree, type ColumnSource, type FromTree, type VisibleColumn, visibleColumns } from './from-tree.ts';
import { groupingSets } from './grouping-sets.ts';
import { type Found, lookUp, SYSTEM_COLUMNS } from './lookup.ts';
import type { References } from './references.ts';
import { isObject, isSetOperation, nameParts, STAR, withoutPositions } from './tree.ts';

/** One output column of a plain SELECT: an expression of its own, or a column that a star stands for. */
export interface Output {
  readonly name: string | null;
  readonly value:
    | { readonly kind: 'expression'; readonly node: Node }
    | { readonly kind: 'source'; readonly source: ColumnSource };
  readonly location: number;
}

/** What GROUP BY lists: an output column by its index, or an expression; or ROLLUP and its like. */
export type GroupItem = PlainGroupItem | GroupingSets;

export type PlainGroupItem =
  | { readonly kind: 'output'; readonly index: number; readonly location: number }
  | { readonly kind: 'expression'; readonly node: Node; readonly location: number };

export interface GroupingSets {
  readonly kind: 'grouping_sets';
  /** null: more than PostgreSQL takes. */
  readonly sets: readonly (readonly PlainGroupItem[])[] | null;
  readonly location: number;
}

/** Resolves names inside a query, one SELECT at a time, each once. */
export interface QueryModel {
  readonly references: References;
  from(select: SelectStmt): readonly FromTree[];
  /** Output columns; null where a star stands for columns that are not known here. Of a plain SELECT only. */
  outputs(select: SelectStmt): readonly Output[] | null;
  groupItems(select: SelectStmt): readonly GroupItem[];
  /** The one column of the SELECT's own FROM clause that the reference means; null where it means none, or one cannot tell. */
  resolve(select: SelectStmt, reference: ColumnRef): ColumnSource | null;
  /** Whether the reference means no column of the SELECT's own FROM clause, so that it is one of a query around it. */
  isOuter(select: SelectStmt, reference: ColumnRef): boolean;
  /** The name of the function that is called, with its schema where one is needed. */
  functionName(call: FuncCall): readonly string[];
  /** Whether the call gives several rows, or may. */
  returnsSet(call: FuncCall): boolean;
  /** Equal for expressions of one SELECT that PostgreSQL takes as equal. The reverse may not hold. */
  canonical(select: SelectStmt, expression: Node): string;
  canonicalOutput(select: SelectStmt, output: Output): string;
  /** null where the item names no output column that is known. */
  canonicalItem(select: SelectStmt, item: GroupItem): string | null;
}

export function createQueryModel(
  references: References,
  relationOf: (reference: RangeVar) => Relation | null,
  familyOf: (call: FuncCall) => FunctionFamily | null = () => null,
): QueryModel {
  const fromTrees = new Map<SelectStmt, readonly FromTree[]>();
  const outputLists = new Map<SelectStmt, readonly Output[] | null>();
  /** Queries whose output names are being found: one that is met again reads itself. */
  const open = new Set<SelectStmt>();
  let lastId = 0;

  const context = {
    relationOf,
    cteOf: (reference: RangeVar) => references.ctes.get(reference) ?? null,
    outputNames,
    nextId: () => ++lastId,
  };

  function from(select: SelectStmt): readonly FromTree[] {
    const known = fromTrees.get(select);
    if (known !== undefined) return known;
    const trees = (select.fromClause ?? []).map((node) => buildFromTree(node, context));
    fromTrees.set(select, trees);
    return trees;
  }

  function outputNames(select: SelectStmt): readonly string[] | null {
    let first = select;
    while (isSetOperation(first) && first.larg !== undefined) first = first.larg;
    if (open.has(first)) return null;
    if (first.valuesLists !== undefined) return valuesNames(first.valuesLists);
    open.add(first);
    const found = outputs(first);
    open.delete(first);
    const names = found?.map(({ name }) => name) ?? null;
    return names?.every((name) => name !== null) === true ? names : null;
  }

  function outputs(select: SelectStmt): readonly Output[] | null {
    const known = outputLists.get(select);
    if (known !== undefined) return known;
    const found = (select.targetList ?? []).map((node) => {
      return 'ResTarget' in node ? outputsOf(from(select), node.ResTarget) : null;
    });
    const list = found.every((each) => each !== null) ? found.flat() : null;
    outputLists.set(select, list);
    return list;
  }

  function groupItems(select: SelectStmt): readonly GroupItem[] {
    return (select.groupClause ?? []).flatMap((node) => itemsOf(select, node));
  }

  function itemsOf(select: SelectStmt, node: Node): GroupItem[] {
    if ('GroupingSet' in node) {
      const sets = groupingSets(node.GroupingSet, (each) => plainItems(select, each));
      return [{ kind: 'grouping_sets', sets, location: node.GroupingSet.location ?? 0 }];
    }
    return plainItems(select, node);
  }

  function plainItems(select: SelectStmt, node: Node): PlainGroupItem[] {
    if ('RowExpr' in node && node.RowExpr.row_format === 'COERCE_IMPLICIT_CAST') {
      return (node.RowExpr.args ?? []).flatMap((each) => plainItems(select, each));
    }
    if ('A_Const' in node && node.A_Const.ival !== undefined) {
      return [{ kind: 'output', index: (node.A_Const.ival.ival ?? 0) - 1, location: node.A_Const.location ?? 0 }];
    }
    if ('ColumnRef' in node) {
      const index = outputNamed(select, node.ColumnRef);
      const location = node.ColumnRef.location ?? 0;
      return [index === null ? { kind: 'expression', node, location } : { kind: 'output', index, location }];
    }
    return [{ kind: 'expression', node, location: -1 }];
  }

  /**
   * GROUP BY takes a bare name as an input column if there is one, else as an output column. Should a function in FROM have a
   * column of that name after all, the output column is not grouped by, and the server refuses the query.
   */
  function outputNamed(select: SelectStmt, reference: ColumnRef): number | null {
    const [name, more] = nameParts(reference.fields);
    if (name === undefined || name === STAR || more !== undefined || SYSTEM_COLUMNS.includes(name)) return null;
    if (lookUp(from(select), null, name).found.length > 0) return null;
    const index = outputs(select)?.findIndex((output) => output.name === name) ?? -1;
    return index === -1 ? null : index;
  }

  /** Columns that are not known here cannot have the same name: the server would refuse it as ambiguous. */
  function resolve(select: SelectStmt, reference: ColumnRef): ColumnSource | null {
    const [only, second] = findColumn(from(select), reference).found;
    return second === undefined ? (only ?? null) : null;
  }

  function isOuter(select: SelectStmt, reference: ColumnRef): boolean {
    const { found, certain } = findColumn(from(select), reference);
    return found.length === 0 && certain;
  }

  function canonical(select: SelectStmt, expression: Node): string {
    return JSON.stringify(withoutPositions(expression), (_key, value: unknown) => {
      if (!isObject(value) || !isObject(value['ColumnRef'])) return value;
      const source = resolve(select, value['ColumnRef'] as ColumnRef);
      return source === null ? value : sourceId(source);
    });
  }

  function canonicalOutput(select: SelectStmt, output: Output): string {
    return output.value.kind === 'expression'
      ? canonical(select, output.value.node)
      : JSON.stringify(sourceId(output.value.source));
  }

  function canonicalItem(select: SelectStmt, item: GroupItem): string | null {
    if (item.kind === 'grouping_sets') return null;
    if (item.kind === 'expression') return canonical(select, item.node);
    const output = outputs(select)?.[item.index];
    return output === undefined ? null : canonicalOutput(select, output);
  }

  function functionName(call: FuncCall): readonly string[] {
    const parts = nameParts(call.funcname);
    const schema = parts.length === 1 ? familyOf(call)?.schema : null;
    return schema == null ? parts : [schema, ...parts];
  }

  const returnsSet = (call: FuncCall) => familyOf(call)?.returnsSet === true;

  return {
    references,
    from,
    outputs,
    groupItems,
    resolve,
    isOuter,
    functionName,
    returnsSet,
    canonical,
    canonicalOutput,
    canonicalItem,
  };
}

function findColumn(trees: readonly FromTree[], reference: ColumnRef): Found {
  const parts = nameParts(reference.fields);
  const [first, second, third] = parts;
  if (first === undefined || parts.includes(STAR)) return { found: [], certain: false };
  if (second === undefined) return lookUp(trees, null, first);
  if (third === undefined) return lookUp(trees, first, second);
  const { found, certain } = lookUp(trees, second, third);
  return { found: found.filter((source) => isTableOf(source, first)), certain: certain && parts.length === 3 };
}

/** `schema.table.column` means a table that has no alias. */
function isTableOf(source: ColumnSource, schema: string): boolean {
  if (source.kind !== 'column' || source.leaf.origin.kind !== 'table') return false;
  const { reference, relation } = source.leaf.origin;
  return reference.alias === undefined && relation.schema === schema;
}

function outputsOf(trees: readonly FromTree[], target: ResTarget): Output[] | null {
  const node = target.val;
  if (node === undefined || ('A_Indirection' in node && nameParts(node.A_Indirection.indirection).includes(STAR)))
    return null;
  const location = target.location ?? 0;
  const qualifier = 'ColumnRef' in node ? starQualifier(node.ColumnRef) : undefined;
  if (qualifier === undefined) {
    return [{ name: target.name ?? columnName(node), value: { kind: 'expression', node }, location }];
  }
  const columns = starColumns(trees, qualifier);
  return columns?.map(({ name, source }) => ({ name, value: { kind: 'source', source }, location })) ?? null;
}

/** null: a plain star; undefined: no star. */
function starQualifier(reference: ColumnRef): readonly string[] | undefined {
  const parts = nameParts(reference.fields);
  return parts.at(-1) === STAR ? parts.slice(0, -1) : undefined;
}

function starColumns(trees: readonly FromTree[], qualifier: readonly string[]): readonly VisibleColumn[] | null {
  const name = qualifier.at(-1);
  const lists = name === undefined ? trees.map(visibleColumns) : qualified(trees, name).map(visibleColumns);
  if (lists.length === 0 || (name !== undefined && lists.length > 1)) return null;
  return lists.every((list) => list !== null) ? lists.flat() : null;
}

/** Parts of the FROM clause that the name means. */
function qualified(trees: readonly FromTree[], name: string): FromTree[] {
  return trees.flatMap((tree) => {
    if (tree.kind === 'leaf') return tree.qualifier === name ? [tree] : [];
    if (tree.alias !== null) return tree.alias.name === name ? [tree] : [];
    return qualified([tree.left, tree.right], name);
  });
}

function sourceId(source: ColumnSource): string {
  return source.kind === 'column'
    ? `#${source.leaf.id}.${source.index}`
    : `(${sourceId(source.left)}=${sourceId(source.right)})`;
}

function valuesNames(lists: readonly Node[]): string[] | null {
  const [first] = lists;
  if (first === undefined || !('List' in first)) return null;
  return (first.List.items ?? []).map((_, index) => `column${index + 1}`);
}
