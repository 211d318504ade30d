import type { EngineDeps, EngineEvent } from '../../lib/engine/deps.ts';
import { createFlow } from '../../lib/engine/lifecycle.ts';
import { SluiceError } from '../../lib/errors.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import { fromEpochMillis, type Instant, plus } from '../../lib/window/instant.ts';
import { hourlyDefinition } from './definitions.ts';
import { createMemoryFrontend, MemoryDatabase } from './memory-frontend.ts';
import { createMemoryStore, createMemoryTables, type MemoryTables } from './memory-store.ts';

const MEMORY_SOURCE = { schema: 'public', table: 'source' };

export interface MemoryEngine {
  readonly deps: EngineDeps;
  readonly database: MemoryDatabase;
  readonly tables: MemoryTables;
  readonly events: readonly EngineEvent[];
  /** `operation flow …`, in order. */
  readonly scheduled: readonly string[];
  now(): Instant;
  /** Brings a flow by hour and key over `public.source` into force. */
  create(name: string): Promise<void>;
}

/** An engine without a world: store and database in memory, a clock that moves only while somebody waits. */
export function createMemoryEngine(wrap: (store: FlowStore) => FlowStore = (store) => store): MemoryEngine {
  const database = new MemoryDatabase();
  const tables = createMemoryTables();
  const events: EngineEvent[] = [];
  const scheduled: string[] = [];
  let now = fromEpochMillis(Date.UTC(2024, 1, 29, 12));
  let versions = 0;
  const note = (...words: unknown[]) => Promise.resolve(void scheduled.push(words.join(' ')));
  const frontend = createMemoryFrontend(database, () => now);
  const deps: EngineDeps = {
    store: wrap(createMemoryStore({ random: () => `v${++versions}`, tables, clock: () => now })),
    frontend: (connection) => {
      if (connection === 'default') return frontend;
      throw new SluiceError('invalid_option', `there is no connection ${connection}; there is default`);
    },
    schedule: {
      put: (flow, seconds) => note('put', flow, seconds),
      enable: (flow) => note('enable', flow),
      disable: (flow) => note('disable', flow),
      remove: (flow) => note('remove', flow),
      requestTick: (flow, reason) => note('tick', flow, reason),
    },
    clock: () => now,
    wait: (ms) => {
      now = plus(now, BigInt(ms) * 1000n);
      return Promise.resolve();
    },
    log: (event) => void events.push(event),
  };
  return {
    deps,
    database,
    tables,
    events,
    scheduled,
    now: () => now,
    create: async (name) => {
      const { generation: _, ...draft } = hourlyDefinition(name, MEMORY_SOURCE, {
        schema: 'public',
        table: `sink of ${name}`,
      });
      await createFlow(deps, { ...draft, query: 'values >= 0' }, 'create');
    },
  };
}
