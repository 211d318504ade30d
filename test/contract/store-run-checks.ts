import { expect } from 'vitest';
import type { FlowStore, RunRecord } from '../../lib/store/flow-store.ts';
import { DAY, plus, SECOND } from '../../lib/window/instant.ts';
import { HOSTILE_NAMES, NOON, sampleRun, U64_MAX } from './store-samples.ts';
import type { StoreCheck } from './store-under-test.ts';

async function allRuns(store: FlowStore, flow: string, limit: number): Promise<RunRecord[][]> {
  const pages: RunRecord[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.runs(flow, { limit, ...(cursor === undefined ? {} : { cursor }) });
    pages.push([...page.runs]);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return pages;
}

export const RUN_CHECKS: Record<string, StoreCheck> = {
  'a flow that has not run has no history': async ({ store }, flow) => {
    expect(await store.runs(flow, { limit: 10 })).toEqual({ runs: [] });
  },

  'history comes back exactly, newest first, in pages': async ({ store, setNow }, flow) => {
    setNow(NOON);
    const runs = [
      sampleRun(plus(NOON, -3n * SECOND), 1n),
      sampleRun(plus(NOON, -2n * SECOND), 2n, { rows: null, outcome: 'failed', gridTime: NOON, ranges: [] }),
      sampleRun(plus(NOON, -2n * SECOND), 10n, { coverage: 'unfiltered_full' }),
      sampleRun(plus(NOON, -1n * SECOND), U64_MAX, { outcome: 'recovered', reason: 'ü "quoted"' }),
      sampleRun(NOON, 3n, { outcome: 'abandoned' }),
    ];
    for (const run of runs.toSorted(() => -1)) await store.appendRun(flow, run);
    for (const limit of [1, 2, 4, 5, 6]) {
      const pages = await allRuns(store, flow, limit);
      expect(pages.flat()).toEqual(runs.toReversed());
      expect(pages).toHaveLength(Math.ceil(5 / limit));
    }
  },

  'a line written twice is there once': async ({ store, faults, setNow }, flow) => {
    setNow(NOON);
    const run = sampleRun(NOON, 1n);
    faults.plan('PutItem', 'answer_lost');
    await store.appendRun(flow, run);
    await store.appendRun(flow, run);
    expect(await store.runs(flow, { limit: 10 })).toEqual({ runs: [run] });
  },

  'lines older than 30 days are not shown, though they may still be stored': async ({ store, setNow }, flow) => {
    setNow(NOON);
    const old = sampleRun(plus(NOON, -29n * DAY), 1n);
    const young = sampleRun(plus(NOON, -DAY), 2n);
    await store.appendRun(flow, old);
    await store.appendRun(flow, young);
    expect((await store.runs(flow, { limit: 10 })).runs).toEqual([young, old]);
    setNow(plus(NOON, 2n * DAY));
    expect((await store.runs(flow, { limit: 10 })).runs).toEqual([young]);
    expect(await allRuns(store, flow, 1)).toEqual([[young]]);
    setNow(NOON);
  },

  'a cursor whose line has expired meanwhile ends the listing': async ({ store, setNow }, flow) => {
    setNow(NOON);
    await store.appendRun(flow, sampleRun(plus(NOON, -29n * DAY), 1n));
    await store.appendRun(flow, sampleRun(plus(NOON, -28n * DAY), 2n));
    const { cursor } = await store.runs(flow, { limit: 1 });
    if (cursor === undefined) throw new Error('there is a second page');
    setNow(plus(NOON, 5n * DAY));
    expect(await store.runs(flow, { limit: 1, cursor })).toEqual({ runs: [] });
    setNow(NOON);
  },

  'histories of hostile names do not meet': async ({ store, setNow }) => {
    setNow(NOON);
    for (const [i, name] of HOSTILE_NAMES.entries()) await store.appendRun(name, sampleRun(NOON, BigInt(i)));
    for (const [i, name] of HOSTILE_NAMES.entries()) {
      expect((await store.runs(name, { limit: 10 })).runs).toEqual([sampleRun(NOON, BigInt(i))]);
    }
  },
};
