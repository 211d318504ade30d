import middy from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import { codeOf, errorResponse, statusOf } from '../lib/api/errors.ts';
import { handleRequest } from '../lib/api/handle-request.ts';
import { SluiceError } from '../lib/errors.ts';
import { requestOf, resultOf } from './http-api.ts';
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
      const line = { requestId, method: http.method, path: event.rawPath, status: statusOf(error) };
      // The message of a refusal may quote what was sent, which is for the sender alone.
      if (line.status < 500) log.info({ ...line, code: codeOf(error) }, 'the request was refused');
      else log.error({ ...line, err: error }, 'the request failed');
    });
    return resultOf(response);
  }, options).onError(({ event, error }) => {
    log.error({ requestId: event.requestContext?.requestId, err: error }, 'the request failed');
    return resultOf(errorResponse(error, event.requestContext?.requestId ?? 'unknown'));
  });
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
