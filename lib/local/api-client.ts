import type { z } from 'zod';
import type { stateAnswer } from '../api/response-schemas.ts';
import { SluiceError } from '../errors.ts';

export type StateAnswer = z.output<typeof stateAnswer>;

/** The API as any other client sees it. */
export interface ApiClient {
  /** Runs one statement, such as CREATE FLOW. */
  sql(statement: string): Promise<void>;
  state(flow: string): Promise<StateAnswer>;
}

/** Throws `invalid_request` with the API's own message where it refuses. */
export function apiClient(url: string, signal: AbortSignal): ApiClient {
  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(url + path, {
      method,
      signal,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (response.ok) return answer;
    const message = (answer as { error?: { message?: string } }).error?.message ?? `status ${response.status}`;
    throw new SluiceError('invalid_request', `${method} ${path}: ${message}`);
  }
  return {
    async sql(statement) {
      await call('POST', '/sql', { sql: statement });
    },
    async state(flow) {
      return (await call('GET', `/flows/${encodeURIComponent(flow)}/state`)) as StateAnswer;
    },
  };
}
