import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { LoadedFlow } from '../store/flow-store.ts';
import type { EngineDeps } from './deps.ts';
import { millisLeft } from './invocation.ts';
import { markEverything } from './restored.ts';
import type { TickOutcome, TickRequest } from './tick-request.ts';

/** Code of the refusal by a sink that no longer takes what the flow writes. */
export const SINK_DRIFTED = 'sink_drifted';

/**
 * A flow that is blocked by its sink looks at it at every tick, and goes on as soon as it fits again. What became of its rows meanwhile
 * is not known (a column dropped and added again is empty), so everything is dirty.
 */
export async function healSink(
  deps: EngineDeps,
  request: TickRequest,
  definition: FlowDefinition,
  { state }: LoadedFlow,
): Promise<TickOutcome> {
  let identity: string;
  try {
    const frontend = deps.frontend(definition.options.connection);
    ({ identity } = await frontend.checkSink(definition, millisLeft(request, deps.clock())));
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return { action: 'idle', reason: `blocked: ${error.message}`, more: false };
  }
  await markEverything(deps, request.flow);
  const released = { ...state, version: state.version + 1n, lease: null };
  // The windows were not at fault, so that there is nothing to go about carefully.
  const healed = {
    ...released,
    sinkIdentity: identity,
    blocked: null,
    lastError: null,
    failures: 0,
    windowLimit: null,
  };
  await deps.store.abort(request.flow, state, healed);
  return { action: 'healed', reason: 'the sink fits again', more: true };
}
