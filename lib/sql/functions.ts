import type { FuncCall, SelectStmt } from 'libpg-query';
import type { Frontend, FunctionFamily } from '../frontend/frontend.ts';
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
  'statement_timestamp',
  'mxid_age',
];

/** Not volatile to the server either, and answered for who asks and for where. The role and the database stay what they are. */
const OF_SESSION = [
  'current_setting',
  'inet_client_addr',
  'inet_client_port',
  'inet_server_addr',
  'inet_server_port',
  'pg_backend_pid',
  'pg_conf_load_time',
  'pg_cursor',
  'pg_is_other_temp_schema',
  'pg_listening_channels',
  'pg_my_temp_schema',
  'pg_postmaster_start_time',
  'pg_prepared_statement',
  'pg_prepared_xact',
  'pg_show_all_settings',
  'pg_trigger_depth',
];
const STATISTICS = /^pg_stat_get_/;

/**
 * What each call of the query may call. Refuses functions that give another answer each time they are asked: the sink could
 * never be compared with its query. Throws `invalid_query`.
 */
export async function resolveFunctions(
  source: SourceText,
  select: SelectStmt,
  frontend: Frontend,
): Promise<ReadonlyMap<FuncCall, FunctionFamily | null>> {
  const nows = new Set<object>(nowCalls(source, select).map(({ node }) => node));
  const calls: FuncCall[] = [];
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind === 'FuncCall' && !nows.has(node)) calls.push(node);
  }
  const references = new Map(calls.map((call) => [nameParts(call.funcname).join('\0'), reference(call)]));
  const described = references.size === 0 ? [] : await frontend.describeFunctions([...references.values()]);
  const families = new Map([...references.keys()].map((name, index) => [name, described[index] ?? null]));
  const found = new Map<FuncCall, FunctionFamily | null>();
  for (const call of calls) {
    const family = families.get(nameParts(call.funcname).join('\0')) ?? null;
    checkCall(source, call, family);
    found.set(call, family);
  }
  return found;
}

function reference(call: FuncCall): { readonly schema: string | null; readonly name: string } {
  const parts = nameParts(call.funcname);
  return { schema: parts.at(-2) ?? null, name: parts.at(-1) ?? '' };
}

function checkCall(source: SourceText, call: FuncCall, family: FunctionFamily | null): void {
  const { name } = reference(call);
  if (name === 'time_bucket' && family === null) {
    throw invalidQuery(
      source,
      call.location,
      "this database has no function time_bucket; use date_bin('5 minutes', time) or date_trunc('hour', time)",
    );
  }
  if (family?.volatility === 'volatile' || (builtinName(call) !== null && CHANGING.includes(name))) {
    throw invalidQuery(
      source,
      call.location,
      `${name}() may give another value at each call, so the sink could never be right`,
      { hint: 'For the time, use now() and an EVAL INTERVAL. A function of your own that only computes is IMMUTABLE.' },
    );
  }
  if (builtinName(call) !== null && (OF_SESSION.includes(name) || STATISTICS.test(name))) {
    throw invalidQuery(
      source,
      call.location,
      `${name}() is refused: its answer depends on the session, not on the rows`,
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
