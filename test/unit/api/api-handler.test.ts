import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { createApiHandler } from '../../../functions/api.ts';
import { SluiceError } from '../../../lib/errors.ts';
import { httpApiEvent } from '../../../lib/local/http-event.ts';
import { lambdaContext } from '../../../lib/local/lambda-context.ts';
import type { FlowStore } from '../../../lib/store/flow-store.ts';
import { createLogger } from '../../../lib/telemetry/logger.ts';
import { createMemoryEngine } from '../../support/memory-engine.ts';

async function setUp(wrap?: (store: FlowStore) => FlowStore) {
  const engine = createMemoryEngine(wrap);
  const lines: string[] = [];
  const log = createLogger({ level: 'trace', to: { write: (line) => void lines.push(line) } });
  const api = createApiHandler({ engine: engine.deps, log });
  return {
    engine,
    api,
    logged: () => lines.map((line) => JSON.parse(line)),
    call: async (method: string, target: string, body?: unknown, timeoutMs = 29_000) => {
      const answer = await api(eventOf(method, target, body), contextOf(timeoutMs));
      return { ...answer, json: answer.body === '' ? null : JSON.parse(answer.body ?? '') };
    },
  };
}

function eventOf(method: string, target: string, body?: unknown): APIGatewayProxyEventV2 {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const event = httpApiEvent({
    method,
    target,
    headers: { 'content-type': 'application/json' },
    body: bytes,
    sourceIp: '127.0.0.1',
    requestId: 'request-1',
    epochMs: 0,
  });
  if (event === null) throw new Error('no event');
  return event;
}

function contextOf(timeoutMs: number) {
  return lambdaContext({ functionName: 'api', requestId: 'r', timeoutMs, elapsed: () => performance.now() });
}

const broken = (error: unknown) => (store: FlowStore) => ({ ...store, list: () => Promise.reject(error) });

describe('API handler', () => {
  it('answers in the form of an HTTP API, and lets nothing be cached', async () => {
    const { call } = await setUp();
    expect(await call('GET', '/flows')).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      json: { flows: [] },
    });
  });

  it('reads a body that came in base64', async () => {
    const { api, engine } = await setUp();
    await engine.create('f');
    const event = eventOf('POST', '/flows/f/dirty-windows', { timestamps: ['2024-02-29T10:00:00Z'] });
    const encoded = { ...event, body: Buffer.from(event.body ?? '').toString('base64'), isBase64Encoded: true };
    expect(await api(encoded, contextOf(29_000))).toMatchObject({ statusCode: 200 });
  });

  it('says nothing of the inside of an unexpected error, but logs it under the request id', async () => {
    const { call, logged } = await setUp(broken(new TypeError('cannot read properties of undefined (hunter2)')));
    const answer = await call('GET', '/flows');
    expect(answer.statusCode).toBe(500);
    expect(answer.json.error).toMatchObject({ code: 'internal', request_id: 'request-1' });
    expect(answer.body).not.toContain('hunter2');
    expect(logged()).toMatchObject([
      {
        level: 'error',
        requestId: 'request-1',
        method: 'GET',
        path: '/flows',
        status: 500,
        err: { type: 'TypeError', stack: expect.any(Array) },
      },
    ]);
  });

  it('says of a passing fault when to come back', async () => {
    const { call, logged } = await setUp(broken(new SluiceError('throttled', 'too fast', { retryable: true })));
    expect(await call('GET', '/flows')).toMatchObject({
      statusCode: 503,
      headers: { 'retry-after': '2' },
      json: { error: { code: 'throttled', retryable: true } },
    });
    expect(logged()).toMatchObject([{ level: 'error', status: 503 }]);
  });

  it('answers before Lambda ends it, whatever hangs', async () => {
    const { call } = await setUp((store) => ({ ...store, list: () => new Promise(() => undefined) }));
    expect(await call('GET', '/flows', undefined, 520)).toMatchObject({
      statusCode: 503,
      json: { error: { code: 'outcome_unknown', retryable: true } },
    });
  });

  it('logs neither the text of a statement nor the times of rows', async () => {
    const { call, engine, logged } = await setUp();
    await engine.create('f');
    await call('POST', '/sql', { sql: "CREATE FLOW x SINK TO y AS SELEKT 'hunter2'" });
    await call('POST', '/sql', { sql: "hunter2 'hunter2'" });
    await call('POST', '/flows/f/dirty-windows', { timestamps: ['1999-12-31T00:00:00Z'] });
    await call('POST', '/flows/f/dirty-windows', { timestamp: ['1999-12-31T00:00:00Z'] });
    const text = JSON.stringify(logged());
    expect(logged()).toMatchObject([
      { code: 'invalid_query' },
      { code: 'invalid_statement' },
      { code: 'invalid_request' },
    ]);
    expect(text).not.toMatch(/SELEKT|hunter2|1999-12-31/);
  });

  it('fails neither on an event without a body nor on one of another kind', async () => {
    const { api, logged } = await setUp();
    const answer = await api({} as APIGatewayProxyEventV2, contextOf(29_000));
    expect(answer.statusCode).toBe(500);
    expect(logged()).toHaveLength(1);
  });

  it('gives the paged lists of the store', async () => {
    const { call, engine } = await setUp();
    for (const name of ['c', 'a', 'b']) await engine.create(name);
    const first = await call('GET', '/flows?limit=2');
    expect(first.json.flows.map(({ name }: { name: string }) => name)).toEqual(['a', 'b']);
    const second = await call('GET', `/flows?limit=2&cursor=${first.json.cursor}`);
    expect(second.json.flows.map(({ name }: { name: string }) => name)).toEqual(['c']);
  });

  it('shows a lease and a plan in flight', async () => {
    const { call, engine } = await setUp();
    await engine.create('f');
    const [stored] = engine.tables.states.values();
    const now = engine.now();
    const range = { start: now, end: now };
    engine.tables.states.set('f', {
      ...stored!,
      state: {
        ...stored!.state,
        epoch: 9007199254740993n,
        lease: { owner: 'w1', epoch: 9007199254740993n, expiresAt: now },
        inFlight: {
          epoch: 9007199254740993n,
          coverage: 'scoped_base_repair',
          ranges: [range],
          consumed: [],
          gridTime: null,
          startedAt: now,
          more: true,
        },
      },
    });
    const time = '2024-02-29T12:00:00.000000Z';
    expect((await call('GET', '/flows/f/state')).json).toMatchObject({
      epoch: '9007199254740993',
      lease: { owner: 'w1', epoch: '9007199254740993', expires_at: time, expired: true },
      in_flight: {
        coverage: 'scoped_base_repair',
        ranges: [[time, time]],
        started_at: time,
        more: true,
        grid_time: null,
      },
      next_run: { at: time, reason: 'a plan is in flight' },
    });
  });

  it('does not count windows as dirty that a committed plan has consumed', async () => {
    const { call, engine } = await setUp();
    await engine.create('f');
    const windows = [...(engine.tables.dirty.get('f')?.values() ?? [])];
    expect(windows).toHaveLength(1);
    expect((await call('GET', '/flows/f/state')).json.dirty.ranges).toHaveLength(1);
    const [stored] = engine.tables.states.values();
    const settle = windows.map((window) => ({ ...window, left: [] }));
    engine.tables.states.set('f', { ...stored!, state: { ...stored!.state, settle } });
    expect((await call('GET', '/flows/f/state')).json).toMatchObject({
      dirty: { ranges: [], more: false },
      next_run: { at: null, reason: 'no dirty windows' },
    });
  });

  it('flushes for no longer than the invocation lasts', async () => {
    const { call, engine } = await setUp();
    await engine.create('f');
    engine.database.source.set(1, { id: 1, time: engine.now(), key: 'a', value: 1 });
    const before = engine.now();
    const answer = await call('POST', '/flows/f/flush', undefined, 13_000);
    expect(answer).toMatchObject({ statusCode: 202, headers: { location: '/flows/f/state' } });
    const seconds = Number(engine.now() - before) / 1e6;
    expect(seconds).toBeGreaterThan(8);
    expect(seconds).toBeLessThanOrEqual(10.5);
    expect(engine.scheduled.at(-1)).toBe('tick f flush');
  });
});
