import { quoteLiteral } from './sql-text.ts';

export interface SessionSettings {
  readonly timeZone: string;
  readonly readOnly: boolean;
  /** Milliseconds; 0 would mean no limit and is never used. */
  readonly statementMs: number;
  readonly lockMs: number;
  readonly idleMs: number;
  /** Of the whole transaction, on servers that know such a limit (17 and newer). */
  readonly transactionMs: number;
}

/**
 * Opens a transaction in which a query means the same for every role, database and pooled connection. Nothing outlives the
 * transaction, so a connection may be shared through a pooler. The path comes first: what follows is resolved by it.
 */
export function beginTransaction(settings: SessionSettings): string {
  const { statementMs, lockMs, idleMs, transactionMs } = settings;
  return [
    `BEGIN ISOLATION LEVEL READ COMMITTED, READ ${settings.readOnly ? 'ONLY' : 'WRITE'}`,
    'SET LOCAL search_path = pg_catalog, public, pg_temp',
    `SET LOCAL statement_timeout = ${whole(statementMs)}`,
    `SET LOCAL lock_timeout = ${whole(lockMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${whole(idleMs)}`,
    transactionTimeout(transactionMs),
    "SET LOCAL client_encoding = 'UTF8'",
    'SET LOCAL standard_conforming_strings = on',
    'SET LOCAL transform_null_equals = off',
    "SET LOCAL DateStyle = 'ISO, MDY'",
    "SET LOCAL IntervalStyle = 'postgres'",
    'SET LOCAL extra_float_digits = 1',
    "SET LOCAL bytea_output = 'hex'",
    // Compiling a statement of this many parts costs more than running it over a few windows.
    'SET LOCAL jit = off',
    // Last, because it alone can be refused.
    `SET LOCAL TimeZone = ${quoteLiteral(settings.timeZone)}`,
  ].join(';\n');
}

/** Shorter than the limit of the statement that waits, so that the error tells what the time was lost to. */
export function lockLimit(statementMs: number): number {
  return Math.floor(statementMs * 0.8);
}

export function limitStatement(ms: number): string {
  return `SET LOCAL statement_timeout = ${whole(ms)}`;
}

/** Servers before 17 do not know the setting. Setting it to 0 first re-arms a limit that a role brought along. */
function transactionTimeout(ms: number): string {
  const set = (value: string) => `pg_catalog.set_config('transaction_timeout', '${value}', true)`;
  return `SELECT CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 >= 170000
THEN ${set('0')} || ${set(whole(ms))} END`;
}

function whole(ms: number): string {
  return String(Math.max(1, Math.floor(ms)));
}
