import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState, LoadedFlow } from '../store/flow-store.ts';
import type { Instant } from '../window/instant.ts';
import { adoptDefinition } from './adopt.ts';
import type { EngineDeps } from './deps.ts';
import { healSink, SINK_DRIFTED } from './heal-sink.ts';
import { LEAST_BUDGET_MS, millisLeft } from './invocation.ts';
import { lookbackRange } from './lookback.ts';
import { type Decision, planNext, waitsFor } from './planner.ts';
import { runPlan } from './run-plan.ts';
import { concludePlan, leaseIsActive, type PlanFate } from './state.ts';
import { takeSurvey } from './survey.ts';
import { takeOver } from './take-over.ts';
import type { TickOutcome, TickRequest } from './tick-request.ts';

/** Dirty windows read per tick, and so the most that one plan consumes. */
const DIRTY_WINDOWS_READ = 100;

/**
 * One tick of one flow: at most one plan is generated and run.
 *
 * Everything before the commit has no lasting effect but the fenced write to the sink; everything after it can be lost and
 * is done again by the next tick. Throws where the store cannot be reached before a plan has begun.
 */
export async function tick(deps: EngineDeps, request: TickRequest): Promise<TickOutcome> {
  const { store, clock } = deps;
  const loaded = await store.load(request.flow, { limit: DIRTY_WINDOWS_READ, order: 'as_defined' });
  const outcome = await decide(deps, request, loaded, clock()).catch((error: unknown) => {
    // The epoch moved between the read and the write: whoever moved it has the flow now.
    if (error instanceof SluiceError && error.code === 'conflict') return skipped(error.message);
    throw error;
  });
  deps.log({
    flow: request.flow,
    action: outcome.action,
    reason: outcome.reason,
    ...(outcome.epoch === undefined ? {} : { epoch: outcome.epoch }),
  });
  if (outcome.more) await askForTick(deps, request.flow);
  return outcome;
}

async function decide(
  deps: EngineDeps,
  request: TickRequest,
  loaded: LoadedFlow | null,
  now: Instant,
): Promise<TickOutcome> {
  if (loaded === null || loaded.definition === null) return idle('no such flow');
  const { state, definition } = loaded;
  if (leaseIsActive(state.lease, now)) {
    return skipped(`the lease is held by ${state.lease.owner}`);
  }
  if (state.status !== 'active' && state.status !== 'creating') return idle(`the flow is ${state.status}`);
  if (millisLeft(request, now) < LEAST_BUDGET_MS) return idle('too little time is left in this invocation');
  if (definition.generation !== state.generation) return adoptDefinition(deps, request, loaded);
  if (state.inFlight !== null) return takeOver(deps, request, definition, loaded, state.inFlight);
  if (state.blocked?.code === SINK_DRIFTED) return healSink(deps, request, definition, loaded);
  if (state.blocked !== null) return idle(`blocked: ${state.blocked.message}`);
  return runNextPlan(deps, request, definition, loaded, now);
}

async function runNextPlan(
  deps: EngineDeps,
  request: TickRequest,
  definition: FlowDefinition,
  before: LoadedFlow,
  now: Instant,
): Promise<TickOutcome> {
  const lookback = request.trigger === 'schedule' ? await markLookback(deps, definition, before, now) : null;
  const loaded = lookback ?? before;
  let decision = planNext(definition, loaded, now, request.trigger, null);
  if (decision.kind === 'survey') {
    try {
      const frontend = deps.frontend(definition.options.connection);
      const survey = await takeSurvey(frontend, definition, decision.within, millisLeft(request, deps.clock()));
      decision = planNext(definition, loaded, now, request.trigger, survey);
    } catch (error) {
      return recordFailure(deps, definition, loaded.state, error);
    }
  }
  switch (decision.kind) {
    case 'survey':
      throw new SluiceError('internal', `flow ${definition.name}: the planner asked for a second survey`);
    case 'idle':
      return stayIdle(deps, request.flow, loaded, decision);
    case 'plan': {
      const changes = lookback === null ? decision.changes : { ...decision.changes, lookbackAt: now };
      return runPlan(deps, request, definition, loaded, { ...decision, ...(changes && { changes }) });
    }
    default:
      return decision satisfies never;
  }
}

/** Marks first and reads again, so that what the plan does not get to stays dirty. null: nothing was to be marked. */
async function markLookback(
  deps: EngineDeps,
  definition: FlowDefinition,
  { state }: LoadedFlow,
  now: Instant,
): Promise<LoadedFlow | null> {
  const flow = definition.name;
  const range = waitsFor(definition, state, now, 'schedule') === null ? lookbackRange(definition, state, now) : null;
  if (range === null) return null;
  await deps.store.markDirty([{ flow, range }]);
  const loaded = await deps.store.load(flow, { limit: DIRTY_WINDOWS_READ, order: 'as_defined' });
  if (loaded?.state.version === state.version) return loaded;
  throw new SluiceError('conflict', `flow ${flow} was changed since it was read; load it again`);
}

/** What is set aside is recorded before its marks are taken away. */
async function stayIdle(
  deps: EngineDeps,
  flow: string,
  { state, more }: LoadedFlow,
  { reason, drop, changes = {} }: Extract<Decision, { kind: 'idle' }>,
): Promise<TickOutcome> {
  // A lapsed lease was left by somebody who ended between taking it and doing anything under it.
  if (state.lease !== null || Object.keys(changes).length > 0) {
    await deps.store.abort(flow, state, { ...state, ...changes, version: state.version + 1n, lease: null });
  }
  if (drop.length > 0) await deps.store.settle(flow, drop);
  return { action: 'idle', reason, more: more && drop.length > 0 };
}

/** A frontend that fails before a plan has begun is recorded all the same, so that the state shows why nothing happens. */
async function recordFailure(
  deps: EngineDeps,
  definition: FlowDefinition,
  state: FlowState,
  error: unknown,
): Promise<TickOutcome> {
  if (!(error instanceof SluiceError)) throw error;
  const now = deps.clock();
  const fate: PlanFate = {
    kind: 'failed',
    error: { code: error.code, message: error.message, at: now },
    blocks: false,
  };
  await deps.store.abort(definition.name, state, concludePlan(state, fate, definition, now));
  return { action: 'failed', reason: error.message, epoch: state.epoch, more: false };
}

function skipped(reason: string): TickOutcome {
  return { action: 'skipped', reason, more: false };
}

function idle(reason: string): TickOutcome {
  return { action: 'idle', reason, more: false };
}

async function askForTick(deps: EngineDeps, flow: string): Promise<void> {
  try {
    await deps.schedule.requestTick(flow, 'continue');
  } catch (error) {
    // The clock's next tick goes on with what is left.
    deps.log({ flow, action: 'continue_failed', reason: 'the further tick could not be asked for', error });
  }
}
