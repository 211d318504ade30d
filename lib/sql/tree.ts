import type { FuncCall, Node, SelectStmt } from 'libpg-query';

/** Any object of a parse tree. */
export type TreeObject = Readonly<Record<string, unknown>>;

/** A node with the kind that its wrapper or its field names. */
export interface KnownNode {
  readonly kind: string;
  readonly node: TreeObject;
}

/** Every node under `root`, parents first, in order of appearance. Trees are as deep as the user made them: no recursion. */
export function* nodesUnder(root: unknown): Generator<KnownNode> {
  const open: { readonly kind: string | null; readonly value: unknown }[] = [{ kind: null, value: root }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { kind, value } = next;
    if (Array.isArray(value)) {
      for (const each of value.toReversed()) open.push({ kind: null, value: each });
    } else if (isObject(value)) {
      if (kind !== null) yield { kind, node: value };
      for (const [key, child] of Object.entries(value).toReversed())
        open.push({ kind: childKind(kind, key), value: child });
    }
  }
}

/** Levels of nesting under `root`. */
export function depthOf(root: unknown): number {
  let deepest = 0;
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (depth > deepest) deepest = depth;
    if (typeof value !== 'object' || value === null) continue;
    for (const child of Object.values(value)) open.push({ value: child, depth: depth + 1 });
  }
  return deepest;
}

/** A wrapper's key is the kind of its node; the branches of a set operation are the only unwrapped nodes that matter here. */
function childKind(parent: string | null, key: string): string | null {
  if (/^[A-Z]/.test(key)) return key;
  return parent === 'SelectStmt' && (key === 'larg' || key === 'rarg') ? 'SelectStmt' : null;
}

export function isObject(value: unknown): value is TreeObject {
  return typeof value === 'object' && value !== null;
}

const POSITION_FIELD =
  /^(?:location|stmt_location|stmt_len|.*_location|list_start|list_end|rexpr_list_start|rexpr_list_end)$/;

/** The tree without what depends on where it was written: equal for texts that mean the same. */
export function withoutPositions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPositions);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !POSITION_FIELD.test(key));
  return Object.fromEntries(
    kept.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, child]) => [key, withoutPositions(child)]),
  );
}

/** Stands for a star in a list of names. No name holds NUL, and one may well be `*`. */
export const STAR = '\0*';

/** The text of each part of a list of `String` nodes; a star counts as {@link STAR}. */
export function nameParts(list: readonly Node[] | undefined): string[] {
  return (list ?? []).map((node) => {
    if ('String' in node) return node.String.sval ?? '';
    return 'A_Star' in node ? STAR : '';
  });
}

/** The function's name without `pg_catalog`; null for a function of another schema. */
export function builtinName(call: FuncCall): string | null {
  const [first, second] = nameParts(call.funcname);
  if (second === undefined) return first ?? null;
  return first === 'pg_catalog' ? second : null;
}

export function isSetOperation(select: SelectStmt): boolean {
  return select.op !== undefined && select.op !== 'SETOP_NONE';
}

/** The SELECTs and VALUES that set operations put together; the query itself where there are none. The first one names the columns. */
export function branchesOf(select: SelectStmt): readonly [SelectStmt, ...SelectStmt[]] {
  const { larg, rarg } = select;
  if (!isSetOperation(select) || larg === undefined || rarg === undefined) return [select];
  const [first, ...rest] = branchesOf(larg);
  return [first, ...rest, ...branchesOf(rarg)];
}

/** Where an expression begins; -1 if the tree does not say. The location of an operator's node is that of the operator. */
export function startOf(root: unknown): number {
  let first = -1;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (!isObject(value)) continue;
    const { location } = value;
    if (typeof location === 'number' && location >= 0 && (first === -1 || location < first)) first = location;
    open.push(...Object.values(value));
  }
  return first;
}
