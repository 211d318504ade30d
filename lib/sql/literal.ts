import type { Node } from 'libpg-query';
import { nameParts } from './tree.ts';

/** A string constant, with the type it is cast to if any. */
export interface StringLiteral {
  readonly value: string;
  /** Name of the type without `pg_catalog`. */
  readonly type: string | null;
}

/** The constant that the expression is; null for anything else, for a cast to a type with modifiers, and for a cast of a cast. */
export function stringLiteral(expression: Node): StringLiteral | null {
  if ('A_Const' in expression) {
    const { sval } = expression.A_Const;
    return sval === undefined ? null : { value: sval.sval ?? '', type: null };
  }
  if (!('TypeCast' in expression)) return null;
  const { arg, typeName } = expression.TypeCast;
  if (arg === undefined || !('A_Const' in arg) || arg.A_Const.sval === undefined) return null;
  if (typeName?.typmods !== undefined || typeName?.arrayBounds !== undefined) return null;
  const names = nameParts(typeName?.names);
  const type = names.length === 2 && names[0] === 'pg_catalog' ? names[1] : names.length === 1 ? names[0] : undefined;
  return type === undefined ? null : { value: arg.A_Const.sval.sval ?? '', type };
}
