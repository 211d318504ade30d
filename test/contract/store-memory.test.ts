import { describe, expect, it } from 'vitest';
import type { Instant } from '../../lib/window/instant.ts';
import { faultyRequests } from '../support/faulty-memory.ts';
import { createMemoryStore, createMemoryTables, type MissingGuard } from '../support/memory-store.ts';
import { StoreFaults } from '../support/store-faults.ts';
import { flowStoreContract, STORE_CHECKS } from './flow-store-suite.ts';
import { NOON } from './store-samples.ts';
import type { StoreUnderTest } from './store-under-test.ts';

function memoryUnderTest(without?: MissingGuard): StoreUnderTest {
  const tables = createMemoryTables();
  const faults = new StoreFaults();
  let count = 0;
  let now = NOON;
  const options = {
    random: () => `random ${++count}`,
    clock: () => now,
    tables,
    ...(without === undefined ? {} : { without }),
  };
  return {
    store: createMemoryStore({ ...options, request: faultyRequests(faults) }),
    other: createMemoryStore(options),
    faults,
    setNow: (next: Instant) => {
      now = next;
    },
    close: () => Promise.resolve(),
  };
}

flowStoreContract('in memory', () => Promise.resolve(memoryUnderTest()));

describe('control: the contract notices an in-memory store', () => {
  const noticedBy: Record<MissingGuard, string> = {
    state_condition: 'a commit after another worker took a new epoch is a conflict and changes nothing',
    write_id: 'a begin whose answer is lost succeeds when it is sent again',
    settle_condition: 'a settle that is replayed spares a mark that was made after the first',
    random_versions: 'a settle that is replayed spares a mark that was made after the first',
    generation: 'a removal that comes late spares the definition of a successor of the same name',
  };
  for (const [without, title] of Object.entries(noticedBy) as [MissingGuard, string][]) {
    it(`without ${without}`, async () => {
      const check = STORE_CHECKS[title];
      await expect(check?.(memoryUnderTest(), 'sound')).resolves.toBeUndefined();
      await expect(check?.(memoryUnderTest(without), 'broken')).rejects.toThrow();
    });
  }
});
