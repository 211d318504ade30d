import type { FuncCall, Node } from 'libpg-query';
import { builtinName, nameParts } from './tree.ts';

export type WindowFunction = 'date_bin' | 'date_trunc' | 'time_bucket';

/** A call of a function that cuts time into windows. */
export interface WindowCall {
  readonly name: WindowFunction;
  readonly call: FuncCall;
  /** `date_bin` and `time_bucket`: the stride; `date_trunc`: the unit. */
  readonly step: Node;
  /** The time that is put into a window. */
  readonly time: Node;
  /** `date_bin` and `time_bucket`: the origin; `date_trunc`: the zone. */
  readonly third: Node | null;
  readonly location: number;
}

/** null for any other expression. */
export function windowCall(expression: Node): WindowCall | null {
  if (!('FuncCall' in expression)) return null;
  const call = expression.FuncCall;
  const name = windowFunction(call);
  const [step, time, third = null, more] = call.args ?? [];
  if (name === null || step === undefined || time === undefined || more !== undefined || isUnusual(call)) return null;
  return { name, call, step, time, third, location: call.location ?? 0 };
}

function windowFunction(call: FuncCall): WindowFunction | null {
  const builtin = builtinName(call);
  if (builtin === 'date_bin' || builtin === 'date_trunc') return builtin;
  return nameParts(call.funcname).at(-1) === 'time_bucket' ? 'time_bucket' : null;
}

function isUnusual(call: FuncCall): boolean {
  const { agg_order, agg_filter, over, agg_within_group, agg_star, agg_distinct, func_variadic, args } = call;
  const named = args?.some((node) => 'NamedArgExpr' in node) === true;
  const flags = [agg_within_group, agg_star, agg_distinct, func_variadic];
  return named || agg_order !== undefined || agg_filter !== undefined || over !== undefined || flags.includes(true);
}
