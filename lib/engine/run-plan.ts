import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { PlanRequest, PlanResult } from '../frontend/frontend.ts';
import type { FlowState, InFlightPlan, LoadedFlow, RunRecord } from '../store/flow-store.ts';
import { type Instant, instant } from '../window/instant.ts';
import { closePlan } from './close-plan.ts';
import type { EngineDeps } from './deps.ts';
import { markDownstream } from './downstream.ts';
import { effectiveDirty } from './effective-dirty.ts';
import { SINK_DRIFTED } from './heal-sink.ts';
import { leaseEnd, millisBetween, millisLeft } from './invocation.ts';
import type { Decision } from './planner.ts';
import { markEverything, outrunFence } from './restored.ts';
import { afterShrinking } from './source-age.ts';
import { acquire, concludePlan, type PlanFate } from './state.ts';
import type { TickOutcome, TickRequest } from './tick-request.ts';

/** Refusals that no retry mends: the data or the definition has to change first. */
const BLOCKING = new Set(['duplicate_sink_key', 'key_too_long', SINK_DRIFTED]);
/** A plan of unknown fate is looked into at once; a failed one waits for the clock. */
const GOES_ON_AT_ONCE = new Set(['outcome_unknown', 'history_diverged', 'sink_recreated']);

/** Begins the plan under a new epoch, runs it, and commits it or gives its windows back. */
export async function runPlan(
  deps: EngineDeps,
  request: TickRequest,
  definition: FlowDefinition,
  loaded: LoadedFlow,
  decision: Extract<Decision, { kind: 'plan' }>,
): Promise<TickOutcome> {
  const begun = acquire(loaded.state, request.owner, leaseEnd(request), decision.plan, decision.changes);
  const plan: InFlightPlan = { ...decision.plan, epoch: begun.epoch };
  await deps.store.begin(request.flow, loaded.state, begun);

  const asked = deps.clock();
  let result: PlanResult;
  try {
    result = await deps.frontend(definition.options.connection).run({
      definition,
      epoch: plan.epoch,
      applied: begun.applied,
      coverage: plan.coverage,
      ranges: plan.ranges,
      gridTime: plan.gridTime,
      source: sourceQuestion(definition, begun, plan),
      sinkIdentity: begun.sinkIdentity,
      budgetMs: millisLeft(request, asked),
    });
  } catch (error) {
    return concludeFailure(deps, definition, begun, plan, error, asked);
  }

  const { sinkIdentity, ...rows } = result;
  const written = rows.inserted + rows.updated + rows.deleted;
  // Before the commit: whatever becomes of this worker, a flow that reads the sink misses nothing that was written to it.
  if (written > 0n) await markDownstream(deps, definition, plan);
  const answered = deps.clock();
  const fate: PlanFate = {
    kind: 'applied',
    rows: written,
    outstanding: effectiveDirty(loaded).unsettled,
    seen: { sinkIdentity, ...(rows.sourceOldest === null ? {} : { sourceOldest: rows.sourceOldest }) },
  };
  const next = concludePlan(begun, fate, definition, answered);
  const record = runRecord(plan, asked, answered, { outcome: 'committed', reason: decision.reason, rows });
  const lost = await closePlan(deps, request.flow, 'commit', begun, next, record);
  if (lost !== null) return { action: 'abandoned', reason: lost, epoch: plan.epoch, more: false };
  return { action: 'committed', reason: decision.reason, epoch: plan.epoch, rows, more: plan.more };
}

async function concludeFailure(
  deps: EngineDeps,
  definition: FlowDefinition,
  begun: FlowState,
  plan: InFlightPlan,
  thrown: unknown,
  asked: Instant,
): Promise<TickOutcome> {
  const flow = definition.name;
  const answered = deps.clock();
  const error = asSluiceError(thrown);
  if (error.code === 'fenced') {
    const reason = await outrunFence(deps, definition, begun, error);
    return { action: 'abandoned', reason, epoch: plan.epoch, more: false };
  }
  if (error.code === 'history_diverged' || error.code === 'sink_recreated') await markEverything(deps, flow);
  const next = concludePlan(begun, fateOf(error, definition, begun, answered), definition, answered);
  const outcome = next.inFlight === null ? 'failed' : 'abandoned';
  const record = runRecord(plan, asked, answered, { outcome, reason: `${error.code}: ${error.message}`, rows: null });
  const lost = await closePlan(deps, flow, 'abort', begun, next, record);
  if (error.code === 'internal') throw thrown;
  const more = lost === null && GOES_ON_AT_ONCE.has(error.code);
  // What is reported comes before what follows from it: the sink follows a source that shrank at the next tick, unless it keeps.
  const keeps = lost === null && error.code === 'source_shrunk' && definition.options.onDelete === 'keep';
  return { action: 'failed', reason: lost ?? error.message, epoch: plan.epoch, more: more || keeps };
}

/**
 * A plan that may reach the old end of the source asks whether that is where it was. With `on_delete = keep` each plan does: rows may be
 * gone from anywhere before the oldest that is left.
 */
function sourceQuestion(
  { compiled, options }: FlowDefinition,
  { sourceOldest }: FlowState,
  { ranges }: InFlightPlan,
): PlanRequest['source'] {
  const first = ranges[0]?.start;
  if (compiled.window === null || first === undefined) return null;
  const reaches = options.onDelete === 'keep' || sourceOldest === null || first <= sourceOldest;
  return reaches ? { oldest: sourceOldest } : null;
}

/** What is not known to have been rolled back counts as unknown, so that the fence is asked before anything else runs. */
function fateOf(error: SluiceError, definition: FlowDefinition, begun: FlowState, at: Instant): PlanFate {
  const shown = { code: error.code, message: error.message, at };
  switch (error.code) {
    case 'outcome_unknown':
    case 'internal':
      return { kind: 'unknown', error: shown };
    case 'history_diverged':
      return { kind: 'diverged', error: shown, applied: error.details.applied ?? 0n };
    case 'source_shrunk': {
      const { oldest = null } = error.details;
      return {
        kind: 'outdated',
        change: afterShrinking(definition, begun, oldest === null ? null : instant(oldest), at),
      };
    }
    case 'sink_recreated':
      return { kind: 'outdated', change: { sinkIdentity: error.details.identity ?? null, lastError: shown } };
    default:
      return { kind: 'failed', error: shown, blocks: BLOCKING.has(error.code) };
  }
}

function asSluiceError(thrown: unknown): SluiceError {
  if (thrown instanceof SluiceError) return thrown;
  return new SluiceError('internal', 'the plan ended in an unexpected error; see the log', { cause: thrown });
}

function runRecord(
  plan: InFlightPlan,
  asked: Instant,
  answered: Instant,
  end: Pick<RunRecord, 'outcome' | 'reason' | 'rows'>,
): RunRecord {
  return {
    at: answered,
    epoch: plan.epoch,
    coverage: plan.coverage,
    ranges: plan.ranges,
    gridTime: plan.gridTime,
    queryMs: millisBetween(asked, answered),
    tickMs: millisBetween(plan.startedAt, answered),
    ...end,
  };
}
