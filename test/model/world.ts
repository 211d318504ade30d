import type { EngineDeps } from '../../lib/engine/deps.ts';
import { flushFlow } from '../../lib/engine/flush.ts';
import { createFlow, dropFlow, type FlowDraft, pauseFlow, resumeFlow } from '../../lib/engine/lifecycle.ts';
import { markFlow, markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import { SluiceError } from '../../lib/errors.ts';
import { DEFAULT_OPTIONS } from '../../lib/flow/options.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import { type Instant, instant, type Micros, SECOND } from '../../lib/window/instant.ts';
import {
  createMemoryFrontend,
  MemoryDatabase,
  type MemoryFrontendOptions,
  sameRow,
} from '../support/memory-frontend.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { Scheduler } from './scheduler.ts';

export const FLOW = 'f';
const SOURCE = { schema: 'public', table: 'source' };
const WINDOW: Micros = 10n;
/** Times of source rows lie in this many windows around the epoch. */
const WINDOWS = 12;
const INVOCATION: Micros = 20n * SECOND;

export interface Guards extends MemoryFrontendOptions {
  /** Versions of marks count from 1 for each dirty window instead of being random. */
  readonly countedVersions?: boolean;
  /** Wraps the store, to take one of its guards away. */
  readonly store?: (store: FlowStore) => FlowStore;
}

/** One flow, one source table, a store, a clock, and the processes that work on them. */
export class World {
  readonly scheduler = new Scheduler();
  readonly database = new MemoryDatabase();
  readonly store: FlowStore;
  readonly unexpected: unknown[] = [];
  #now = instant(1_000_000n * SECOND);
  #processes = 0;
  readonly #alive = new Set<number>();
  readonly #writers = new Set<number>();
  readonly #guards: Guards;

  constructor(guards: Guards = {}) {
    this.#guards = guards;
    let versions = 0;
    const random = () => `v${++versions}`;
    const memory = createMemoryStore(
      guards.countedVersions === true ? { random, without: 'random_versions' } : { random },
    );
    this.store = guards.store?.(memory) ?? memory;
  }

  get now(): Instant {
    return this.#now;
  }

  get alive(): readonly number[] {
    return [...this.#alive];
  }

  /** All but the writers: to mark what one has committed is the one duty of those who change rows. */
  get mortal(): readonly number[] {
    return this.alive.filter((process) => !this.#writers.has(process));
  }

  advance(by: Micros): void {
    this.#now = instant(this.#now + by);
    this.database.endOverdue(this.#now);
  }

  /** Everything of one process: its calls pass the scheduler one by one. */
  deps(process: number): EngineDeps {
    const scheduler = this.scheduler;
    const clock = () => this.#now;
    const frontend = createMemoryFrontend(
      this.database,
      clock,
      (label, request, ready) => scheduler.call(process, label, request, () => frontendFault(label), ready),
      this.#guards,
    );
    return {
      store: interleaved(this.store, (label, request) => scheduler.call(process, label, request, storeFault)),
      frontend: () => frontend,
      schedule: {
        put: () => Promise.resolve(),
        enable: () => Promise.resolve(),
        disable: () => Promise.resolve(),
        remove: () => Promise.resolve(),
        requestTick: () => Promise.resolve(),
      },
      clock,
      wait: () => scheduler.call(process, 'wait', () => this.advance(SECOND), storeFault),
      log: () => undefined,
    };
  }

  #start(name: string, work: (deps: EngineDeps, process: number) => Promise<unknown>): void {
    const process = ++this.#processes;
    this.#alive.add(process);
    this.scheduler.trace.push(`${process}: ${name} starts`);
    work(this.deps(process), process)
      .catch((error: unknown) => {
        if (!(error instanceof SluiceError) || error.code === 'internal') this.unexpected.push(error);
        else this.scheduler.trace.push(`${process}: ${error.code}`);
      })
      .finally(() => this.#alive.delete(process));
  }

  async kill(process: number, sent: boolean): Promise<void> {
    this.#alive.delete(process);
    await this.scheduler.kill(process, sent);
  }

  startTick(): void {
    this.#start('tick', (deps, process) =>
      tick(deps, {
        flow: FLOW,
        owner: `worker ${process}`,
        deadline: instant(this.#now + INVOCATION),
        trigger: 'schedule',
      }),
    );
  }

  startCreate(least: number, mode: 'create' | 'or_replace' | 'if_not_exists', size: Micros = WINDOW): void {
    this.#start(`create (values >= ${least}, ${mode})`, (deps) => createFlow(deps, draft(least, size), mode));
  }

  startDrop(): void {
    this.#start('drop', (deps) => dropFlow(deps, FLOW, { dropSink: false }));
  }

  startPause(): void {
    this.#start('pause', (deps) => pauseFlow(deps, FLOW));
  }

  startResume(): void {
    this.#start('resume', (deps) => resumeFlow(deps, FLOW));
  }

  startFlush(): void {
    this.#start('flush', (deps) => flushFlow(deps, FLOW, { waitMs: 3_000 }));
  }

  /** One committed change of the source and, afterwards, its mark, repeated until it is known to have been made. */
  startWriter(choice: number): void {
    this.#start('write', async (deps, process) => {
      this.#writers.add(process);
      let times: Instant[] = [];
      const commit = () => {
        times = this.#change(choice);
      };
      // A writer that is not told what became of its commit marks all the same.
      await this.scheduler.call(process, 'source.commit', commit, storeFault).catch(() => undefined);
      const change = { timestamps: times, ranges: [] };
      for (;;) {
        try {
          await (choice % 4 === 0 ? markFlow(deps, FLOW, change) : markTable(deps, 'default', SOURCE, change));
          return;
        } catch (error) {
          if (!(error instanceof SluiceError) || !error.retryable) throw error;
        }
      }
    });
  }

  #change(choice: number): Instant[] {
    const ids = [...this.database.source.keys()];
    const id = ids[choice % Math.max(1, ids.length)];
    const former = id === undefined ? undefined : this.database.source.get(id);
    const kind = (choice >>> 8) % 4;
    if (former !== undefined && kind === 0) {
      this.database.source.delete(former.id);
      return [former.time];
    }
    const time = instant(BigInt((choice >>> 10) % (WINDOWS * Number(WINDOW))) - 20n);
    const next = {
      id: this.database.nextId(),
      time,
      key: (choice >>> 17) % 2 === 0 ? 'a' : 'b',
      value: (choice >>> 18) % 5,
    };
    if (former !== undefined && kind === 1) {
      this.database.source.set(former.id, { ...next, id: former.id });
      return [former.time, time];
    }
    this.database.source.set(next.id, next);
    return [time];
  }

  /** Lets everything under way end, then ticks until the flow is quiet. Returns why it is not right, or null. */
  async settleDown(): Promise<string | null> {
    this.scheduler.thaw();
    await this.finish();
    for (let attempt = 0; attempt < 5; attempt++) {
      this.advance(100n * SECOND);
      const loaded = await this.store.load(FLOW, { limit: 1, order: 'newest' });
      if (loaded?.state.status === 'active' && loaded.definition !== null) break;
      if (loaded?.state.status === 'paused') this.startResume();
      else this.startCreate(0, 'or_replace');
      await this.finish();
    }
    for (let round = 0; round < 60; round++) {
      this.advance(100n * SECOND);
      this.startTick();
      await this.finish();
      const problem = await this.#unquiet();
      if (problem === null)
        return this.unexpected.length > 0 ? `unexpected: ${String(this.unexpected[0])}` : await this.compare();
    }
    return `not quiet after 60 ticks: ${await this.#unquiet()}`;
  }

  /** Lets everything under way end. */
  async finish(): Promise<void> {
    for (let step = 0; step < 3_000 && this.#alive.size > 0; step++) {
      if (this.scheduler.waiting === 0) this.advance(SECOND);
      await this.scheduler.release(0, 'none');
    }
    if (this.#alive.size > 0) this.unexpected.push(new Error('a process does not end'));
  }

  async #unquiet(): Promise<string | null> {
    const loaded = await this.store.load(FLOW, { limit: 100, order: 'newest' });
    if (loaded === null) return 'no state';
    if (loaded.state.lease !== null) return 'a lease is left';
    if (loaded.state.inFlight !== null) return 'a plan in flight is left';
    return loaded.dirty.length > 0 ? `${loaded.dirty.length} dirty windows are left` : null;
  }

  /** Sink against query. */
  async compare(): Promise<string | null> {
    const loaded = await this.store.load(FLOW, { limit: 1, order: 'newest' });
    if (loaded === null || loaded.definition === null) return 'no definition';
    const expected = this.database.query(loaded.definition);
    const sink = this.database.sink(loaded.definition.sink);
    for (const [id, row] of expected) {
      const got = sink.get(id);
      if (!sameRow(got, row)) return `row ${id}: sink has ${show(got)}, query gives ${show(row)}`;
    }
    for (const id of sink.keys()) if (!expected.has(id)) return `row ${id} is in the sink and not in the query`;
    return null;
  }
}

function show(row: { count: number; sum: number } | undefined): string {
  return row === undefined ? 'nothing' : `count ${row.count} sum ${row.sum}`;
}

function draft(least: number, size: Micros): FlowDraft {
  return {
    name: FLOW,
    sink: { schema: 'public', table: 'sink' },
    query: `values >= ${least}`,
    comment: null,
    expireAfter: null,
    evalInterval: null,
    options: {
      ...DEFAULT_OPTIONS,
      connection: 'default',
      timeZone: 'UTC',
      mergeDistance: 1,
      maxRanges: 3,
      maxWindows: 4,
      order: 'newest',
    },
    compiled: {
      compiler: 1,
      text: [`values >= ${least}`],
      holes: [],
      window: {
        spec: { kind: 'fixed', size, origin: instant(0n) },
        column: 'label',
        expression: ['', ''],
        argumentType: 'timestamptz',
      },
      sources: [{ ...SOURCE, timeColumn: 'time' }],
      beneath: [],
      columns: ['label', 'key', 'count', 'sum'],
      keys: ['label', 'key'],
      history: null,
    },
    sinkColumns: [],
    updateAt: false,
    placeholder: false,
  };
}

/** A store whose requests pass the scheduler one by one, several of one call in any order. */
function interleaved(store: FlowStore, call: <T>(label: string, request: () => Promise<T>) => Promise<T>): FlowStore {
  const one =
    <A extends unknown[], R>(name: string, method: (...given: A) => Promise<R>) =>
    (...given: A): Promise<R> =>
      call(`store.${name}`, () => method.apply(store, given));
  return {
    load: one('load', store.load),
    begin: one('begin', store.begin),
    commit: one('commit', store.commit),
    abort: one('abort', store.abort),
    settle: async (flow, consumed) => {
      await Promise.all(
        consumed.map(async (window) => {
          for (const range of window.left) await call('store.mark left', () => store.markDirty([{ flow, range }]));
          await call('store.settle', () => store.settle(flow, [{ ...window, left: [] }]));
        }),
      );
    },
    markDirty: async (marks) => {
      await Promise.all(marks.map((mark) => call('store.mark', () => store.markDirty([mark]))));
    },
    clearDirty: one('clearDirty', store.clearDirty),
    readersOf: one('readersOf', store.readersOf),
    sinkHolder: one('sinkHolder', store.sinkHolder),
    claimSink: one('claimSink', store.claimSink),
    releaseSink: one('releaseSink', store.releaseSink),
    putDefinition: one('putDefinition', store.putDefinition),
    removeDefinition: one('removeDefinition', store.removeDefinition),
    list: one('list', store.list),
    appendRun: one('appendRun', store.appendRun),
    runs: one('runs', store.runs),
  };
}

function storeFault(): Error {
  return new SluiceError('store_unavailable', 'no answer', { retryable: true });
}

function frontendFault(label: string): Error {
  const code = label === 'frontend.commit' ? 'outcome_unknown' : 'frontend_unavailable';
  return new SluiceError(code, 'no answer', { retryable: true });
}
