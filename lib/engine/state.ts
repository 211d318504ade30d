import type { FlowDefinition } from '../flow/definition.ts';
import type { ConsumedWindow, FlowState, InFlightPlan, Lease, RunError } from '../store/flow-store.ts';
import { subtract } from '../window/dirty-set.ts';
import type { Instant } from '../window/instant.ts';
import { nextDueAt } from './cadence.ts';
import { evalSchedule, gridTimesBetween } from './eval-schedule.ts';
import { identity } from './window-identity.ts';

/** The state of a flow that has never been: what CREATE starts from. */
export const NEW_FLOW_STATE: FlowState = {
  epoch: 0n,
  version: 0n,
  status: 'creating',
  generation: 0n,
  lease: null,
  inFlight: null,
  settle: [],
  applied: 0n,
  mode: 'full_snapshot',
  checkpoints: {},
  windowLimit: null,
  failures: 0,
  blocked: null,
  lastError: null,
  lastGridTime: null,
  gridTimesSkipped: 0n,
  nextDueAt: null,
  lookbackAt: null,
  aside: [],
  sinkIdentity: null,
  sourceOldest: null,
  frozenBefore: null,
  sourceShrunk: null,
  lastRunAt: null,
  plansCommitted: 0n,
  rowsWritten: 0n,
};

export function leaseIsActive(lease: Lease | null, now: Instant): lease is Lease {
  return lease !== null && lease.expiresAt > now;
}

/**
 * Takes the lease under a new epoch. A plan that is still in flight under an older epoch stays recorded until its fate is
 * known.
 */
export function acquire(
  state: FlowState,
  owner: string,
  expiresAt: Instant,
  plan: Omit<InFlightPlan, 'epoch'> | null,
  changes: Partial<FlowState> = {},
): FlowState {
  const epoch = state.epoch + 1n;
  return {
    ...state,
    ...changes,
    epoch,
    version: state.version + 1n,
    lease: { owner, epoch, expiresAt },
    inFlight: plan === null ? state.inFlight : { ...plan, epoch },
  };
}

/** What a plan in flight has come to. */
export type PlanFate =
  /** The sink's database has it. `rows`: written by it, where that is known. `seen`: what its transaction found out. */
  | {
      readonly kind: 'applied';
      readonly rows: bigint;
      readonly outstanding: readonly ConsumedWindow[];
      readonly seen: Partial<Pick<FlowState, 'sourceOldest' | 'sinkIdentity'>>;
    }
  /** Nothing of it was written. */
  | { readonly kind: 'failed'; readonly error: RunError; readonly blocks: boolean }
  /** Nothing was written, since source or sink are not what the state says, and what they are is `change`. */
  | { readonly kind: 'outdated'; readonly change: Partial<FlowState> }
  /** The commit was sent and its answer is lost: the next tick asks the fence. */
  | { readonly kind: 'unknown'; readonly error: RunError }
  /** Store and database do not share one history: one of them was restored. */
  | { readonly kind: 'diverged'; readonly error: RunError; readonly applied: bigint };

/**
 * The state after a plan, with the lease given back. After a failure the next plan takes one window; each success allows
 * one more, up to the flow's own limit.
 */
export function concludePlan(state: FlowState, fate: PlanFate, definition: FlowDefinition, now: Instant): FlowState {
  const plan = state.inFlight;
  const released: FlowState = { ...state, version: state.version + 1n, lease: null };
  switch (fate.kind) {
    case 'applied': {
      const grown = state.windowLimit === null ? null : state.windowLimit + 1;
      return {
        ...released,
        ...fate.seen,
        ...(plan === null ? {} : dealtWith(state, plan, definition)),
        inFlight: null,
        settle: mergeSettle(plan?.consumed ?? [], fate.outstanding),
        applied: plan?.epoch ?? state.applied,
        windowLimit: grown !== null && grown >= definition.options.maxWindows ? null : grown,
        failures: 0,
        blocked: null,
        lastError: null,
        aside: subtract(state.aside, plan?.ranges ?? []),
        nextDueAt: plan === null ? null : nextDueAt(definition, plan, now),
        lastRunAt: now,
        plansCommitted: state.plansCommitted + 1n,
        rowsWritten: state.rowsWritten + fate.rows,
      };
    }
    case 'failed':
      return {
        ...released,
        // Skipped rather than tried again: the dirty windows stay for the next grid time.
        ...(plan !== null && definition.options.missedTicks === 'skip'
          ? dealtWith(state, { ...plan, more: false }, definition)
          : {}),
        inFlight: null,
        windowLimit: 1,
        failures: state.failures + 1,
        blocked: fate.blocks ? fate.error : state.blocked,
        lastError: fate.error,
        nextDueAt: null,
        lastRunAt: now,
      };
    case 'outdated':
      return { ...released, ...fate.change, inFlight: null, nextDueAt: null };
    case 'unknown':
      return { ...released, lastError: fate.error, lastRunAt: now };
    case 'diverged':
      return { ...released, inFlight: null, applied: fate.applied, lastError: fate.error, lastRunAt: now };
    default:
      return fate satisfies never;
  }
}

/** The cursor of the grid after a plan. One that leaves windows behind is not through with its grid time. */
function dealtWith(
  { lastGridTime, gridTimesSkipped }: FlowState,
  plan: InFlightPlan,
  definition: FlowDefinition,
): Partial<FlowState> {
  const schedule = evalSchedule(definition);
  const { gridTime } = plan;
  if (schedule === null || gridTime === null || (lastGridTime !== null && gridTime <= lastGridTime)) return {};
  if (plan.coverage !== 'unfiltered_full') return plan.more ? {} : { lastGridTime: gridTime };
  const skipped = gridTimesBetween(schedule, lastGridTime, gridTime);
  return { lastGridTime: gridTime, gridTimesSkipped: gridTimesSkipped + skipped };
}

/** Windows consumed by this plan, and those of earlier ones that the store still shows, without the ones named twice. */
function mergeSettle(consumed: readonly ConsumedWindow[], outstanding: readonly ConsumedWindow[]): ConsumedWindow[] {
  const named = new Set(consumed.map(identity));
  return [...consumed, ...outstanding.filter((window) => !named.has(identity(window)))];
}
