import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { Frontend } from '../frontend/frontend.ts';
import type { FlowState, LoadedFlow } from '../store/flow-store.ts';
import { type Instant, type Micros, plus, SECOND } from '../window/instant.ts';
import type { EngineDeps } from './deps.ts';
import { markEverything } from './restored.ts';
import { acquire, leaseIsActive, NEW_FLOW_STATE } from './state.ts';

export type Change = 'create' | 'replace' | 'drop' | 'pause' | 'resume';

/** A change that ends half-way is taken up again by whoever comes after this long. */
const CHANGE_LEASE: Micros = 60n * SECOND;
export const FENCE_BUDGET_MS = 10_000;
/** Ticks write the same item all the time; losing to one of them is no reason to refuse a user's change. */
const ATTEMPTS = 10;

const OWNER_PREFIX = 'change: ';

/**
 * Takes a new epoch for a change of the definition. A tick that holds the lease does not stop it: its plan fails at the fence.
 * Another change does, until it is finished or its lease lapses: `conflict` with the holder.
 */
export async function takeForChange(
  deps: EngineDeps,
  flow: string,
  change: Change,
  prepare: (loaded: LoadedFlow | null) => FlowState,
): Promise<{ readonly held: FlowState; readonly loaded: LoadedFlow | null }> {
  for (let attempt = 1; ; attempt++) {
    const loaded = await deps.store.load(flow, { limit: 1, order: 'newest' });
    const wanted = prepare(loaded);
    const now = deps.clock();
    refuseWhileChanging(flow, loaded?.state ?? NEW_FLOW_STATE, now);
    const held = acquire(wanted, OWNER_PREFIX + change, plus(now, CHANGE_LEASE), null);
    try {
      await deps.store.begin(flow, loaded?.state ?? null, held);
      return { held, loaded };
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'conflict' || attempt === ATTEMPTS) throw error;
    }
  }
}

export function refuseWhileChanging(flow: string, state: FlowState, now: Instant): void {
  if (!leaseIsActive(state.lease, now) || !state.lease.owner.startsWith(OWNER_PREFIX)) return;
  throw new SluiceError(
    'conflict',
    `flow ${flow} is being changed (${state.lease.owner}); try again when that is done`,
    {
      retryable: true,
      details: { holder: state.lease.owner },
    },
  );
}

/**
 * Raises the fence to the epoch that is held, so that no plan of an older one can still write. A fence that is already higher,
 * while the epoch is still held, comes from a history that the store no longer knows: the epoch jumps above it.
 */
export async function raiseFence(
  deps: EngineDeps,
  frontend: Frontend,
  flow: string,
  taken: FlowState,
): Promise<{ readonly held: FlowState; readonly applied: bigint }> {
  let held = taken;
  for (let attempt = 1; ; attempt++) {
    try {
      const { applied } = await frontend.fence(flow, held.epoch, FENCE_BUDGET_MS);
      return { held, applied };
    } catch (error) {
      const fence = error instanceof SluiceError && error.code === 'fenced' ? error.details.fence : undefined;
      if (fence === undefined || attempt === ATTEMPTS) throw error;
      await markEverything(deps, flow);
      const epoch = fence + 1n;
      const lease = held.lease && { ...held.lease, epoch };
      const above: FlowState = { ...held, epoch, version: held.version + 1n, lease };
      await deps.store.begin(flow, held, above);
      held = above;
    }
  }
}

/** What is still true of what a sink was brought to. `nothing`: it was computed by another query, or by none. */
export type Kept = 'all' | 'source_age' | 'nothing';

/** The state once a definition is in force. `kept`: with `source_age`, everything is dirty, but the sources are the same. */
export function inForce(held: FlowState, definition: FlowDefinition, applied: bigint, kept: Kept): FlowState {
  const settled: FlowState = {
    ...held,
    version: held.version + 1n,
    status: held.status === 'paused' ? 'paused' : 'active',
    generation: definition.generation,
    lease: null,
    inFlight: null,
    applied,
    blocked: null,
    failures: 0,
    windowLimit: null,
    lastError: null,
    nextDueAt: null,
  };
  if (kept === 'all') return settled;
  const age = kept === 'nothing' ? { sourceOldest: null, frozenBefore: null, sourceShrunk: null } : {};
  const rebuilt = {
    settle: [],
    mode: 'full_snapshot',
    checkpoints: {},
    lastGridTime: null,
    lookbackAt: null,
    sinkIdentity: null,
    aside: [],
  } as const;
  return { ...settled, ...rebuilt, ...age };
}
