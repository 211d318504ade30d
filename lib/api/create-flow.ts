import type { EngineDeps } from '../engine/deps.ts';
import { type CreateMode, createFlow } from '../engine/lifecycle.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { compileFlow } from '../sql/compile-flow.ts';
import type { Outcome } from './route.ts';
import { flowView } from './views.ts';

/** Analyses a flow, brings it into force, and answers with what it has become: 201 where it was not there before. */
export async function createFromInput(engine: EngineDeps, input: FlowInput, mode: CreateMode): Promise<Outcome> {
  if (mode === 'if_not_exists') {
    const present = await definitionOf(engine, input.name);
    if (present !== null) {
      // The statement asks for nothing but that the flow is there; what it says of the flow is not looked at.
      const outcome = await createFlow(engine, present, mode);
      return { status: 200, body: { outcome, flow: flowView(present), warnings: [] } };
    }
  }
  const { draft, warnings } = await compileFlow(input, engine.frontend(input.options.connection));
  const outcome = await createFlow(engine, draft, mode);
  const definition = (await definitionOf(engine, draft.name)) ?? { ...draft, generation: 0n };
  return {
    status: outcome === 'created' ? 201 : 200,
    body: { outcome, flow: flowView(definition), warnings: [...warnings] },
  };
}

async function definitionOf(engine: EngineDeps, name: string) {
  const loaded = await engine.store.load(name, { limit: 1, order: 'newest' });
  return loaded === null || loaded.state.status === 'dropping' ? null : loaded.definition;
}
