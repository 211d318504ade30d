import type { LoadedFlow } from '../store/flow-store.ts';
import { inForce, raiseFence } from './definition-change.ts';
import type { EngineDeps } from './deps.ts';
import { leaseEnd } from './invocation.ts';
import { markEverything } from './restored.ts';
import { acquire } from './state.ts';
import type { TickOutcome, TickRequest } from './tick-request.ts';

/**
 * The stored definition is newer than the state: a CREATE or REPLACE ended half-way, after it had written the definition.
 * Its remaining steps are done here. Whether the marks had been written cannot be known, so everything is dirty.
 */
export async function adoptDefinition(
  deps: EngineDeps,
  request: TickRequest,
  loaded: LoadedFlow,
): Promise<TickOutcome> {
  const { definition, state } = loaded;
  if (definition === null) return { action: 'idle', reason: 'no such flow', more: false };
  const flow = request.flow;
  const taken = acquire(state, request.owner, leaseEnd(request), null);
  await deps.store.begin(flow, state, taken);
  const frontend = deps.frontend(definition.options.connection);
  const { held, applied } = await raiseFence(deps, frontend, flow, taken);
  await markEverything(deps, flow);
  await deps.store.commit(flow, held, inForce(held, definition, applied, 'nothing'));
  const reason = 'a definition whose change had ended half-way is in force now; everything is dirty';
  return { action: 'adopted', reason, epoch: held.epoch, more: true };
}
