import { SluiceError } from '../errors.ts';
import { readJsonBody } from './body.ts';
import { checkInput } from './check-input.ts';
import { errorResponse } from './errors.ts';
import { type ApiRequest, type ApiResponse, json } from './http.ts';
import type { Call } from './route.ts';
import { allowedMethods, findRoute } from './router.ts';
import { ROUTES } from './routes.ts';
import { strictObject } from './strict-object.ts';

const emptyBody = strictObject({});

/** Answers every request, failed ones too. `onError` is told what went wrong, before the answer is made of it. */
export async function handleRequest(
  call: Call,
  request: ApiRequest,
  requestId: string,
  onError: (error: unknown) => void,
): Promise<ApiResponse> {
  const response = await answer(call, request).catch((error: unknown) => {
    onError(error);
    return errorResponse(error, requestId);
  });
  return request.method === 'HEAD' ? { ...response, body: '' } : response;
}

async function answer(call: Call, request: ApiRequest): Promise<ApiResponse> {
  if (request.method === 'OPTIONS') {
    const allow = allowedMethods(ROUTES, request.path);
    if (allow !== null) return { status: 204, headers: { allow }, body: '' };
  }
  const { route, name } = findRoute(ROUTES, request.method, request.path);
  const query = checkInput(route.query, queryValues(request.query), 'query');
  const body = checkInput(route.body ?? emptyBody, readJsonBody(request.body, request.headers['content-type']), 'body');
  const outcome = await route.run(call, { name, query, body });
  return json(outcome.status, outcome.body, { 'cache-control': 'no-store', ...outcome.headers });
}

function queryValues(query: string): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (values.has(name)) {
      throw new SluiceError(
        'invalid_request',
        `query: ${JSON.stringify(name.slice(0, 100))} is given twice; give it once`,
      );
    }
    values.set(name, value);
  }
  return Object.fromEntries(values);
}
