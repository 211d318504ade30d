import type { Alias, JoinExpr, Node, RangeSubselect, RangeVar, SelectStmt } from 'libpg-query';
import type { Relation } from '../frontend/frontend.ts';
import type { Cte } from './references.ts';
import { nameParts } from './tree.ts';

/** A table, view, subquery, WITH query, function … in a FROM clause. */
export interface Leaf {
  readonly kind: 'leaf';
  readonly id: number;
  readonly origin: LeafOrigin;
  /** The name by which columns are qualified. */
  readonly qualifier: string | null;
  /** Names of its columns; null where they are not known here. */
  readonly columns: readonly string[] | null;
}

export type LeafOrigin =
  | { readonly kind: 'table'; readonly reference: RangeVar; readonly relation: Relation }
  | {
      readonly kind: 'query';
      readonly select: SelectStmt;
      readonly reference: RangeVar | null;
      readonly cte: Cte | null;
    }
  | { readonly kind: 'opaque' };

export interface Join {
  readonly kind: 'join';
  readonly type: 'inner' | 'left' | 'right' | 'full';
  readonly left: FromTree;
  readonly right: FromTree;
  /** Columns that USING or NATURAL merges. */
  readonly merged: readonly string[];
  readonly alias: { readonly name: string; readonly columns: readonly string[] } | null;
  readonly usingAlias: string | null;
}

export type FromTree = Leaf | Join;

/** Where a column of a FROM clause comes from. */
export type ColumnSource =
  | { readonly kind: 'column'; readonly leaf: Leaf; readonly index: number }
  | { readonly kind: 'merged'; readonly join: Join; readonly left: ColumnSource; readonly right: ColumnSource };

export interface VisibleColumn {
  readonly name: string;
  readonly source: ColumnSource;
}

/** What the builder has to know of the rest of the query. */
export interface FromContext {
  readonly relationOf: (reference: RangeVar) => Relation | null;
  readonly cteOf: (reference: RangeVar) => Cte | null;
  /** Names of a query's output columns; null where they are not known. */
  readonly outputNames: (select: SelectStmt) => readonly string[] | null;
  readonly nextId: () => number;
}

export function buildFromTree(node: Node, context: FromContext): FromTree {
  if ('RangeVar' in node) return tableOrCte(node.RangeVar, context);
  if ('RangeSubselect' in node) return subquery(node.RangeSubselect, context);
  if ('JoinExpr' in node) return join(node.JoinExpr, context);
  const alias = opaqueAlias(node);
  const origin = { kind: 'opaque' } as const;
  return { kind: 'leaf', id: context.nextId(), origin, qualifier: alias?.aliasname ?? null, columns: null };
}

function tableOrCte(reference: RangeVar, context: FromContext): Leaf {
  const cte = context.cteOf(reference);
  const qualifier = reference.alias?.aliasname ?? reference.relname ?? null;
  if (cte !== null) {
    const own = renamed(context.outputNames(cte.select), cte.columnNames);
    const origin = { kind: 'query', select: cte.select, reference, cte } as const;
    return {
      kind: 'leaf',
      id: context.nextId(),
      origin,
      qualifier,
      columns: renamed(own, aliasColumns(reference.alias)),
    };
  }
  const relation = context.relationOf(reference);
  if (relation === null) {
    return { kind: 'leaf', id: context.nextId(), origin: { kind: 'opaque' }, qualifier, columns: null };
  }
  const columns = renamed(
    relation.columns.map(({ name }) => name),
    aliasColumns(reference.alias),
  );
  return { kind: 'leaf', id: context.nextId(), origin: { kind: 'table', reference, relation }, qualifier, columns };
}

function subquery(node: RangeSubselect, context: FromContext): Leaf {
  const query = node.subquery;
  const qualifier = node.alias?.aliasname ?? null;
  const id = context.nextId();
  if (query === undefined || !('SelectStmt' in query)) {
    return { kind: 'leaf', id, origin: { kind: 'opaque' }, qualifier, columns: null };
  }
  const select = query.SelectStmt;
  const columns = renamed(context.outputNames(select), aliasColumns(node.alias));
  return { kind: 'leaf', id, origin: { kind: 'query', select, reference: null, cte: null }, qualifier, columns };
}

const JOIN_TYPES: Readonly<Record<string, Join['type']>> = {
  JOIN_INNER: 'inner',
  JOIN_LEFT: 'left',
  JOIN_RIGHT: 'right',
  JOIN_FULL: 'full',
};

function join(node: JoinExpr, context: FromContext): FromTree {
  const type = JOIN_TYPES[node.jointype ?? ''];
  if (node.larg === undefined || node.rarg === undefined || type === undefined) {
    return { kind: 'leaf', id: context.nextId(), origin: { kind: 'opaque' }, qualifier: null, columns: null };
  }
  const left = buildFromTree(node.larg, context);
  const right = buildFromTree(node.rarg, context);
  const alias = node.alias?.aliasname;
  return {
    kind: 'join',
    type,
    left,
    right,
    merged: node.isNatural === true ? commonNames(left, right) : nameParts(node.usingClause),
    alias: alias === undefined ? null : { name: alias, columns: aliasColumns(node.alias) },
    usingAlias: node.join_using_alias?.aliasname ?? null,
  };
}

function commonNames(left: FromTree, right: FromTree): string[] {
  const names = new Set(visibleColumns(right)?.map(({ name }) => name));
  return (visibleColumns(left) ?? []).map(({ name }) => name).filter((name) => names.has(name));
}

/** Columns as `*` lists them; null where some are not known. */
export function visibleColumns(tree: FromTree): readonly VisibleColumn[] | null {
  if (tree.kind === 'leaf') {
    return tree.columns?.map((name, index) => ({ name, source: { kind: 'column', leaf: tree, index } })) ?? null;
  }
  const left = visibleColumns(tree.left);
  const right = visibleColumns(tree.right);
  if (left === null || right === null) return null;
  const merged = tree.merged.flatMap((name) => mergedColumn(tree, left, right, name));
  const rest = [...left, ...right].filter(({ name }) => !tree.merged.includes(name));
  const names = tree.alias?.columns ?? [];
  return [...merged, ...rest].map((column, index) => ({ ...column, name: names[index] ?? column.name }));
}

function mergedColumn(
  tree: Join,
  left: readonly VisibleColumn[],
  right: readonly VisibleColumn[],
  name: string,
): VisibleColumn[] {
  const ofLeft = left.find((column) => column.name === name);
  const ofRight = right.find((column) => column.name === name);
  if (ofLeft === undefined || ofRight === undefined) return [];
  return [{ name, source: { kind: 'merged', join: tree, left: ofLeft.source, right: ofRight.source } }];
}

/** Names given by an alias replace the first ones. */
function renamed(columns: readonly string[] | null, names: readonly string[]): readonly string[] | null {
  return columns?.map((column, index) => names[index] ?? column) ?? null;
}

function aliasColumns(alias: Alias | undefined): string[] {
  return nameParts(alias?.colnames);
}

function opaqueAlias(node: Node): Alias | undefined {
  if ('RangeFunction' in node) return node.RangeFunction.alias;
  if ('RangeTableFunc' in node) return node.RangeTableFunc.alias;
  if ('JsonTable' in node) return node.JsonTable.alias;
  return undefined;
}
