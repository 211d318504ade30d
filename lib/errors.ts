/** Every code a {@link SluiceError} carries. The runbook has one entry per code. */
export type ErrorCode =
  // bad input (HTTP 400)
  | 'invalid_request'
  | 'invalid_statement'
  // the query cannot be a flow (HTTP 422)
  | 'invalid_query'
  | 'invalid_option'
  | 'sink_mismatch'
  | 'unsupported_server'
  // 404, 409
  | 'flow_not_found'
  | 'table_not_found'
  | 'flow_exists'
  | 'sink_taken'
  | 'conflict'
  // the plan's own refusals
  | 'fenced'
  | 'history_diverged'
  | 'bounds_not_aligned'
  | 'duplicate_sink_key'
  | 'key_too_long'
  | 'source_shrunk'
  | 'sink_drifted'
  | 'sink_recreated'
  | 'query_failed'
  // passing faults (HTTP 503)
  | 'statement_timeout'
  | 'lock_timeout'
  | 'deadlock'
  | 'serialization_failure'
  | 'frontend_unavailable'
  | 'outcome_unknown'
  | 'store_unavailable'
  | 'throttled'
  | 'schedule_unavailable'
  | 'internal';

export interface ErrorDetails {
  /** 1-based character position in the text the user sent. */
  readonly position?: number;
  /** Who holds what the caller wanted. */
  readonly holder?: string;
  /** `fenced`: the epoch recorded in the sink's database. */
  readonly fence?: bigint;
  /** `history_diverged`: the epoch that the sink's database says was applied last. */
  readonly applied?: bigint;
  /** `source_shrunk`: time of the oldest row that the source still has, in microseconds; null where it has none. */
  readonly oldest?: bigint | null;
  /** `sink_drifted`: what has become of the sink, one finding each. */
  readonly diff?: readonly string[];
  /** `sink_recreated`: of the table that has the sink's name now. */
  readonly identity?: string;
  /** Several findings at once, such as each sink column that does not fit. */
  readonly problems?: readonly string[];
  readonly hint?: string;
}

/**
 * The one base class. `message` says what was given, what was expected and what to do; it may reach the user and the
 * log, so it never holds a secret or a row of user data. `retryable` lives in the error, not in who catches it.
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: ErrorDetails;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown; details?: ErrorDetails } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details ?? {};
  }
}
