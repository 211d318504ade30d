import middy from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import { errorResponse, statusOf } from '../lib/api/errors.ts';
import { handleRequest } from '../lib/api/handle-request.ts';
import type { ApiRequest, ApiResponse } from '../lib/api/http.ts';
import { SluiceError } from '../lib/errors.ts';
import { type HandlerDeps, onFirstEvent } from './runtime.ts';

export type ApiHandler = (
  event: APIGatewayProxyEventV2,
  context: Context,
) => Promise<APIGatewayProxyStructuredResultV2>;

/** Before Lambda ends the invocation, in which case the client would learn nothing. */
const ANSWER_BEFORE_END_MS = 500;

/** The API behind an API Gateway HTTP API, payload format 2.0. Answers every request; never throws for one. */
export function createApiHandler({ engine, log }: HandlerDeps): ApiHandler {
  const options = { timeoutEarlyInMillis: ANSWER_BEFORE_END_MS, timeoutEarlyResponse: outOfTime };
  return middy(async (event: APIGatewayProxyEventV2, context: Context) => {
    const { requestId, http } = event.requestContext;
    const call = { deps: { engine }, millisLeft: context.getRemainingTimeInMillis() };
    const response = await handleRequest(call, requestOf(event), requestId, (error) => {
      const line = { requestId, method: http.method, path: event.rawPath, status: statusOf(error), err: error };
      if (line.status >= 500) log.error(line, 'the request failed');
      else log.info(line, 'the request was refused');
    });
    return resultOf(response);
  }, options).onError(({ event, error }) => {
    log.error({ requestId: event.requestContext?.requestId, err: error }, 'the request failed');
    return resultOf(errorResponse(error, event.requestContext?.requestId ?? 'unknown'));
  });
}

function requestOf(event: APIGatewayProxyEventV2): ApiRequest {
  return {
    method: event.requestContext.http.method,
    path: event.rawPath,
    query: event.rawQueryString,
    headers: event.headers,
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  };
}

function resultOf({ status, headers, body }: ApiResponse): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}

function outOfTime(): never {
  throw new SluiceError(
    'outcome_unknown',
    'the request took too long and may or may not have been carried out; look, then try again',
    {
      retryable: true,
    },
  );
}

export const handler: ApiHandler = onFirstEvent(createApiHandler);
