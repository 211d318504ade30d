import { DatabaseError } from 'pg';
import { type ErrorCode, type ErrorDetails, SluiceError } from '../../errors.ts';
import type { TableName } from '../../flow/definition.ts';

/** What the failed message was for; decides how an error that has several meanings is read. */
export interface Purpose {
  /** Completes "… failed". */
  readonly doing: string;
  /** The table that is written, so that a violation of its unique key is told from another one's. */
  readonly sink?: TableName;
}

/** The socket failed, or no answer came in time. */
export class ConnectionLost extends Error {
  /** False when it is certain that the message never reached the server. */
  readonly sent: boolean;

  constructor(reason: string, sent: boolean, options: { readonly cause?: unknown } = {}) {
    super(reason, options);
    this.name = 'ConnectionLost';
    this.sent = sent;
  }
}

/** SQLSTATE (PostgreSQL's documentation, appendix A) to code; all of these are passing faults. */
const PASSING: Readonly<Record<string, ErrorCode>> = {
  '57014': 'statement_timeout',
  '55P03': 'lock_timeout',
  '40P01': 'deadlock',
  '40001': 'serialization_failure',
};

/**
 * Translates what a server or socket threw. A message of the server is passed on only where it speaks of names and not of
 * values; DETAIL, which quotes rows, never is. For the same reason the original is not kept as the cause.
 */
export function translate(error: unknown, { doing, sink }: Purpose): unknown {
  if (error instanceof ConnectionLost) {
    return unavailable(`${doing} failed: the connection to the database was lost (${error.message})`);
  }
  if (!(error instanceof DatabaseError)) return error;
  const state = error.code ?? 'XX000';
  const passing = PASSING[state];
  if (passing !== undefined) {
    return new SluiceError(passing, `${doing} failed: ${shownMessage(error)}`, { retryable: true });
  }
  if (isUnavailable(state)) {
    return unavailable(`${doing} failed: ${shownMessage(error)}`, hintFor(state));
  }
  if (sink !== undefined && state === '23505' && error.schema === sink.schema && isOf(error, sink)) {
    return new SluiceError(
      'duplicate_sink_key',
      `${doing} failed: a row of the query's result repeats a unique key of the sink, index ${error.constraint ?? 'unknown'}; ` +
        'the query must give each key once',
    );
  }
  if (sink !== undefined && state === '54000' && isIndexRowTooLong(error)) {
    return new SluiceError(
      'key_too_long',
      `${doing} failed: a key of the query's result is too long for the sink's unique index (${error.message}); shorten the group key`,
    );
  }
  return failure('query_failed', error, doing);
}

export function failure(code: ErrorCode, error: DatabaseError, doing: string, position?: number): SluiceError {
  const hint = hintFor(error.code ?? '');
  const details: ErrorDetails = {
    ...(position === undefined ? {} : { position }),
    ...(hint === undefined ? {} : { hint }),
  };
  return new SluiceError(code, `${doing} failed: ${shownMessage(error)}`, { details });
}

function unavailable(message: string, hint?: string): SluiceError {
  return new SluiceError('frontend_unavailable', message, {
    retryable: true,
    ...(hint === undefined ? {} : { details: { hint } }),
  });
}

/** Why a connection could not be opened. The message holds neither user, password nor address. */
export function connectFailure(error: unknown): SluiceError {
  if (error instanceof DatabaseError) {
    const state = error.code ?? '';
    if (state.startsWith('28')) {
      return unavailable(
        `the database refused the login (SQLSTATE ${state})`,
        'check user, password and the rules of pg_hba.conf for this connection',
      );
    }
    if (state === '3D000') {
      return unavailable(
        'the database of this connection does not exist (SQLSTATE 3D000)',
        'check the database name of the connection',
      );
    }
    return unavailable(`the database refused the connection: ${shownMessage(error)}`, hintFor(state));
  }
  return unavailable(
    `the database could not be reached (${socketReason(error)})`,
    'check host, port, TLS settings and the network path of this connection',
  );
}

/** Of the message that opens a transaction, in which the time zone alone can be refused so. */
export function isUnknownZone(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22023';
}

export function unknownZone(timeZone: string): SluiceError {
  return new SluiceError(
    'invalid_option',
    `the time zone ${JSON.stringify(timeZone)} is not known to the server; give an IANA name`,
  );
}

/** A code or a fixed phrase: the text of a socket error may quote an address, that of a login error a user. */
export function socketReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if ('code' in error && typeof error.code === 'string') return error.code;
  for (const phrase of [
    'timeout expired',
    'Connection terminated',
    'does not support SSL',
    'establishing an SSL',
    'SASL',
    'assword',
  ]) {
    if (error.message.includes(phrase)) return PHRASES[phrase] ?? phrase;
  }
  return error.name;
}

const PHRASES: Readonly<Record<string, string>> = {
  'timeout expired': 'no answer in time',
  'Connection terminated': 'the connection ended',
  'does not support SSL': 'the server does not support TLS',
  'establishing an SSL': 'TLS could not be established',
  SASL: 'the login failed: a password is missing or of the wrong kind',
  assword: 'the login failed: no usable password',
};

/** Connection exceptions, exhausted resources, shutdown, and a server that has become a standby. */
export function isUnavailable(state: string): boolean {
  return (
    state.startsWith('08') ||
    state.startsWith('28') ||
    state.startsWith('53') ||
    ['57P01', '57P02', '57P03', '57P05', '25P03', '25P04', '25006', '3D000', '58030'].includes(state)
  );
}

function hintFor(state: string): string | undefined {
  switch (state) {
    case '25006':
      return 'the connection leads to a read-only server; point it at the primary';
    case '53300':
      return 'the server has no free connections; raise max_connections or put a pooler in front of it';
    case '42501':
      return 'grant the missing privilege to the role of this connection';
    default:
      return undefined;
  }
}

/**
 * Whether the server's words name things (tables, settings, limits) or may quote values. Data exceptions, errors
 * raised by user code and those of foreign servers may.
 */
function shownMessage(error: DatabaseError): string {
  const state = error.code ?? 'XX000';
  const namesOnly = ['08', '0A', '23', '25', '28', '2B', '3D', '3F', '40', '42', '53', '54', '55', '57', '58'];
  const raisedByUser = error.routine === 'exec_stmt_raise';
  if (!raisedByUser && namesOnly.includes(state.slice(0, 2))) return `${error.message} (SQLSTATE ${state})`;
  return `${CONDITIONS[state] ?? CONDITIONS[state.slice(0, 2)] ?? 'error'} (SQLSTATE ${state})`;
}

/** Condition names of the errors that queries over data end in most often, and of whole classes. */
const CONDITIONS: Readonly<Record<string, string>> = {
  '22': 'data exception',
  '22001': 'string_data_right_truncation',
  '22003': 'numeric_value_out_of_range',
  '22004': 'null_value_not_allowed',
  '22007': 'invalid_datetime_format',
  '22008': 'datetime_field_overflow',
  '22011': 'substring_error',
  '22012': 'division_by_zero',
  '22015': 'interval_field_overflow',
  '2201B': 'invalid_regular_expression',
  '2201E': 'invalid_argument_for_logarithm',
  '2201F': 'invalid_argument_for_power_function',
  '22021': 'character_not_in_repertoire',
  '22023': 'invalid_parameter_value',
  '22030': 'duplicate_json_object_key_value',
  '22032': 'invalid_json_text',
  '22P02': 'invalid_text_representation',
  '22P03': 'invalid_binary_representation',
  '21000': 'cardinality_violation',
  '38': 'external_routine_exception',
  '39': 'external_routine_invocation_exception',
  HV: 'fdw_error',
  P0: 'plpgsql_error',
  P0001: 'raise_exception',
  XX: 'internal_error',
};

/** A violation in a partition names the partition; its schema is all that can be compared without another question. */
function isOf(error: DatabaseError, sink: TableName): boolean {
  return error.table === sink.table || error.constraint?.startsWith(sink.table.slice(0, 20)) === true;
}

/** By the server's own function names, which no locale translates (`nbtutils.c`, `indextuple.c`). */
function isIndexRowTooLong(error: DatabaseError): boolean {
  return (
    ['_bt_check_third_page', 'index_form_tuple', 'index_form_tuple_context'].includes(error.routine ?? '') ||
    /index row (size|requires)/.test(error.message)
  );
}
