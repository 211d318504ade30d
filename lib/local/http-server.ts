import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { APIGatewayProxyEventV2, APIGatewayProxyResultV2, Context } from 'aws-lambda';
import { SluiceError } from '../errors.ts';
import { freePort, LOOPBACK, type PortWish } from './free-port.ts';
import { answerMessage, type HttpAnswer, httpAnswer, httpApiEvent } from './http-event.ts';
import { lambdaContext } from './lambda-context.ts';

export type ApiHandler = (event: APIGatewayProxyEventV2, context: Context) => Promise<APIGatewayProxyResultV2>;

export interface HttpServerOptions {
  readonly handler: ApiHandler;
  readonly port?: PortWish;
  /** Told when the handler throws, which a client sees as a 500 without a reason. */
  readonly onError: (error: unknown) => void;
}

export interface HttpServer {
  readonly port: number;
  readonly url: string;
  /** No request is taken any more; those that run have two seconds to be answered. */
  stop(): Promise<void>;
}

/** API Gateway's limits: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const LARGEST_BODY = 10 * 1024 * 1024;
const INTEGRATION_TIMEOUT_MS = 30_000;
const LONGEST_FAREWELL_MS = 2_000;

/**
 * An HTTP API in front of one handler, for this machine only. Nobody has to log in, so requests that a web page makes the
 * user's browser send are refused: by the host they were meant for (DNS rebinding) and by the page they come from.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = createServer((request, response) => {
    answer(request, options).then(
      (result) => {
        // A kept connection would hold up the end.
        response.shouldKeepAlive &&= server.listening;
        send(response, result);
      },
      (error: unknown) => {
        if (request.errored !== null) return; // the client has hung up
        options.onError(error);
        send(response, answerMessage(500, 'Internal Server Error'));
      },
    );
  });
  const port = await listen(server, options.port);
  return {
    port,
    url: `http://${LOOPBACK}:${port}`,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const tooLong = setTimeout(() => server.closeAllConnections(), LONGEST_FAREWELL_MS);
      await closed;
      clearTimeout(tooLong);
    },
  };
}

async function answer(request: IncomingMessage, options: HttpServerOptions): Promise<HttpAnswer> {
  const refusal = refuseForeign(request);
  if (refusal !== null) return refusal;
  const body = await readBody(request);
  if (body === null) return answerMessage(413, 'Request Entity Too Large');
  const requestId = randomUUID();
  const event = httpApiEvent({
    method: request.method ?? 'GET',
    target: request.url ?? '/',
    headers: request.headers,
    body,
    sourceIp: request.socket.remoteAddress ?? LOOPBACK,
    requestId,
    epochMs: Date.now(),
  });
  if (event === null) return answerMessage(400, 'Bad Request');

  const context = lambdaContext({
    functionName: 'sluice-api',
    requestId,
    timeoutMs: INTEGRATION_TIMEOUT_MS,
    elapsed: () => performance.now(),
  });
  const late = Promise.withResolvers<HttpAnswer>();
  const timer = setTimeout(() => late.resolve(answerMessage(503, 'Service Unavailable')), INTEGRATION_TIMEOUT_MS);
  try {
    return await Promise.race([options.handler(event, context).then(httpAnswer), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function refuseForeign(request: IncomingMessage): HttpAnswer | null {
  const host = request.headers.host;
  if (host === undefined || !isLocalHost(host)) {
    return answerMessage(421, `This API answers to ${LOOPBACK} and localhost only.`);
  }
  const origin = request.headers.origin;
  if (origin !== undefined && origin !== `http://${host}`) {
    return answerMessage(403, 'This API does not answer to web pages of other origins.');
  }
  if (request.headers['sec-fetch-site'] === 'cross-site') {
    return answerMessage(403, 'This API does not answer to web pages of other origins.');
  }
  return null;
}

function isLocalHost(host: string): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/i.test(host);
}

/** null: longer than API Gateway lets through. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The rest is read and dropped: a client that is still sending would not see the answer.
    if (length <= LARGEST_BODY) chunks.push(chunk);
    else chunks.length = 0;
  }
  return length > LARGEST_BODY ? null : Buffer.concat(chunks);
}

function send(response: ServerResponse, result: HttpAnswer): void {
  if (response.destroyed) return;
  response.writeHead(result.status, { ...result.headers, 'content-length': result.body.length });
  response.end(response.req.method === 'HEAD' ? undefined : result.body);
}

async function listen(server: Server, wish: PortWish): Promise<number> {
  const taken = new Set<number>();
  for (;;) {
    const port = await freePort(wish, taken);
    const outcome = Promise.withResolvers<NodeJS.ErrnoException | null>();
    server.once('error', outcome.resolve);
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => outcome.resolve(null));
    const error = await outcome.promise;
    server.removeListener('error', outcome.resolve);
    if (error === null) return port;
    if (error.code !== 'EADDRINUSE')
      throw new SluiceError('internal', `The HTTP server cannot listen: ${error.message}`);
    taken.add(port);
  }
}
