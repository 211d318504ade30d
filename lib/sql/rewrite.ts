import { isObject } from './tree.ts';

/**
 * What a node becomes: the new node in its wrapper, such as `{ ColumnRef: … }`. `inside` rewrites a part of the old node that is
 * kept.
 */
export type Replacement = (inside: (part: unknown) => unknown) => object;

/** The tree with nodes replaced, found by identity. */
export function rewrite(value: unknown, replacements: ReadonlyMap<object, Replacement>): unknown {
  if (Array.isArray(value)) return value.map((each) => rewrite(each, replacements));
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (only !== undefined && entries.length === 1 && isObject(only[1])) {
    const replacement = replacements.get(only[1]);
    if (replacement !== undefined) return replacement((part) => rewrite(part, replacements));
  }
  return Object.fromEntries(entries.map(([key, child]) => [key, rewrite(child, replacements)]));
}
