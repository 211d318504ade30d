import type { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState } from '../store/flow-store.ts';
import { ALL_TIME } from '../window/time-range.ts';
import type { EngineDeps } from './deps.ts';

/** Everything that the flow has ever read or written is dirty. */
export async function markEverything(deps: EngineDeps, flow: string): Promise<void> {
  await deps.store.markDirty([{ flow, range: ALL_TIME }]);
}

/**
 * A plan was refused by a fence above its epoch. Usually another worker has taken the lease over, and nothing is to be done.
 * If the store still shows this worker's own epoch, the fence comes from a history that the store no longer knows: the
 * state table was restored. The epoch then jumps above the fence and everything is dirty.
 */
export async function outrunFence(
  deps: EngineDeps,
  definition: FlowDefinition,
  begun: FlowState,
  refusal: SluiceError,
): Promise<string> {
  const flow = definition.name;
  const current = await deps.store.load(flow, { limit: 1, order: 'newest' });
  if (current === null || current.state.epoch !== begun.epoch || current.state.version !== begun.version) {
    return 'another worker has taken the flow over';
  }
  await markEverything(deps, flow);
  const fence = refusal.details.fence ?? begun.epoch;
  await deps.store.abort(flow, begun, {
    ...begun,
    epoch: fence + 1n,
    version: begun.version + 1n,
    lease: null,
    inFlight: null,
    settle: [],
  });
  return `the state table is behind the fence at epoch ${fence}: everything is dirty`;
}
