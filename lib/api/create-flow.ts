import type { EngineDeps } from '../engine/deps.ts';
import { type CreateMode, type CreateOutcome, createFlow, existing } from '../engine/lifecycle.ts';
import { applyChange, type FlowChange, isCommentOnly } from '../flow/flow-change.ts';
import type { FlowInput } from '../flow/flow-input.ts';
import { withoutPosition } from '../flow/text-position.ts';
import { type CompiledFlow, compileFlow, type FlowDraft } from '../sql/compile-flow.ts';
import type { Outcome } from './route.ts';
import { flowView } from './views.ts';

/** Analyses a flow, brings it into force, and answers with what it has become: 201 where it was not there before. */
export async function createFromInput(engine: EngineDeps, input: FlowInput, mode: CreateMode): Promise<Outcome> {
  if (mode === 'if_not_exists') {
    const present = await definitionOf(engine, input.name);
    if (present !== null) {
      // The statement asks for nothing but that the flow is there; what it says of the flow is not looked at.
      const made = await createFlow(engine, present, mode);
      return answer(engine, made.outcome, made, present, []);
    }
  }
  const { draft, warnings } = await compileFlow(input, engine.frontend(input.options.connection));
  const made = await createFlow(engine, draft, mode);
  return answer(engine, made.outcome, made, draft, warnings);
}

/** Changes what the change names and leaves the rest of the flow as it is. Throws `flow_not_found`. */
export async function alterFlow(engine: EngineDeps, name: string, change: FlowChange): Promise<Outcome> {
  const { definition } = existing(name, await engine.store.load(name, { limit: 1, order: 'newest' }));
  const input = applyChange(definition, change);
  const { draft, warnings }: Pick<CompiledFlow, 'draft' | 'warnings'> = isCommentOnly(change)
    ? { draft: { ...definition, comment: input.comment }, warnings: [] }
    : await compileFlow(input, engine.frontend(input.options.connection)).catch((error: unknown) => {
        throw withoutPosition(error);
      });
  const made = await createFlow(engine, draft, 'or_replace', definition.generation);
  return answer(engine, 'altered', made, draft, warnings);
}

async function answer(
  engine: EngineDeps,
  outcome: CreateOutcome['outcome'] | 'altered',
  { rebuild, reason }: CreateOutcome,
  draft: FlowDraft,
  warnings: readonly string[],
): Promise<Outcome> {
  const definition = (await definitionOf(engine, draft.name)) ?? { ...draft, generation: 0n };
  return {
    status: outcome === 'created' ? 201 : 200,
    body: { outcome, flow: flowView(definition), rebuild, rebuild_reason: reason, warnings: [...warnings] },
  };
}

async function definitionOf(engine: EngineDeps, name: string) {
  const loaded = await engine.store.load(name, { limit: 1, order: 'newest' });
  return loaded === null || loaded.state.status === 'dropping' ? null : loaded.definition;
}
