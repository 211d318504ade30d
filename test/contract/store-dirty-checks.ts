import { expect } from 'vitest';
import type { FlowOptions } from '../../lib/flow/definition.ts';
import type { ConsumedWindow, DirtyWindow, FlowStore } from '../../lib/store/flow-store.ts';
import { INSTANT_MAX, INSTANT_MIN, instant } from '../../lib/window/instant.ts';
import { ALL_TIME, type TimeRange } from '../../lib/window/time-range.ts';
import { bareState, HOSTILE_NAMES, hours, sampleDefinition } from './store-samples.ts';
import type { StoreCheck } from './store-under-test.ts';

async function dirtyOf(store: FlowStore, flow: string): Promise<readonly DirtyWindow[]> {
  return (await store.load(flow, { limit: 1000, order: 'newest' }))?.dirty ?? [];
}

function rangesOf(windows: readonly TimeRange[]): TimeRange[] {
  return windows.map(({ start, end }) => ({ start, end }));
}

function consumedOf(windows: readonly DirtyWindow[], left: readonly TimeRange[] = []): ConsumedWindow[] {
  return windows.map((window) => ({ ...window, left }));
}

async function withDirty(
  store: FlowStore,
  flow: string,
  ranges: readonly TimeRange[],
): Promise<readonly DirtyWindow[]> {
  await store.begin(flow, null, bareState());
  await store.markDirty(ranges.map((range) => ({ flow, range })));
  return dirtyOf(store, flow);
}

export const DIRTY_CHECKS: Record<string, StoreCheck> = {
  'marks come back newest first, before and after 1970, to the limits of time': async ({ store }, flow) => {
    const ranges = [
      ALL_TIME,
      { start: INSTANT_MIN, end: instant(INSTANT_MIN + 1n) },
      hours(-2n),
      hours(-1n),
      { start: instant(-1n), end: instant(0n) },
      { start: instant(0n), end: instant(1n) },
      hours(9n),
      hours(10n),
      { start: instant(INSTANT_MAX - 1n), end: INSTANT_MAX },
    ];
    const dirty = await withDirty(store, flow, ranges);
    const expected = ranges.toSorted((a, b) =>
      a.start === b.start ? Number(b.end - a.end) : a.start < b.start ? 1 : -1,
    );
    expect(rangesOf(dirty)).toEqual(expected);
  },

  'the order of the definition counts where none is asked for': async ({ store }, flow) => {
    const newest = await withDirty(store, flow, [hours(-3n), hours(5n), hours(0n)]);
    const undefinedYet = await store.load(flow, { limit: 10, order: 'as_defined' });
    expect(undefinedYet?.dirty).toEqual(newest);
    const definition = sampleDefinition(flow);
    const ordered = async (options: Partial<FlowOptions>) => {
      await store.putDefinition({ ...definition, options: { ...definition.options, ...options } }, null);
      return (await store.load(flow, { limit: 10, order: 'as_defined' }))?.dirty;
    };
    expect(await ordered({ order: 'oldest', delay: null })).toEqual(newest.toReversed());
    expect(await ordered({ order: 'newest', delay: null })).toEqual(newest);
    // Windows that are too young for a plan must not hide the others.
    expect(await ordered({ order: 'newest', delay: 1n })).toEqual(newest.toReversed());
  },

  'a window that was forced stays so until it is settled, and so does what is left of it': async ({ store }, flow) => {
    await store.begin(flow, null, bareState());
    const force = async () => (await dirtyOf(store, flow)).map(({ forced }) => forced);
    const mark = (forced?: boolean) =>
      store.markDirty([{ flow, range: hours(1n, 4n), ...(forced === undefined ? {} : { forced }) }]);
    await mark();
    expect(await force()).toEqual([false]);
    await mark(true);
    await mark();
    expect(await force()).toEqual([true]);
    await store.settle(flow, consumedOf(await dirtyOf(store, flow), [hours(1n)]));
    expect(await dirtyOf(store, flow)).toMatchObject([{ ...hours(1n), forced: true }]);
    await store.settle(flow, consumedOf(await dirtyOf(store, flow)));
    await store.markDirty([
      { flow, range: hours(1n), forced: true },
      { flow, range: hours(1n) },
    ]);
    await mark(false);
    expect(await force()).toEqual([false, true]);
  },

  'oldest first gives the same windows the other way round': async ({ store }, flow) => {
    const newest = await withDirty(store, flow, [hours(-3n), hours(5n), hours(0n)]);
    const loaded = await store.load(flow, { limit: 10, order: 'oldest' });
    expect(loaded).toMatchObject({ dirty: newest.toReversed(), more: false });
  },

  'a bound of dirty windows is kept exactly in both orders, and says whether there are more': async (
    { store },
    flow,
  ) => {
    const ranges = Array.from({ length: 7 }, (_, i) => hours(BigInt(i) - 3n));
    await withDirty(store, flow, ranges);
    const definition = sampleDefinition(flow);
    // The bound counts dirty windows only, not what else is in the partition.
    for (const stored of [false, true]) {
      if (stored) await store.putDefinition(definition, null);
      for (const limit of [1, 3, 6, 7, 8]) {
        for (const order of ['newest', 'oldest'] as const) {
          const loaded = await store.load(flow, { limit, order });
          const expected = order === 'newest' ? ranges.toReversed() : ranges;
          expect(rangesOf(loaded?.dirty ?? [])).toEqual(expected.slice(0, limit));
          expect(loaded?.more).toBe(limit < 7);
          expect(loaded?.state).toEqual(bareState());
          expect(loaded?.definition).toEqual(stored ? definition : null);
        }
      }
    }
  },

  'more than a hundred dirty windows': async ({ store }, flow) => {
    const ranges = Array.from({ length: 250 }, (_, i) => hours(BigInt(i) - 125n));
    await withDirty(store, flow, ranges);
    const newest = await store.load(flow, { limit: 100, order: 'newest' });
    expect(rangesOf(newest?.dirty ?? [])).toEqual(ranges.toReversed().slice(0, 100));
    expect(newest?.more).toBe(true);
    const oldest = await store.load(flow, { limit: 100, order: 'oldest' });
    expect(rangesOf(oldest?.dirty ?? [])).toEqual(ranges.slice(0, 100));
    expect(oldest?.more).toBe(true);
    expect(await dirtyOf(store, flow)).toHaveLength(250);
  },

  'each mark has a version of its own, and a window marked again a new one': async ({ store, other }, flow) => {
    const first = await withDirty(store, flow, [hours(1n), hours(2n)]);
    await other.markDirty([{ flow, range: hours(1n) }]);
    const second = await dirtyOf(store, flow);
    expect(rangesOf(second)).toEqual(rangesOf(first));
    expect(new Set([...first, ...second].map((window) => window.version)).size).toBe(3);
  },

  'equal marks of one call are one window; overlapping ones are kept as they are': async ({ store }, flow) => {
    const ranges = [hours(1n), hours(1n), hours(1n, 3n), hours(2n, 3n)];
    const dirty = await withDirty(store, flow, ranges);
    expect(rangesOf(dirty)).toEqual([hours(2n, 3n), hours(1n, 3n), hours(1n)]);
  },

  'marks of several flows in one call': async ({ store }, flow) => {
    const names = HOSTILE_NAMES.map((name) => `${name.slice(0, 20)} m`);
    for (const name of names) await store.begin(name, null, bareState());
    await store.markDirty(names.map((name, i) => ({ flow: name, range: hours(BigInt(i)) })));
    for (const [i, name] of names.entries()) expect(rangesOf(await dirtyOf(store, name))).toEqual([hours(BigInt(i))]);
    expect(await dirtyOf(store, flow)).toEqual([]);
  },

  'no marks are no request': async ({ store, faults }) => {
    faults.plan('UpdateItem', 'server_error');
    await store.markDirty([]);
    expect(faults.spent).toBe(false);
    await store.markDirty([{ flow: 'spends the fault', range: hours(1n) }]);
  },

  'a mark whose answer is lost is there once': async ({ store, faults }, flow) => {
    await store.begin(flow, null, bareState());
    faults.plan('UpdateItem', 'answer_lost', 2);
    await store.markDirty([{ flow, range: hours(4n) }]);
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(4n)]);
  },

  'marks that fail are an error; repeating the call completes them': async ({ store, faults }, flow) => {
    await store.begin(flow, null, bareState());
    const marks = Array.from({ length: 40 }, (_, i) => ({ flow, range: hours(BigInt(i)) }));
    faults.plan('UpdateItem', 'not_sent', 200);
    await expect(store.markDirty(marks)).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
    faults.clear();
    await store.markDirty(marks);
    expect(await dirtyOf(store, flow)).toHaveLength(40);
  },

  'settle removes exactly the windows that it is given': async ({ store }, flow) => {
    const dirty = await withDirty(store, flow, [hours(1n), hours(2n), hours(3n)]);
    await store.settle(flow, consumedOf(dirty.slice(1)));
    expect(await dirtyOf(store, flow)).toEqual(dirty.slice(0, 1));
  },

  'settle puts back what a plan left of a window': async ({ store }, flow) => {
    const dirty = await withDirty(store, flow, [hours(0n, 10n)]);
    await store.settle(flow, consumedOf(dirty, [hours(0n, 2n), hours(7n, 10n)]));
    const left = await dirtyOf(store, flow);
    expect(rangesOf(left)).toEqual([hours(7n, 10n), hours(0n, 2n)]);
    expect(left.map((window) => window.version)).not.toContain(dirty[0]?.version);
  },

  'a window that a plan left whole stays': async ({ store }, flow) => {
    const dirty = await withDirty(store, flow, [hours(0n, 10n)]);
    await store.settle(flow, consumedOf(dirty, [hours(0n, 10n)]));
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(0n, 10n)]);
  },

  'a window marked again after it was read is not settled': async ({ store, other }, flow) => {
    const dirty = await withDirty(store, flow, [hours(1n), hours(2n)]);
    await other.markDirty([{ flow, range: hours(1n) }]);
    await store.settle(flow, consumedOf(dirty));
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(1n)]);
  },

  'a settle that is replayed spares a mark that was made after the first': async ({ store, other }, flow) => {
    const dirty = await withDirty(store, flow, [hours(1n)]);
    await store.settle(flow, consumedOf(dirty));
    await other.markDirty([{ flow, range: hours(1n) }]);
    const marked = await dirtyOf(store, flow);
    await store.settle(flow, consumedOf(dirty));
    await other.settle(flow, consumedOf(dirty));
    expect(await dirtyOf(store, flow)).toEqual(marked);
  },

  'a mark that arrives during a settle, before the delete is sent, stays': async ({ store, other, faults }, flow) => {
    const dirty = await withDirty(store, flow, [hours(1n)]);
    faults.before('DeleteItem', () => other.markDirty([{ flow, range: hours(1n) }]));
    await store.settle(flow, consumedOf(dirty));
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(1n)]);
  },

  'a mark between a delete whose answer is lost and its repetition stays': async ({ store, other, faults }, flow) => {
    const dirty = await withDirty(store, flow, [hours(1n)]);
    faults.before('DeleteItem', () => other.markDirty([{ flow, range: hours(1n) }]), 1);
    faults.plan('DeleteItem', 'answer_lost');
    await store.settle(flow, consumedOf(dirty));
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(1n)]);
  },

  'a settle that ends after any request leaves too much dirty, never too little': async ({ store, faults }, flow) => {
    const dirty = await withDirty(store, flow, [hours(0n, 10n)]);
    const consumed = consumedOf(dirty, [hours(0n, 2n), hours(7n, 10n)]);
    faults.plan('UpdateItem', 'not_sent', 3);
    await expect(store.settle(flow, consumed)).rejects.toMatchObject({ retryable: true });
    expect(await dirtyOf(store, flow)).toEqual(dirty);
    faults.plan('DeleteItem', 'not_sent', 3);
    await expect(store.settle(flow, consumed)).rejects.toMatchObject({ retryable: true });
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(7n, 10n), hours(0n, 10n), hours(0n, 2n)]);
    await store.settle(flow, consumed);
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(7n, 10n), hours(0n, 2n)]);
  },

  'clearDirty removes every window of a dropped flow and of no other': async ({ store }, flow) => {
    await store.begin(flow, null, bareState({ status: 'dropping' }));
    const marks = Array.from({ length: 120 }, (_, i) => ({ flow, range: hours(BigInt(i) - 60n) }));
    await store.markDirty(marks);
    const neighbour = `${flow}0`;
    await withDirty(store, neighbour, [hours(1n)]);
    await store.clearDirty(flow);
    await store.clearDirty(flow);
    expect(await dirtyOf(store, flow)).toEqual([]);
    expect(await dirtyOf(store, neighbour)).toHaveLength(1);
    expect(await store.load(flow, { limit: 1, order: 'newest' })).not.toBeNull();
  },

  'a clearDirty that comes late spares the marks of a successor of the same name': async (
    { store, other, faults },
    flow,
  ) => {
    const dropped = bareState({ status: 'dropping' });
    await store.begin(flow, null, dropped);
    await store.markDirty([{ flow, range: hours(1n) }]);
    const created = bareState({ epoch: 2n, version: 2n });
    // Frozen before its first request: the flow has been created anew when it goes on.
    faults.before('Query', async () => {
      await other.begin(flow, dropped, created);
      await other.markDirty([{ flow, range: hours(2n) }]);
    });
    await store.clearDirty(flow);
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(2n), hours(1n)]);
  },

  'a mark made between the reading and the deleting of clearDirty stays': async ({ store, other, faults }, flow) => {
    await store.begin(flow, null, bareState({ status: 'dropped' }));
    await store.markDirty([{ flow, range: hours(1n) }]);
    faults.before('DeleteItem', () => other.markDirty([{ flow, range: hours(1n) }]));
    await store.clearDirty(flow);
    expect(rangesOf(await dirtyOf(store, flow))).toEqual([hours(1n)]);
  },
};
