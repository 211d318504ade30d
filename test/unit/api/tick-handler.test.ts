import type { Context } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { createTickHandler, type TickEvent } from '../../../functions/tick.ts';
import { SluiceError } from '../../../lib/errors.ts';
import { lambdaContext } from '../../../lib/local/lambda-context.ts';
import { createLogger } from '../../../lib/telemetry/logger.ts';
import { HOUR, plus } from '../../../lib/window/instant.ts';
import { createMemoryEngine, type MemoryEngine } from '../../support/memory-engine.ts';

function context(timeoutMs = 30_000): Context {
  return lambdaContext({ functionName: 'tick', requestId: 'request-1', timeoutMs, elapsed: () => 0 });
}

function event(flow: string, reason: TickEvent['detail']['reason'] = 'schedule'): TickEvent {
  return { detail: { flow, reason } };
}

function handlerOver(engine: MemoryEngine) {
  const lines: string[] = [];
  const log = createLogger({ to: { write: (line) => void lines.push(line) } });
  return { tick: createTickHandler({ engine: engine.deps, log }), lines: () => lines.map((line) => JSON.parse(line)) };
}

describe('tick handler', () => {
  it('runs a plan for a dirty flow and then finds nothing to do', async () => {
    const engine = createMemoryEngine();
    const { tick } = handlerOver(engine);
    engine.database.source.set(1, { id: 1, time: engine.now(), key: 'a', value: 5 });
    await engine.create('f');
    const outcome = await tick(event('f', 'created'), context());
    expect(outcome).toEqual({
      action: 'committed',
      reason: expect.any(String),
      epoch: expect.stringMatching(/^\d+$/),
      more: false,
    });
    expect(JSON.parse(JSON.stringify(outcome))).toEqual(outcome);
    expect(engine.database.sink({ schema: 'public', table: 'sink of f' }).size).toBe(1);
    expect(await tick(event('f'), context())).toMatchObject({ action: 'idle' });
  });

  it.each(['schedule', 'flush', 'continue', 'created'] as const)(
    'answers an event by %s for a flow that is gone',
    async (reason) => {
      const { tick, lines } = handlerOver(createMemoryEngine());
      expect(await tick(event('nobody', reason), context())).toMatchObject({ action: 'idle', reason: 'no such flow' });
      expect(lines()).toEqual([]);
    },
  );

  it('skips the second of two events at once', async () => {
    const engine = createMemoryEngine();
    const { tick } = handlerOver(engine);
    engine.database.source.set(1, { id: 1, time: engine.now(), key: 'a', value: 5 });
    await engine.create('f');
    const outcomes = await Promise.all([tick(event('f'), context()), tick(event('f'), context())]);
    expect(outcomes.map(({ action }) => action).sort()).toEqual(['committed', 'skipped']);
  });

  it('leaves an invocation that is about to end alone', async () => {
    const engine = createMemoryEngine();
    await engine.create('f');
    const { tick } = handlerOver(engine);
    expect(await tick(event('f'), context(2_000))).toMatchObject({ action: 'idle', reason: /too little time/ });
    expect(engine.tables.runs.size).toBe(0);
  });

  it('gives the lease to another name at each delivery of one request', async () => {
    const engine = createMemoryEngine();
    const owners: string[] = [];
    const { store } = engine.deps;
    const watched = {
      ...engine.deps,
      store: {
        ...store,
        begin: (...call: Parameters<typeof store.begin>) => {
          owners.push(call[2].lease?.owner ?? '');
          return store.begin(...call);
        },
      },
    };
    const tick = createTickHandler({ engine: watched, log: createLogger({ level: 'silent' }) });
    engine.database.source.set(1, { id: 1, time: engine.now(), key: 'a', value: 5 });
    await engine.create('f');
    owners.length = 0;
    await tick(event('f'), context());
    await engine.deps.store.markDirty([
      { flow: 'f', range: { start: plus(engine.now(), -HOUR), end: plus(engine.now(), HOUR) } },
    ]);
    await engine.deps.wait(5_000);
    await tick(event('f'), context());
    expect(owners).toHaveLength(2);
    expect(new Set(owners).size).toBe(2);
    for (const owner of owners) expect(owner).toMatch(/^request-1\//);
  });

  it('passes on whether the clock or somebody asked', async () => {
    const engine = createMemoryEngine();
    const { tick } = handlerOver(engine);
    engine.database.source.set(1, { id: 1, time: engine.now(), key: 'a', value: 5 });
    await engine.create('f');
    const [stored] = engine.tables.definitions.values();
    engine.tables.definitions.set('f', { ...stored!, value: { ...stored!.value, evalInterval: HOUR } });
    await tick(event('f', 'created'), context());
    await engine.deps.store.markDirty([
      { flow: 'f', range: { start: plus(engine.now(), -HOUR), end: plus(engine.now(), HOUR) } },
    ]);
    expect(await tick(event('f', 'schedule'), context())).toMatchObject({ action: 'idle', reason: /grid/ });
    expect(await tick(event('f', 'flush'), context())).toMatchObject({ action: 'committed' });
  });

  it('logs an unexpected error with its flow, and passes it on to Lambda', async () => {
    const fault = new SluiceError('store_unavailable', 'no answer', { retryable: true });
    const engine = createMemoryEngine((store) => ({ ...store, load: () => Promise.reject(fault) }));
    const { tick, lines } = handlerOver(engine);
    await expect(tick(event('f'), context())).rejects.toBe(fault);
    expect(lines()).toMatchObject([{ level: 'error', flow: 'f', err: { code: 'store_unavailable' } }]);
  });

  it.each<unknown>([
    {},
    { detail: {} },
    { detail: { flow: '' } },
    { detail: { flow: 'f' } },
    { detail: { flow: 7, reason: 'flush' } },
    null,
  ])('fails on %j, which is no tick event', async (wrong) => {
    const { tick, lines } = handlerOver(createMemoryEngine());
    await expect(tick(wrong as TickEvent, context())).rejects.toMatchObject({ code: 'invalid_request' });
    expect(lines()).toHaveLength(1);
  });
});
