import { SluiceError } from '../errors.ts';

export type Method = 'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE';

/** A request as the routes see it, whatever carried it. */
export interface ApiRequest {
  readonly method: string;
  /**
   * Percent-decoded once, as an API Gateway HTTP API hands it over: a slash within a name looks like one between segments.
   */
  readonly path: string;
  /** Still encoded, without the question mark. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; empty where there is nothing to say. */
  readonly body: string;
}

/** A refusal whose status says more than its code: 404 of a path, 405, 413, 415. */
export class HttpError extends SluiceError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, options: { headers?: Record<string, string>; cause?: unknown } = {}) {
    super('invalid_request', message, options.cause === undefined ? {} : { cause: options.cause });
    this.status = status;
    this.headers = options.headers ?? {};
  }
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): ApiResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
