import { SluiceError } from '../../lib/errors.ts';
import type { FlowDefinition, TableName } from '../../lib/flow/definition.ts';
import { checkDefinition, checkFlowName, checkLimit, checkState, checkTable } from '../../lib/store/bounds.ts';
import { fromCursor, toCursor } from '../../lib/store/cursor.ts';
import { wantedOrder } from '../../lib/store/dirty-order.ts';
import type {
  DirtyWindow,
  FlowListing,
  FlowState,
  FlowStore,
  Held,
  Mark,
  RunRecord,
  TableReader,
} from '../../lib/store/flow-store.ts';
import { listingOf, readersOfDefinition } from '../../lib/store/readers.ts';
import { sinkTaken } from '../../lib/store/sink-taken.ts';
import { DAY, type Instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';

/** Of one item, by the names that DynamoDB gives them. */
export type StoreOperation = 'GetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem';

/** Passes on one single-item request. It may apply it later, twice, or not at all, and may throw whatever becomes of it. */
export type RequestHook = <T>(operation: StoreOperation, apply: () => T) => Promise<T>;

/** A guard that is left out, to show that its absence is noticed. */
export type MissingGuard = 'state_condition' | 'write_id' | 'settle_condition' | 'random_versions' | 'generation';

interface Stored<T> {
  readonly value: T;
  readonly generation: bigint;
}

interface StoredState {
  readonly state: FlowState;
  readonly writeId: string;
}

/** What several stores, each of a worker of its own, have in common. */
export interface MemoryTables {
  readonly states: Map<string, StoredState>;
  readonly definitions: Map<string, Stored<FlowDefinition>>;
  readonly listings: Map<string, Stored<FlowListing>>;
  readonly dirty: Map<string, Map<string, DirtyWindow>>;
  readonly readers: Map<string, Map<string, Stored<TableReader>>>;
  readonly claims: Map<string, string>;
  readonly runs: Map<string, Map<string, RunRecord>>;
}

export function createMemoryTables(): MemoryTables {
  return {
    states: new Map(),
    definitions: new Map(),
    listings: new Map(),
    dirty: new Map(),
    readers: new Map(),
    claims: new Map(),
    runs: new Map(),
  };
}

export interface MemoryStoreOptions {
  /** Never the same text twice: versions of marks and ids of writes. */
  readonly random: () => string;
  /** For the expiry of history; without it nothing expires. */
  readonly clock?: () => Instant;
  readonly tables?: MemoryTables;
  readonly request?: RequestHook;
  readonly without?: MissingGuard;
}

const RUN_KEPT = 30n * DAY;
const BY_KEY = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const BY_UTF8 = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const NEWEST_FIRST = (a: TimeRange, b: TimeRange): number =>
  a.start === b.start ? (a.end < b.end ? 1 : -1) : a.start < b.start ? 1 : -1;

/**
 * A FlowStore that does what the one on DynamoDB does, request by request, without encoding anything: it keeps what it is given,
 * so nobody may change that afterwards. Deterministic: the same calls with the same `random` give the same answers.
 */
export function createMemoryStore({
  random,
  clock,
  tables = createMemoryTables(),
  request,
  without,
}: MemoryStoreOptions): FlowStore {
  const one: RequestHook = request ?? ((_operation, apply) => Promise.resolve(apply()));
  const writeIds = new WeakMap<FlowState, string>();

  const dirtyOf = (flow: string) => inner(tables.dirty, flow);

  function mark(flow: string, { start, end }: TimeRange, force: boolean): Promise<unknown> {
    const fresh = random();
    const key = rangeKey({ start, end });
    return one('UpdateItem', () => {
      const former = dirtyOf(flow).get(key);
      const version = without === 'random_versions' ? counted(former) : fresh;
      const forced = force || former?.forced === true;
      return dirtyOf(flow).set(key, { start, end, version, forced });
    });
  }

  function unmark(flow: string, window: DirtyWindow): Promise<unknown> {
    return one('DeleteItem', () => {
      const key = rangeKey(window);
      const found = dirtyOf(flow).get(key);
      if (found?.version === window.version || without === 'settle_condition') dirtyOf(flow).delete(key);
    });
  }

  async function write(flow: string, held: Held, next: FlowState): Promise<void> {
    checkState(flow, next);
    const writeId = writeIds.get(next) ?? random();
    writeIds.set(next, writeId);
    const done = await one('PutItem', () => {
      const found = tables.states.get(flow)?.state;
      const holds =
        held === null
          ? found === undefined
          : found !== undefined && found.epoch === held.epoch && found.version === held.version;
      if (!holds && without !== 'state_condition') return false;
      tables.states.set(flow, { state: next, writeId });
      return true;
    });
    if (done) return;
    const found = await one('GetItem', () => tables.states.get(flow));
    if (found !== undefined && found.writeId === writeId && without !== 'write_id') return;
    const holder = found?.state.lease?.owner;
    throw new SluiceError('conflict', `flow ${flow} was changed since it was read; load it again`, {
      details: holder === undefined ? {} : { holder },
    });
  }

  function gives<T>(map: Map<string, Stored<T>>, key: string, generation: bigint): boolean {
    const found = map.get(key);
    return found === undefined || found.generation <= generation || without === 'generation';
  }

  function put<T>(map: Map<string, Stored<T>>, key: string, value: T, generation: bigint): Promise<boolean> {
    return one('PutItem', () => {
      if (!gives(map, key, generation)) return false;
      map.set(key, { value, generation });
      return true;
    });
  }

  function remove<T>(map: Map<string, Stored<T>>, key: string, generation: bigint): Promise<unknown> {
    return one('DeleteItem', () => gives(map, key, generation) && map.delete(key));
  }

  const readersAt = (key: string) => inner(tables.readers, key);

  return {
    async load(flow, { limit, order }) {
      checkFlowName(flow);
      const newest = await one('Query', () => {
        const stored = tables.states.get(flow);
        const all = [...(tables.dirty.get(flow)?.values() ?? [])].sort(NEWEST_FIRST);
        if (stored === undefined) return null;
        const definition = tables.definitions.get(flow)?.value ?? null;
        return { state: stored.state, definition, dirty: all.slice(0, limit), more: all.length > limit };
      });
      if (newest === null || wantedOrder(newest, order) === 'newest') return newest;
      if (!newest.more) return { ...newest, dirty: newest.dirty.toReversed() };
      const oldest = await one('Query', () => [...dirtyOf(flow).values()].sort(NEWEST_FIRST).reverse());
      return { ...newest, dirty: oldest.slice(0, limit), more: oldest.length > limit };
    },

    begin: write,
    commit: write,
    abort: write,

    async settle(flow, consumed) {
      checkFlowName(flow);
      await Promise.all(
        consumed.map(async (window) => {
          for (const range of window.left) await mark(flow, range, window.forced);
          await unmark(flow, window);
        }),
      );
    },

    async markDirty(marks) {
      const distinct = new Map<string, Required<Mark>>();
      for (const { flow, range, forced = false } of marks) {
        checkFlowName(flow);
        const pair = rangeKey(range) + flow;
        distinct.set(pair, { flow, range, forced: forced || distinct.get(pair)?.forced === true });
      }
      await Promise.all([...distinct.values()].map(({ flow, range, forced }) => mark(flow, range, forced)));
    },

    async clearDirty(flow) {
      checkFlowName(flow);
      const windows = await one('Query', () => [...dirtyOf(flow).values()]);
      if (windows.length === 0) return;
      const status = await one('GetItem', () => tables.states.get(flow)?.state.status);
      if (status !== undefined && status !== 'dropping' && status !== 'dropped') return;
      await Promise.all(windows.map((window) => unmark(flow, window)));
    },

    async readersOf(connection, table) {
      const key = tableKey(connection, table);
      return await one('Query', () =>
        [...readersAt(key).values()].map(({ value }) => value).sort((a, b) => BY_UTF8(a.flow, b.flow)),
      );
    },

    async sinkHolder(connection, sink) {
      const key = tableKey(connection, sink);
      return await one('GetItem', () => tables.claims.get(key) ?? null);
    },

    async claimSink(connection, sink, flow) {
      checkFlowName(flow);
      const key = tableKey(connection, sink);
      for (let attempt = 1; attempt <= 3; attempt++) {
        const done = await one('PutItem', () => {
          const holder = tables.claims.get(key) ?? flow;
          if (holder === flow) tables.claims.set(key, flow);
          return holder === flow;
        });
        if (done) return;
        const holder = await one('GetItem', () => tables.claims.get(key) ?? null);
        if (holder === flow) return;
        if (holder !== null) throw sinkTaken(sink, holder);
      }
      throw new SluiceError('conflict', `the sink of flow ${flow} keeps changing hands; try again`, {
        retryable: true,
      });
    },

    async releaseSink(connection, sink, flow) {
      checkFlowName(flow);
      const key = tableKey(connection, sink);
      await one('DeleteItem', () => tables.claims.get(key) === flow && tables.claims.delete(key));
    },

    async putDefinition(definition, previous) {
      checkDefinition(definition);
      const { name, generation } = definition;
      const readers = readersOfDefinition(definition);
      const keyed = readers.map(({ table, reader }) => ({
        key: tableKey(definition.options.connection, table),
        reader,
      }));
      const puts = await Promise.all(keyed.map(({ key, reader }) => put(readersAt(key), name, reader, generation)));
      const written =
        puts.every(Boolean) &&
        (await put(tables.definitions, name, definition, generation)) &&
        (await put(tables.listings, name, listingOf(definition), generation));
      if (!written) {
        for (const { key } of keyed) {
          await one(
            'DeleteItem',
            () => readersAt(key).get(name)?.generation === generation && readersAt(key).delete(name),
          );
        }
        throw new SluiceError('conflict', `flow ${name} was changed by a later definition; load it again`);
      }
      const kept = new Set(keyed.map(({ key }) => key));
      for (const key of previous === null ? [] : sourceKeys(previous)) {
        if (!kept.has(key)) await remove(readersAt(key), name, generation);
      }
    },

    async removeDefinition(definition) {
      const { name, generation } = definition;
      checkFlowName(name);
      await remove(tables.listings, name, generation);
      for (const key of sourceKeys(definition)) await remove(readersAt(key), name, generation);
      await remove(tables.definitions, name, generation);
    },

    async list({ limit, cursor }) {
      checkLimit(limit);
      const after = cursor === undefined ? undefined : fromCursor('flows', cursor);
      const { page, last } = await one('Query', () => {
        const names = [...tables.listings.keys()].sort(BY_UTF8);
        return pageOf(
          names.filter((name) => after === undefined || BY_UTF8(name, after) > 0),
          limit,
        );
      });
      const flows = page.flatMap((name) => tables.listings.get(name)?.value ?? []);
      return last === undefined ? { flows } : { flows, cursor: toCursor('flows', last) };
    },

    async appendRun(flow, run) {
      checkFlowName(flow);
      await one('PutItem', () => inner(tables.runs, flow).set(runKey(run), run));
    },

    async runs(flow, { limit, cursor }) {
      checkFlowName(flow);
      checkLimit(limit);
      const before = cursor === undefined ? undefined : fromCursor('runs', cursor);
      const kept = inner(tables.runs, flow);
      const oldest = clock === undefined ? undefined : clock() - RUN_KEPT;
      const { page, last } = await one('Query', () => {
        const live = [...kept.keys()].filter((key) => oldest === undefined || (kept.get(key)?.at ?? 0n) >= oldest);
        const keys = live.sort(BY_KEY).reverse();
        return pageOf(
          keys.filter((key) => before === undefined || key < before),
          limit,
        );
      });
      const runs = page.flatMap((key) => kept.get(key) ?? []);
      return last === undefined ? { runs } : { runs, cursor: toCursor('runs', last) };
    },
  };
}

/** As a counter in the item would do: it begins anew once the item was deleted. */
function counted(former: DirtyWindow | undefined): string {
  return String(Number(former?.version ?? 0) + 1);
}

function inner<T>(map: Map<string, Map<string, T>>, key: string): Map<string, T> {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = new Map<string, T>();
  map.set(key, made);
  return made;
}

function pageOf(keys: readonly string[], limit: number): { page: readonly string[]; last: string | undefined } {
  const page = keys.slice(0, limit);
  return { page, last: keys.length > limit ? page.at(-1) : undefined };
}

function rangeKey({ start, end }: TimeRange): string {
  return `${start}#${end}#`;
}

function runKey({ at, epoch }: RunRecord): string {
  return `${(at + 2n ** 63n).toString().padStart(20, '0')}#${epoch.toString().padStart(20, '0')}`;
}

function tableKey(connection: string, { schema, table }: TableName): string {
  checkTable(connection, { schema, table });
  return JSON.stringify([connection, schema, table]);
}

function sourceKeys({ options, compiled }: FlowDefinition): string[] {
  return compiled.sources.map((source) => tableKey(options.connection, source));
}
