import type { EngineDeps } from '../engine/deps.ts';
import { type CreateMode, type CreateOutcome, createFlow, existing } from '../engine/lifecycle.ts';
import { applyChange, type FlowChange, isCommentOnly } from '../flow/flow-change.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { withoutPosition } from '../flow/text-position.ts';
import { compileFlow, type FlowDraft } from '../sql/compile-flow.ts';
import type { QueryInput } from '../sql/inputs.ts';
import type { Call, Outcome } from './route.ts';
import { flowView, inputsView, renamedView, storedInputs } from './views.ts';

/** A flow that has been analysed and not been brought into force. */
export interface Prepared {
  readonly draft: FlowDraft;
  readonly inputs: readonly QueryInput[];
  readonly warnings: readonly string[];
}

/** Analyses a flow, brings it into force, and answers with what it has become: 201 where it was not there before. */
export async function createFromInput(call: Call, input: FlowInput, mode: CreateMode): Promise<Outcome> {
  const { engine } = call.deps;
  const prepared = await compiledInput(call, input, mode);
  const made = await createFlow(engine, prepared.draft, mode);
  return answer(engine, made.outcome, made, prepared);
}

/** Changes what the change names and leaves the rest of the flow as it is. Throws `flow_not_found`. */
export async function alterFlow(call: Call, name: string, change: FlowChange): Promise<Outcome> {
  const { engine } = call.deps;
  const prepared = await altered(call, name, change);
  const made = await createFlow(engine, prepared.draft, 'or_replace', prepared.basedOn);
  return answer(engine, 'altered', made, prepared);
}

export async function compiledInput({ deps }: Call, input: FlowInput, mode: CreateMode): Promise<Prepared> {
  // IF NOT EXISTS asks for nothing but that the flow is there; what is said of a flow that is there is not looked at.
  const present = mode === 'if_not_exists' ? await definitionOf(deps.engine, input.name) : null;
  if (present !== null) return { draft: present, inputs: storedInputs(present.compiled), warnings: [] };
  return compileFlow(input, deps.engine.frontend(input.options.connection));
}

/** `basedOn`: the generation that was changed. */
export async function altered(
  { deps }: Call,
  name: string,
  change: FlowChange,
): Promise<Prepared & { readonly basedOn: bigint }> {
  const { engine } = deps;
  const { definition } = existing(name, await engine.store.load(name, { limit: 1, order: 'newest' }));
  const basedOn = definition.generation;
  const input = applyChange(definition, change);
  if (isCommentOnly(change)) {
    const inputs = storedInputs(definition.compiled);
    return { draft: { ...definition, comment: input.comment }, inputs, warnings: [], basedOn };
  }
  try {
    return { ...(await compileFlow(input, engine.frontend(input.options.connection))), basedOn };
  } catch (error) {
    throw withoutPosition(error);
  }
}

async function answer(
  engine: EngineDeps,
  outcome: CreateOutcome['outcome'] | 'altered',
  { rebuild, reason }: CreateOutcome,
  { draft, inputs, warnings }: Prepared,
): Promise<Outcome> {
  const definition = (await definitionOf(engine, draft.name)) ?? { ...draft, generation: 0n };
  return {
    status: outcome === 'created' ? 201 : 200,
    body: {
      outcome,
      flow: flowView(definition),
      inputs: inputsView(inputs),
      renamed: renamedView(definition),
      rebuild,
      rebuild_reason: reason,
      warnings: [...warnings],
    },
  };
}

async function definitionOf(engine: EngineDeps, name: string) {
  const loaded = await engine.store.load(name, { limit: 1, order: 'newest' });
  return loaded === null || loaded.state.status === 'dropping' ? null : loaded.definition;
}
