import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiHandler, type HttpServer, startHttpServer } from '../../lib/local/http-server.ts';

describe('local HTTP server', () => {
  let server: HttpServer;
  let events: { event: APIGatewayProxyEventV2; context: Context }[];
  let errors: unknown[];
  let handler: ApiHandler;

  beforeEach(async () => {
    events = [];
    errors = [];
    handler = () =>
      Promise.resolve({ statusCode: 201, headers: { 'content-type': 'application/json' }, body: '{"ok":true}' });
    server = await startHttpServer({
      handler: (event, context) => {
        events.push({ event, context });
        return handler(event, context);
      },
      onError: (error) => void errors.push(error),
    });
  });
  afterEach(() => server.stop());

  it('hands a request to the handler as an HTTP API does, and its answer back', async () => {
    const response = await fetch(`${server.url}/flows/My%20Flow?limit=2`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', 'X-Twice': 'a' },
      body: '{"ä":1}',
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ ok: true });
    const [{ event, context } = expect.fail('no event')] = events;
    expect(event).toMatchObject({
      rawPath: '/flows/My Flow',
      rawQueryString: 'limit=2',
      body: '{"ä":1}',
      isBase64Encoded: false,
      headers: { 'content-type': 'application/json', 'x-twice': 'a' },
      requestContext: { http: { method: 'PUT', sourceIp: '127.0.0.1' } },
    });
    expect(context.awsRequestId).toBe(event.requestContext.requestId);
    expect(context.getRemainingTimeInMillis()).toBeGreaterThan(25_000);
    expect(context.getRemainingTimeInMillis()).toBeLessThanOrEqual(30_000);
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${server.url}/flows`, { method: 'HEAD' });
    expect(response.status).toBe(201);
    expect(await response.text()).toBe('');
  });

  it('hides why a handler failed, and tells it to the log', async () => {
    handler = () => Promise.reject(new Error('secret'));
    const response = await fetch(`${server.url}/flows`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ message: 'Internal Server Error' });
    expect(errors).toMatchObject([{ message: 'secret' }]);
  });

  it('takes a body of 10 MB and refuses a longer one', async () => {
    const post = async (length: number) =>
      (await fetch(`${server.url}/sql`, { method: 'POST', body: Buffer.alloc(length) })).status;
    expect(await post(10 * 1024 * 1024)).toBe(201);
    expect(await post(10 * 1024 * 1024 + 1)).toBe(413);
    expect(events).toHaveLength(1);
  });

  it('refuses a path that is not percent-encoded UTF-8', async () => {
    expect((await send({ path: '/flows/%FF' })).statusCode).toBe(400);
    expect(events).toEqual([]);
  });

  it.each([
    ['a foreign host, as a rebound DNS name sends it', { host: 'evil.example:8123' }, 421],
    ['a host that only begins like a local one', { host: '127.0.0.1.evil.example' }, 421],
    ['a web page of another origin', { origin: 'https://evil.example' }, 403],
    ['a web page without an origin of its own', { origin: 'null' }, 403],
    ['a web page of another local port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a cross-site navigation', { 'sec-fetch-site': 'cross-site' }, 403],
  ])('refuses %s', async (_who, headers, status) => {
    expect((await send({ method: 'POST', path: '/sql', headers })).statusCode).toBe(status);
    expect(events).toEqual([]);
  });

  it.each([
    ['no browser', {}],
    ['localhost', { host: 'localhost' }],
    ['LOCALHOST with the port', { host: 'LOCALHOST:80' }],
  ])('answers %s', async (_who, headers) => {
    expect((await send({ method: 'POST', path: '/sql', headers })).statusCode).toBe(201);
  });

  it('answers a page of its own', async () => {
    const headers = { origin: server.url, 'sec-fetch-site': 'same-origin' };
    expect((await send({ method: 'POST', path: '/sql', headers })).statusCode).toBe(201);
  });

  it('survives a client that hangs up in the middle of a request', async () => {
    const socket = connect(server.port, '127.0.0.1');
    await new Promise((resolve) =>
      socket.write('POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"half', resolve),
    );
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resetAndDestroy();
    await closed;
    expect((await send({ path: '/flows' })).statusCode).toBe(201);
    expect(errors).toEqual([]);
  });

  it('answers what runs when it is stopped, and takes nothing more', async () => {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    handler = async () => {
      reached.resolve();
      await gate.promise;
      return { statusCode: 200, body: 'late' };
    };
    const running = fetch(`${server.url}/flows`);
    await reached.promise;
    const stopped = server.stop();
    await expect(fetch(`${server.url}/flows`)).rejects.toThrow();
    gate.resolve();
    expect(await (await running).text()).toBe('late');
    await stopped;
  });

  function send(options: RequestOptions): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: server.port, ...options }, (response) => {
        response.resume().once('end', () => resolve(response));
      });
      sent.once('error', reject).end();
    });
  }
});
