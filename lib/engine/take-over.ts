import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState, InFlightPlan, LoadedFlow } from '../store/flow-store.ts';
import type { Instant } from '../window/instant.ts';
import { closePlan } from './close-plan.ts';
import type { EngineDeps } from './deps.ts';
import { markDownstream } from './downstream.ts';
import { effectiveDirty } from './effective-dirty.ts';
import { leaseEnd, millisLeft } from './invocation.ts';
import { markEverything, outrunFence } from './restored.ts';
import { acquire, concludePlan, type PlanFate } from './state.ts';
import type { TickOutcome, TickRequest } from './tick-request.ts';

/**
 * A plan is in flight and nobody holds the lease: its worker is gone, frozen, or never learned what became of its commit.
 *
 * The lease is taken under a new epoch, then the fence is raised to it, which in the same statement tells the epoch applied
 * last. Raising comes first: an answer without it could be overtaken by the old worker's commit. If the plan was
 * applied its commit is completed; if not, its windows, which never left the store, are dirty still.
 */
export async function takeOver(
  deps: EngineDeps,
  request: TickRequest,
  definition: FlowDefinition,
  loaded: LoadedFlow,
  plan: InFlightPlan,
): Promise<TickOutcome> {
  const flow = request.flow;
  const held = acquire(loaded.state, request.owner, leaseEnd(request), null);
  await deps.store.begin(flow, loaded.state, held);

  let applied: bigint;
  try {
    const frontend = deps.frontend(definition.options.connection);
    ({ applied } = await frontend.fence(flow, held.epoch, millisLeft(request, deps.clock())));
  } catch (error) {
    return giveBack(deps, definition, held, error);
  }

  const now = deps.clock();
  const fate = fateOf(loaded, plan, applied, now);
  if (fate.kind === 'diverged') await markEverything(deps, flow);
  const recovered = fate.kind === 'applied';
  if (recovered) await markDownstream(deps, definition, plan);
  const reason = recovered
    ? `the plan of epoch ${plan.epoch} was applied: its commit is completed`
    : `the plan of epoch ${plan.epoch} was not applied: its windows are dirty again`;
  const lost = await closePlan(
    deps,
    flow,
    recovered ? 'commit' : 'abort',
    held,
    concludePlan(held, fate, definition, now),
    {
      at: now,
      epoch: plan.epoch,
      coverage: plan.coverage,
      ranges: plan.ranges,
      gridTime: plan.gridTime,
      outcome: recovered ? 'recovered' : 'abandoned',
      reason,
      rows: null,
      queryMs: 0,
      tickMs: Number((now - plan.startedAt) / 1000n),
    },
  );
  if (lost !== null) return { action: 'abandoned', reason: lost, epoch: held.epoch, more: false };
  return { action: 'recovered', reason, epoch: held.epoch, more: true };
}

function fateOf(loaded: LoadedFlow, plan: InFlightPlan, applied: bigint, at: Instant): PlanFate {
  if (applied === plan.epoch) {
    return { kind: 'applied', rows: 0n, outstanding: effectiveDirty(loaded).unsettled, seen: {} };
  }
  if (applied === loaded.state.applied) {
    const message = `the worker of epoch ${plan.epoch} ended without an answer`;
    return { kind: 'failed', error: { code: 'outcome_unknown', message, at }, blocks: false };
  }
  const message = `the database says that epoch ${applied} was applied last, the store says ${loaded.state.applied}`;
  return { kind: 'diverged', error: { code: 'history_diverged', message, at }, applied };
}

/** The fence could not be asked: the lease is given back with the plan still in flight, for the next tick to ask again. */
async function giveBack(
  deps: EngineDeps,
  definition: FlowDefinition,
  held: FlowState,
  thrown: unknown,
): Promise<TickOutcome> {
  if (!(thrown instanceof SluiceError)) throw thrown;
  if (thrown.code === 'fenced') {
    const reason = await outrunFence(deps, definition, held, thrown);
    return { action: 'abandoned', reason, epoch: held.epoch, more: false };
  }
  const now = deps.clock();
  const error = { code: thrown.code, message: thrown.message, at: now };
  const next = concludePlan(held, { kind: 'unknown', error }, definition, now);
  await deps.store.abort(definition.name, held, next);
  return { action: 'failed', reason: thrown.message, epoch: held.epoch, more: false };
}
