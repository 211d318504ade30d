import type { IncomingHttpHeaders } from 'node:http';
import type { APIGatewayProxyEventV2, APIGatewayProxyResultV2 } from 'aws-lambda';

export interface HttpRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  /** Names in lower case; repeated ones joined, as Node does it. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly requestId: string;
  readonly epochMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** Media types whose body an HTTP API hands over as text; every other body is given in base64. */
const TEXT = /^(text\/|application\/(json|xml|javascript)\b|application\/[^;]+\+(json|xml)\b)/i;

/**
 * The event that an API Gateway HTTP API (payload format 2.0) makes of a request with the route `$default`. null: its path is no
 * valid URL path.
 *
 * An HTTP API hands over the path percent-decoded once, in `rawPath` too, so that `/flows/a%2Fb` and `/flows/a/b` are the same
 * event (honojs/hono#2156); the query string stays encoded. One thing is not copied: an HTTP API cuts the path
 * at a decoded `?`. A client that must reach a name with `?` encodes it twice.
 */
export function httpApiEvent(request: HttpRequest): APIGatewayProxyEventV2 | null {
  const mark = request.target.indexOf('?');
  const encodedPath = mark < 0 ? request.target : request.target.slice(0, mark);
  const rawQueryString = mark < 0 ? '' : request.target.slice(mark + 1);
  const path = decode(encodedPath);
  if (path === null || !path.startsWith('/')) return null;

  const { cookie, ...others } = request.headers;
  const headers = Object.fromEntries(
    Object.entries(others).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(',') : value]],
    ),
  );
  const query = queryParameters(rawQueryString);
  const isText = TEXT.test(request.headers['content-type'] ?? '');
  const host = request.headers.host ?? '';
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString,
    ...(cookie === undefined ? {} : { cookies: cookie.split(/;\s*/) }),
    headers,
    ...(query === null ? {} : { queryStringParameters: query }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName: host,
      domainPrefix: host.split('.', 1)[0] ?? '',
      http: {
        method: request.method,
        path,
        protocol: 'HTTP/1.1',
        sourceIp: request.sourceIp,
        userAgent: request.headers['user-agent'] ?? '',
      },
      requestId: request.requestId,
      routeKey: '$default',
      stage: '$default',
      time: commonLogTime(request.epochMs),
      timeEpoch: request.epochMs,
    },
    ...(request.body.length === 0 ? {} : { body: request.body.toString(isText ? 'utf8' : 'base64') }),
    isBase64Encoded: request.body.length > 0 && !isText,
  };
}

/** What an HTTP API answers for a handler's result: one without `statusCode` is the body of a 200 by itself. */
export function httpAnswer(result: APIGatewayProxyResultV2): HttpAnswer {
  if (typeof result === 'string') return answerJson(200, result);
  if (result === undefined || result === null) return answerJson(200, '');
  if (result.statusCode === undefined) return answerJson(200, JSON.stringify(result));
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(result.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (result.cookies !== undefined) headers['set-cookie'] = [...result.cookies];
  return {
    status: result.statusCode,
    headers,
    body: Buffer.from(result.body ?? '', result.isBase64Encoded === true ? 'base64' : 'utf8'),
  };
}

export function answerMessage(status: number, message: string): HttpAnswer {
  return answerJson(status, JSON.stringify({ message }));
}

function answerJson(status: number, body: string): HttpAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(body) };
}

/** Decoded; of a name that comes several times, the values joined by commas. null: no query string. */
function queryParameters(rawQueryString: string): Record<string, string> | null {
  if (rawQueryString === '') return null;
  const found = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    const before = found.get(name);
    found.set(name, before === undefined ? value : `${before},${value}`);
  }
  return Object.fromEntries(found);
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** `12/Mar/2020:19:03:58 +0000` */
function commonLogTime(epochMs: number): string {
  const [, day, month, year, time] = new Date(epochMs).toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}
