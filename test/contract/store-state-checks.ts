import { expect } from 'vitest';
import type { FlowState, FlowStore } from '../../lib/store/flow-store.ts';
import { instant } from '../../lib/window/instant.ts';
import { bareState, HOSTILE_NAMES, NOON, sampleState, U64_MAX } from './store-samples.ts';
import type { StoreCheck } from './store-under-test.ts';

const NEWEST = { limit: 100, order: 'newest' } as const;

async function stateOf(store: FlowStore, flow: string): Promise<FlowState | undefined> {
  return (await store.load(flow, NEWEST))?.state;
}

/** As `acquire` of the engine does it. */
function begun(state: FlowState, owner: string): FlowState {
  const epoch = state.epoch + 1n;
  return { ...state, epoch, version: state.version + 1n, lease: { owner, epoch, expiresAt: NOON } };
}

function given(state: FlowState, changes: Partial<FlowState> = {}): FlowState {
  return { ...state, version: state.version + 1n, lease: null, inFlight: null, ...changes };
}

export const STATE_CHECKS: Record<string, StoreCheck> = {
  'load gives null for a flow that was never created, marked or not': async ({ store }, flow) => {
    expect(await store.load(flow, NEWEST)).toBeNull();
    await store.markDirty([{ flow, range: { start: instant(0n), end: instant(1n) } }]);
    expect(await store.load(flow, NEWEST)).toBeNull();
  },

  'a state comes back exactly, 64-bit numbers and negative instants too': async ({ store, other }, flow) => {
    const states = [bareState(), sampleState({ epoch: U64_MAX, version: U64_MAX - 1n, generation: U64_MAX })];
    for (const [i, state] of states.entries()) {
      await store.begin(`${flow} ${i}`, null, state);
      expect(await stateOf(other, `${flow} ${i}`)).toEqual(state);
    }
  },

  'a state that is replaced leaves nothing of the former one': async ({ store }, flow) => {
    const full = sampleState();
    await store.begin(flow, null, full);
    const bare = bareState({ epoch: full.epoch, version: full.version + 1n });
    await store.commit(flow, full, bare);
    expect(await stateOf(store, flow)).toEqual(bare);
  },

  'of two first writes one succeeds, and the other learns who holds the lease': async ({ store, other }, flow) => {
    await store.begin(flow, null, begun(bareState(), 'first'));
    await expect(other.begin(flow, null, begun(bareState(), 'second'))).rejects.toMatchObject({
      code: 'conflict',
      details: { holder: 'first' },
    });
    expect((await stateOf(store, flow))?.lease?.owner).toBe('first');
  },

  'of many begins on one state that run at once exactly one succeeds': async ({ store, other }, flow) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? store : other).begin(flow, state, begun(state, `worker ${i}`))),
    );
    const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []));
    expect(winners).toHaveLength(1);
    expect((await stateOf(store, flow))?.lease?.owner).toBe(`worker ${winners[0]}`);
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      expect(result.reason).toMatchObject({ code: 'conflict', details: { holder: `worker ${winners[0]}` } });
    }
  },

  'a commit after another worker took a new epoch is a conflict and changes nothing': async (
    { store, other },
    flow,
  ) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const mine = begun(state, 'frozen');
    await store.begin(flow, state, mine);
    const theirs = begun(mine, 'taker');
    await other.begin(flow, mine, theirs);
    await expect(store.commit(flow, mine, given(mine))).rejects.toMatchObject({
      code: 'conflict',
      details: { holder: 'taker' },
    });
    await expect(store.abort(flow, mine, given(mine))).rejects.toMatchObject({ code: 'conflict' });
    expect(await stateOf(store, flow)).toEqual(theirs);
  },

  'a write under the same epoch and an older version is a conflict, without a holder if nobody holds the lease': async (
    { store },
    flow,
  ) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const mine = begun(state, 'worker');
    await store.begin(flow, state, mine);
    await store.commit(flow, mine, given(mine));
    const late: unknown = await store.commit(flow, mine, given(mine, { failures: 1 })).catch((error: unknown) => error);
    expect(late).toMatchObject({ code: 'conflict' });
    expect((late as { details: object }).details).not.toHaveProperty('holder');
  },

  'a write on a state that does not exist is a conflict': async ({ store }, flow) => {
    const state = bareState();
    await expect(store.begin(flow, state, begun(state, 'worker'))).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.load(flow, NEWEST)).toBeNull();
  },

  'epochs are compared as numbers of 64 bits, not as floating point': async ({ store }, flow) => {
    const state = bareState({ epoch: 2n ** 53n });
    await store.begin(flow, null, state);
    const near = { epoch: 2n ** 53n + 1n, version: state.version };
    await expect(store.begin(flow, near, begun(state, 'near'))).rejects.toMatchObject({ code: 'conflict' });
    await store.begin(flow, state, begun(state, 'exact'));
    expect((await stateOf(store, flow))?.epoch).toBe(2n ** 53n + 1n);
  },

  'a begin whose answer is lost succeeds when it is sent again': async ({ store, faults }, flow) => {
    faults.plan('PutItem', 'answer_lost');
    await store.begin(flow, null, begun(bareState(), 'worker'));
    expect((await stateOf(store, flow))?.lease?.owner).toBe('worker');
  },

  'commit and abort whose answers are lost twice succeed': async ({ store, faults }, flow) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const mine = begun(state, 'worker');
    faults.plan('PutItem', 'answer_lost', 2);
    await store.begin(flow, state, mine);
    const committed = given(mine, { plansCommitted: 1n });
    faults.plan('PutItem', 'answer_lost', 2);
    await store.commit(flow, mine, committed);
    const again = begun(committed, 'worker');
    await store.begin(flow, committed, again);
    faults.plan('PutItem', 'answer_lost');
    await store.abort(flow, again, given(again, { failures: 1 }));
    expect(await stateOf(store, flow)).toMatchObject({ plansCommitted: 1n, failures: 1, lease: null });
  },

  'a caller that repeats a commit after every answer was lost is told that it succeeded': async (
    { store, faults },
    flow,
  ) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const next = begun(state, 'worker');
    faults.plan('PutItem', 'answer_lost', 3);
    await expect(store.begin(flow, state, next)).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
    await store.begin(flow, state, next);
    expect(await stateOf(store, flow)).toEqual(next);
  },

  'a lost answer does not hide that another worker wrote in between': async ({ store, other, faults }, flow) => {
    const state = bareState();
    await store.begin(flow, null, state);
    const mine = begun(state, 'mine');
    const theirs = begun(mine, 'theirs');
    // Applied; before the retry, another worker takes over.
    faults.before('PutItem', () => other.begin(flow, mine, theirs), 1);
    faults.plan('PutItem', 'answer_lost');
    await expect(store.begin(flow, state, mine)).rejects.toMatchObject({
      code: 'conflict',
      details: { holder: 'theirs' },
    });
    expect(await stateOf(store, flow)).toEqual(theirs);
  },

  'two changes that write equal states are not taken for each other': async ({ store, other }, flow) => {
    const state = bareState();
    await store.begin(flow, null, state);
    await store.begin(flow, state, begun(state, 'change: replace'));
    await expect(other.begin(flow, state, begun(state, 'change: replace'))).rejects.toMatchObject({ code: 'conflict' });
  },

  'a throttled or failing request is sent again': async ({ store, faults }, flow) => {
    const state = bareState();
    for (const fault of ['throttled', 'server_error', 'not_sent'] as const) {
      faults.plan('PutItem', fault);
      faults.plan('Query', fault);
      await store.begin(`${flow} ${fault}`, null, state);
      expect(await stateOf(store, `${flow} ${fault}`)).toEqual(state);
    }
  },

  'a store that keeps throttling or failing is a retryable error, and nothing is written': async (
    { store, faults },
    flow,
  ) => {
    const codes = { throttled: 'throttled', server_error: 'store_unavailable', not_sent: 'store_unavailable' } as const;
    for (const fault of ['throttled', 'server_error', 'not_sent'] as const) {
      faults.plan('PutItem', fault, 3);
      await expect(store.begin(flow, null, bareState())).rejects.toMatchObject({ code: codes[fault], retryable: true });
      faults.plan('Query', fault, 3);
      await expect(store.load(flow, NEWEST)).rejects.toMatchObject({ code: codes[fault], retryable: true });
    }
    expect(await store.load(flow, NEWEST)).toBeNull();
  },

  'flows with hostile names do not meet': async ({ store, other }) => {
    const states = new Map(HOSTILE_NAMES.map((name, i) => [name, bareState({ epoch: BigInt(i + 1) })]));
    for (const [name, state] of states) await store.begin(name, null, state);
    for (const [name, state] of states) expect(await stateOf(other, name)).toEqual(state);
  },

  'a name that cannot be a key is refused before anything is stored': async ({ store }) => {
    for (const name of ['', 'x'.repeat(64), 'ü'.repeat(32), 'half \ud83d', '\udc00\ud83d']) {
      await expect(store.begin(name, null, bareState())).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.load(name, NEWEST)).rejects.toMatchObject({ code: 'invalid_request' });
      const range = { start: instant(0n), end: instant(1n) };
      await expect(store.markDirty([{ flow: name, range }])).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.settle(name, [])).rejects.toMatchObject({ code: 'invalid_request' });
    }
  },

  'a plan that consumes 100 windows is stored, one of 101 is refused': async ({ store }, flow) => {
    const windows = Array.from({ length: 101 }, (_, i) => ({
      start: instant(BigInt(i)),
      end: instant(BigInt(i + 1)),
      version: `00000000-0000-4000-8000-00000000${i}`,
      forced: false,
      left: [{ start: instant(BigInt(i)), end: instant(BigInt(i + 1)) }],
    }));
    const inFlight = sampleState().inFlight;
    if (inFlight === null) throw new Error('the sample has a plan in flight');
    const full = windows.slice(0, 100);
    const state = sampleState({ inFlight: { ...inFlight, consumed: full }, settle: full });
    await store.begin(flow, null, state);
    expect(await stateOf(store, flow)).toEqual(state);
    const over = { ...state, version: state.version + 1n, inFlight: { ...inFlight, consumed: windows } };
    await expect(store.commit(flow, state, over)).rejects.toMatchObject({ code: 'internal' });
    // Beside those of its own plan, a commit names those of earlier ones that a load still showed.
    const settle = [...windows.slice(1), ...full.map((window) => ({ ...window, version: 'earlier' }))];
    const both = { ...state, version: state.version + 1n, settle };
    await store.commit(flow, state, both);
    expect(await stateOf(store, flow)).toEqual(both);
    const more = { ...both, version: both.version + 1n, settle: [...settle, ...windows.slice(0, 1)] };
    await expect(store.commit(flow, both, more)).rejects.toMatchObject({ code: 'internal' });
  },
};
