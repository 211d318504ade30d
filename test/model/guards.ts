import type { FlowState, FlowStore, Held } from '../../lib/store/flow-store.ts';
import type { Guards } from './world.ts';

/** The world with one guard taken away each: the suite has to notice. */
export const WITHOUT: Readonly<Record<string, Guards>> = {
  'random version tokens (rule 1)': { countedVersions: true },
  'conditional settle (rule 1)': { store: settlingAnyVersion },
  'the epoch check of the store (rule 3)': { store: writingUnconditionally },
  'the fence raise (rules 3 and 5)': { without: 'fence' },
  'the applied record (rule 4)': { without: 'applied_record' },
};

/** Deletes a consumed window whatever its version is by now. */
function settlingAnyVersion(store: FlowStore): FlowStore {
  return {
    ...store,
    async settle(flow, consumed) {
      const loaded = await store.load(flow, { limit: 1_000, order: 'newest' });
      const current = new Map(loaded?.dirty.map((window) => [`${window.start}#${window.end}`, window.version]));
      const any = consumed.map((window) => ({
        ...window,
        version: current.get(`${window.start}#${window.end}`) ?? window.version,
      }));
      await store.settle(flow, any);
    },
  };
}

/** Every writer of the state item believes itself to be the holder. */
function writingUnconditionally(store: FlowStore): FlowStore {
  const write = async (flow: string, held: Held, next: FlowState): Promise<void> => {
    const loaded = await store.load(flow, { limit: 1, order: 'newest' });
    await store.commit(flow, held === null ? null : (loaded?.state ?? null), next);
  };
  return { ...store, begin: write, commit: write, abort: write };
}
