import type { ColumnSource, FromTree, Join } from './from-tree.ts';
import { visibleColumns } from './from-tree.ts';

/**
 * What a column name may stand for within a FROM clause. `certain` is false where a part of it has columns that are not known
 * here (a function's, say): then `found` may lack some.
 */
export interface Found {
  readonly found: readonly ColumnSource[];
  readonly certain: boolean;
}

const NOTHING: Found = { found: [], certain: true };
const UNKNOWN: Found = { found: [], certain: false };

/** Columns that every table has and `*` does not list. */
export const SYSTEM_COLUMNS = ['ctid', 'xmin', 'xmax', 'cmin', 'cmax', 'tableoid'];

export function lookUp(trees: readonly FromTree[], qualifier: string | null, name: string): Found {
  return all(trees.map((tree) => lookUpIn(tree, qualifier, name)));
}

function lookUpIn(tree: FromTree, qualifier: string | null, name: string): Found {
  if (tree.kind === 'join') return lookUpInJoin(tree, qualifier, name);
  if (tree.columns === null) {
    return qualifier === null || tree.qualifier === null || qualifier === tree.qualifier ? UNKNOWN : NOTHING;
  }
  if (qualifier !== null && qualifier !== tree.qualifier) return NOTHING;
  const found = tree.columns.flatMap((column, index): ColumnSource[] => {
    return column === name ? [{ kind: 'column', leaf: tree, index }] : [];
  });
  return { found, certain: true };
}

function lookUpInJoin(tree: Join, qualifier: string | null, name: string): Found {
  if (tree.alias !== null && qualifier !== null) {
    // The alias hides the names of what is joined.
    return qualifier === tree.alias.name ? lookUpVisible(tree, name) : NOTHING;
  }
  if (tree.alias !== null) return lookUpVisible(tree, name);
  if (qualifier === null ? tree.merged.includes(name) : qualifier === tree.usingAlias) {
    return tree.merged.includes(name) ? lookUpVisible(tree, name) : NOTHING;
  }
  return all([lookUpIn(tree.left, qualifier, name), lookUpIn(tree.right, qualifier, name)]);
}

function lookUpVisible(tree: Join, name: string): Found {
  const columns = visibleColumns(tree);
  if (columns === null) return UNKNOWN;
  return { found: columns.filter((column) => column.name === name).map(({ source }) => source), certain: true };
}

function all(parts: readonly Found[]): Found {
  return { found: parts.flatMap(({ found }) => found), certain: parts.every(({ certain }) => certain) };
}
