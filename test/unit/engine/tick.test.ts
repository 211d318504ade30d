import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineDeps, EngineEvent } from '../../../lib/engine/deps.ts';
import { flushFlow } from '../../../lib/engine/flush.ts';
import { createFlow, type FlowDraft, pauseFlow, resumeFlow } from '../../../lib/engine/lifecycle.ts';
import { markFlow } from '../../../lib/engine/marks.ts';
import { tick } from '../../../lib/engine/tick.ts';
import { SluiceError } from '../../../lib/errors.ts';
import type { Frontend } from '../../../lib/frontend/frontend.ts';
import type { FlowState, FlowStore } from '../../../lib/store/flow-store.ts';
import { type Instant, instant, SECOND } from '../../../lib/window/instant.ts';
import { ALL_TIME } from '../../../lib/window/time-range.ts';
import { createMemoryFrontend, MemoryDatabase } from '../../support/memory-frontend.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { flow, range } from './flows.ts';

let now: Instant;
let store: FlowStore;
let database: MemoryDatabase;
let frontend: Frontend;
let asked: string[];
let events: EngineEvent[];

beforeEach(() => {
  now = instant(1_000n * SECOND);
  let versions = 0;
  store = createMemoryStore({ random: () => `v${++versions}` });
  database = new MemoryDatabase();
  frontend = createMemoryFrontend(database, () => now);
  asked = [];
  events = [];
});

function deps(changes: Partial<EngineDeps> = {}): EngineDeps {
  const nothing = () => Promise.resolve();
  return {
    store,
    frontend: () => frontend,
    schedule: {
      put: nothing,
      enable: nothing,
      disable: nothing,
      remove: nothing,
      requestTick: (name, reason) => {
        asked.push(`${name} ${reason}`);
        return Promise.resolve();
      },
    },
    clock: () => now,
    wait: nothing,
    log: (event) => events.push(event),
    ...changes,
  };
}

const later = (seconds: bigint) => instant(now + seconds * SECOND);
const request = (seconds = 20n) => ({ flow: 'f', owner: 'w', deadline: later(seconds), trigger: 'schedule' as const });

function draft(options: Partial<FlowDraft['options']> = {}): FlowDraft {
  const { generation: _, ...rest } = flow({ options });
  return { ...rest, query: 'values >= 0' };
}

function insert(...times: number[]): void {
  for (const time of times) {
    const id = database.source.size + 1;
    database.source.set(id, { id, time: instant(BigInt(time)), key: 'a', value: 1 });
  }
}

async function state(): Promise<FlowState> {
  const loaded = await store.load('f', { limit: 100, order: 'newest' });
  if (loaded === null) throw new Error('no flow');
  return loaded.state;
}

async function dirty(): Promise<string[]> {
  const loaded = await store.load('f', { limit: 1_000, order: 'newest' });
  return loaded?.dirty.map(({ start, end }) => `${start}-${end}`) ?? [];
}

async function createQuiet(options: Partial<FlowDraft['options']> = {}): Promise<void> {
  await createFlow(deps(), draft(options), 'create');
  while ((await tick(deps(), request())).action !== 'idle') now = later(5n);
  asked = [];
}

describe('a tick', () => {
  it('is idle for a flow that does not exist', async () => {
    expect(await tick(deps(), request())).toEqual({ action: 'idle', reason: 'no such flow', more: false });
  });

  it('asks for a further tick while it leaves work behind', async () => {
    insert(0, 10, 20, 30, 40, 50);
    await createFlow(deps(), draft(), 'create');
    asked = [];
    expect(await tick(deps(), request())).toMatchObject({ action: 'committed', more: true });
    expect(await tick(deps(), request())).toMatchObject({ action: 'committed', more: false });
    expect(asked).toEqual(['f continue']);
    expect(await dirty()).toEqual([]);
  });

  it('goes on where the further tick cannot be asked for', async () => {
    insert(0, 10, 20, 30, 40, 50);
    await createFlow(deps(), draft(), 'create');
    const schedule = { ...deps().schedule, requestTick: () => Promise.reject(new Error('no clock')) };
    expect(await tick(deps({ schedule }), request())).toMatchObject({ action: 'committed', more: true });
    expect(events.map((event) => event.action)).toContain('continue_failed');
  });

  it('leaves the flow to whoever holds the lease, and takes over once it has lapsed', async () => {
    await createQuiet();
    await markFlow(deps(), 'f', { timestamps: [instant(5n)], ranges: [] });
    const frozen: Frontend = { ...frontend, run: () => new Promise(() => undefined) };
    const left = tick(deps({ frontend: () => frozen }), request());
    await new Promise((resolve) => setImmediate(resolve));
    expect(await tick(deps(), request())).toMatchObject({ action: 'skipped', reason: 'the lease is held by w' });
    now = later(100n);
    expect(await tick(deps(), request())).toMatchObject({ action: 'recovered' });
    expect(await tick(deps(), request())).toMatchObject({ action: 'committed' });
    expect(await Promise.race([left, Promise.resolve('still frozen')])).toBe('still frozen');
  });

  it('restores its windows after a failure and takes one more window after each success', async () => {
    await createQuiet({ maxWindows: 4 });
    const failing: Frontend = {
      ...frontend,
      run: () => Promise.reject(new SluiceError('statement_timeout', 'took too long', { retryable: true })),
    };
    insert(0, 10, 20, 30, 40, 50, 60, 70, 80, 90);
    await markFlow(deps(), 'f', { timestamps: [], ranges: [range(0, 100)] });
    expect(await tick(deps({ frontend: () => failing }), request())).toMatchObject({ action: 'failed', more: false });
    expect(await dirty()).toEqual(['0-100']);
    expect(await state()).toMatchObject({ windowLimit: 1, failures: 1, lastError: { code: 'statement_timeout' } });
    const taken: bigint[] = [];
    while (database.sink({ schema: 'public', table: 'sink' }).size < 10) {
      const before = database.sink({ schema: 'public', table: 'sink' }).size;
      await tick(deps(), request());
      taken.push(BigInt(database.sink({ schema: 'public', table: 'sink' }).size - before));
    }
    expect(taken).toEqual([1n, 2n, 3n, 4n]);
    expect((await state()).windowLimit).toBeNull();
  });

  it('brings all other windows up to date while one of them always fails', async () => {
    await createQuiet({ maxWindows: 4 });
    const poisoned: Frontend = {
      ...frontend,
      run: (plan) =>
        plan.ranges.some(({ start, end }) => start <= 95n && 95n < end)
          ? Promise.reject(new SluiceError('query_failed', 'division by zero'))
          : frontend.run(plan),
    };
    insert(5, 15, 45, 95);
    await markFlow(deps(), 'f', { timestamps: [5n, 15n, 45n, 95n].map((time) => instant(time)), ranges: [] });
    for (let ticks = 0; ticks < 20; ticks++) await tick(deps({ frontend: () => poisoned }), request());
    expect(await dirty()).toEqual(['90-100']);
    expect(database.sink({ schema: 'public', table: 'sink' }).size).toBe(3);
  });

  it('records a frontend that fails before the plan', async () => {
    await createFlow(deps(), draft(), 'create');
    const down: Frontend = {
      ...frontend,
      timeRange: () => Promise.reject(new SluiceError('frontend_unavailable', 'refused', { retryable: true })),
    };
    expect(await tick(deps({ frontend: () => down }), request())).toMatchObject({
      action: 'failed',
      reason: 'refused',
    });
    expect((await state()).lastError).toMatchObject({ code: 'frontend_unavailable' });
    expect(await dirty()).toHaveLength(1);
  });

  it('blocks the flow where no retry would help, and tries again once it is resumed', async () => {
    await createQuiet();
    insert(5);
    await markFlow(deps(), 'f', { timestamps: [instant(5n)], ranges: [] });
    const twice: Frontend = {
      ...frontend,
      run: () => Promise.reject(new SluiceError('duplicate_sink_key', 'two rows for one key')),
    };
    expect(await tick(deps({ frontend: () => twice }), request())).toMatchObject({ action: 'failed' });
    expect(await tick(deps(), request())).toMatchObject({ action: 'idle', reason: 'blocked: two rows for one key' });
    await expect(flushFlow(deps(), 'f', { waitMs: 10 })).rejects.toMatchObject({ code: 'conflict' });
    await resumeFlow(deps(), 'f');
    expect(await tick(deps(), request())).toMatchObject({ action: 'committed' });
  });

  it('runs nothing of a paused flow and keeps its marks', async () => {
    await createQuiet();
    await pauseFlow(deps(), 'f');
    await markFlow(deps(), 'f', { timestamps: [instant(5n)], ranges: [] });
    expect(await tick(deps(), request())).toMatchObject({ action: 'idle', reason: 'the flow is paused' });
    await resumeFlow(deps(), 'f');
    expect(await dirty()).toEqual(['0-10']);
  });

  it('begins nothing when too little time is left', async () => {
    await createQuiet();
    await markFlow(deps(), 'f', { timestamps: [instant(5n)], ranges: [] });
    expect(await tick(deps(), request(3n))).toMatchObject({ action: 'idle' });
    expect(await dirty()).toEqual(['0-10']);
  });

  it('goes oldest first through more marks than one read gives', async () => {
    await createQuiet({ order: 'oldest', maxRanges: 1, mergeDistance: 0 });
    const times = Array.from({ length: 150 }, (_, n) => n * 30);
    insert(...times);
    await markFlow(deps(), 'f', { timestamps: times.map((time) => instant(BigInt(time))), ranges: [] });
    await tick(deps(), request());
    expect([...database.sink({ schema: 'public', table: 'sink' }).values()].map((row) => row.label)).toEqual([0n]);
  });
});

describe('creating a flow', () => {
  it('stores nothing where the database does not let it keep a fence', async () => {
    const refusing: Frontend = {
      ...frontend,
      fence: () => Promise.reject(new SluiceError('query_failed', 'permission denied for schema sluice')),
    };
    await expect(createFlow(deps({ frontend: () => refusing }), draft(), 'create')).rejects.toThrow(
      'permission denied',
    );
    expect(await store.load('f', { limit: 1, order: 'newest' })).toBeNull();
    expect(database.sinks.size).toBe(0);
  });

  it('rebuilds a sink that had been dropped behind its back', async () => {
    insert(5);
    await createQuiet();
    database.sinks.clear();
    await createFlow(deps(), draft(), 'or_replace');
    while ((await tick(deps(), request())).action !== 'idle') now = later(1n);
    expect(database.sink({ schema: 'public', table: 'sink' }).size).toBe(1);
  });
});

describe('a flush', () => {
  it('marks up to the window of now, and answers with the rows that were written', async () => {
    await createQuiet();
    insert(0, 25, Number(now) - 1);
    const ticking = deps({ wait: async () => void (await tick(deps(), request())) });
    expect(await flushFlow(ticking, 'f', { waitMs: 5_000 })).toEqual({ done: true, rowsWritten: 3n });
    expect(asked[0]).toBe('f flush');
  });

  it('has nothing to do where source and sink are empty', async () => {
    await createQuiet();
    expect(await flushFlow(deps(), 'f', { waitMs: 5_000 })).toEqual({ done: true, rowsWritten: 0n });
  });

  it('answers that it is not done when the time is over', async () => {
    await createQuiet();
    insert(0);
    const slow = deps({
      wait: () => {
        now = later(1n);
        return Promise.resolve();
      },
    });
    expect(await flushFlow(slow, 'f', { waitMs: 3_000 })).toEqual({ done: false });
    expect(await dirty()).not.toEqual([]);
  });

  it('refuses a flow that is paused', async () => {
    await createQuiet();
    await pauseFlow(deps(), 'f');
    await expect(flushFlow(deps(), 'f', { waitMs: 10 })).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('two histories (rule 5)', () => {
  it('marks everything when the database is behind the store', async () => {
    insert(5);
    await createQuiet();
    database.applied.clear();
    database.sinks.clear();
    await markFlow(deps(), 'f', { timestamps: [instant(95n)], ranges: [] });
    expect(await tick(deps(), request())).toMatchObject({ action: 'failed', more: true });
    expect(await dirty()).toContain(`${ALL_TIME.start}-${ALL_TIME.end}`);
    while ((await tick(deps(), request())).action !== 'idle') now = later(1n);
    expect(database.sink({ schema: 'public', table: 'sink' }).size).toBe(1);
  });

  it('jumps above a fence that the store does not know', async () => {
    insert(5);
    await createQuiet();
    database.applied.set('f', { fence: 900n, epoch: 899n });
    await markFlow(deps(), 'f', { timestamps: [instant(95n)], ranges: [] });
    expect(await tick(deps(), request())).toMatchObject({ action: 'abandoned' });
    expect((await state()).epoch).toBe(901n);
    while ((await tick(deps(), request())).action !== 'idle') now = later(1n);
    expect(await dirty()).toEqual([]);
    expect((await state()).applied).toBeGreaterThan(901n);
  });
});
