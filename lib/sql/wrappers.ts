import type { Node } from 'libpg-query';
import type { TimeColumnType } from '../flow/definition.ts';
import { stringLiteral } from './literal.ts';
import { builtinName, nameParts } from './tree.ts';

/** What may stand around a time value without hiding it: a cast to a time type, or AT TIME ZONE with a constant zone. */
export type Wrapper =
  | { readonly kind: 'cast'; readonly type: TimeColumnType }
  | { readonly kind: 'at_time_zone'; readonly zone: string };

/** An expression without its wrappers, which come outermost first. */
export interface Unwrapped {
  readonly inner: Node;
  readonly wrappers: readonly Wrapper[];
}

export function unwrap(expression: Node): Unwrapped {
  const wrappers: Wrapper[] = [];
  let inner = expression;
  for (;;) {
    const next = unwrapOnce(inner);
    if (next === null) return { inner, wrappers };
    wrappers.push(next.wrapper);
    inner = next.inner;
  }
}

/** The expression, what it wraps, and so on down to the inner one. */
export function layers(expression: Node): Node[] {
  const next = unwrapOnce(expression);
  return next === null ? [expression] : [expression, ...layers(next.inner)];
}

function unwrapOnce(node: Node): { inner: Node; wrapper: Wrapper } | null {
  if ('TypeCast' in node) {
    const { arg, typeName } = node.TypeCast;
    const type = timeType(nameParts(typeName?.names));
    if (arg === undefined || type === null || typeName?.typmods !== undefined || typeName?.arrayBounds !== undefined)
      return null;
    return { inner: arg, wrapper: { kind: 'cast', type } };
  }
  if ('FuncCall' in node && builtinName(node.FuncCall) === 'timezone') {
    const [zone, value, more] = node.FuncCall.args ?? [];
    const name = zone === undefined ? null : stringLiteral(zone);
    if (name === null || value === undefined || more !== undefined) return null;
    return { inner: value, wrapper: { kind: 'at_time_zone', zone: name.value } };
  }
  return null;
}

/** `timestamp` and the like by any of their spellings; null for other types. */
function timeType(names: readonly string[]): TimeColumnType | null {
  const [first, second] = names;
  const name = second === undefined ? first : first === 'pg_catalog' ? second : undefined;
  return name === 'timestamptz' || name === 'timestamp' || name === 'date' ? name : null;
}
