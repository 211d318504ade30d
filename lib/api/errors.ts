import { type ErrorCode, SluiceError } from '../errors.ts';
import { type ApiResponse, HttpError, json } from './http.ts';

/** Seconds after which a client may try again what failed for a passing reason. */
const RETRY_AFTER = '2';

const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  invalid_statement: 400,
  invalid_query: 422,
  invalid_option: 422,
  sink_mismatch: 422,
  unsupported_server: 422,
  flow_not_found: 404,
  table_not_found: 404,
  flow_exists: 409,
  sink_taken: 409,
  conflict: 409,
  fenced: 409,
  history_diverged: 409,
  bounds_not_aligned: 422,
  duplicate_sink_key: 422,
  source_shrunk: 503,
  key_too_long: 422,
  sink_drifted: 422,
  sink_recreated: 409,
  query_failed: 422,
  statement_timeout: 503,
  lock_timeout: 503,
  deadlock: 503,
  serialization_failure: 503,
  frontend_unavailable: 503,
  outcome_unknown: 503,
  store_unavailable: 503,
  throttled: 503,
  schedule_unavailable: 503,
  internal: 500,
};

export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status;
  if (!(error instanceof SluiceError)) return 500;
  return STATUS[error.code];
}

export function codeOf(error: unknown): ErrorCode {
  return error instanceof SluiceError ? error.code : 'internal';
}

/** The answer to a failed request. What is not a `SluiceError` is told without its message, which may hold anything. */
export function errorResponse(error: unknown, requestId: string): ApiResponse {
  const status = statusOf(error);
  const headers = {
    ...(error instanceof HttpError ? error.headers : {}),
    ...(status === 503 ? { 'retry-after': RETRY_AFTER } : {}),
  };
  if (!(error instanceof SluiceError) || error.code === 'internal') {
    const message = 'something went wrong inside of Sluice; its log says more under this request id';
    return json(status, { error: { code: 'internal', message, retryable: false, request_id: requestId } }, headers);
  }
  const { position, holder, problems, hint } = error.details;
  return json(
    status,
    {
      error: {
        code: error.code,
        message: error.message,
        retryable: error.retryable,
        ...(position === undefined ? {} : { position }),
        ...(holder === undefined ? {} : { holder }),
        ...(problems === undefined ? {} : { problems }),
        ...(hint === undefined ? {} : { hint }),
        request_id: requestId,
      },
    },
    headers,
  );
}
