import type { FuncCall, SelectStmt } from 'libpg-query';
import type { Frontend } from '../frontend/frontend.ts';
import { nowCalls } from './now-calls.ts';
import { invalidQuery, type SourceText } from './source-text.ts';
import { builtinName, nameParts, nodesUnder } from './tree.ts';

/** Not volatile to the server, since they stand still within a transaction; yet each run gets another answer. */
const CHANGING = [
  'txid_current',
  'txid_current_if_assigned',
  'txid_current_snapshot',
  'pg_current_xact_id',
  'pg_current_xact_id_if_assigned',
  'pg_current_snapshot',
];

/**
 * Refuses functions that give another answer each time they are asked: the sink could never be compared with its query. Throws
 * `invalid_query`.
 */
export async function checkFunctions(source: SourceText, select: SelectStmt, frontend: Frontend): Promise<void> {
  const calls = functionCalls(select);
  const nowNodes = new Set<object>(nowCalls(source, select).map(({ node }) => node));
  const names = [...new Set(calls.filter((call) => !nowNodes.has(call)).map(functionName))];
  const volatility = names.length === 0 ? new Map<string, string>() : await frontend.describeFunctions(names);
  for (const call of calls) {
    if (nowNodes.has(call)) continue;
    const name = functionName(call);
    if (name === 'time_bucket' && !volatility.has(name)) {
      throw invalidQuery(
        source,
        call.location,
        "this database has no function time_bucket; use date_bin('5 minutes', time) or date_trunc('hour', time)",
      );
    }
    if (volatility.get(name) === 'volatile' || (builtinName(call) !== null && CHANGING.includes(name))) {
      throw invalidQuery(
        source,
        call.location,
        `${name}() gives another value at each call, so the sink could never be right`,
        {
          hint: 'For the time, use now() and an EVAL INTERVAL.',
        },
      );
    }
    if (builtinName(call) === 'age' && call.args?.length === 1) {
      throw invalidQuery(
        source,
        call.location,
        'age() of one argument counts to today; give both, as in age(now(), time)',
      );
    }
  }
}

function functionCalls(select: SelectStmt): FuncCall[] {
  const found: FuncCall[] = [];
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) if (kind === 'FuncCall') found.push(node);
  return found;
}

function functionName(call: FuncCall): string {
  return nameParts(call.funcname).at(-1) ?? '';
}
