import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { ApiRequest, ApiResponse } from '../lib/api/http.ts';

/** A request as an API Gateway HTTP API hands it over, payload format 2.0. */
export function requestOf(event: APIGatewayProxyEventV2): ApiRequest {
  return {
    method: event.requestContext.http.method,
    path: event.rawPath,
    query: event.rawQueryString,
    headers: event.headers,
    body: Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'),
  };
}

export function resultOf({ status, headers, body }: ApiResponse): APIGatewayProxyStructuredResultV2 {
  return { statusCode: status, headers: { ...headers }, body };
}
