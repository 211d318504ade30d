import type { FlowDefinition } from '../flow/definition.ts';
import type { LoadedFlow } from '../store/flow-store.ts';
import type { Instant } from '../window/instant.ts';
import { isResting } from './cadence.ts';
import { dueGridTimes, evalSchedule, nextGridTime } from './eval-schedule.ts';
import { planNext } from './planner.ts';

export interface NextRun {
  /** null: nothing is to be run until something happens. */
  readonly at: Instant | null;
  readonly reason: string;
}

/** When a flow's next plan is to be expected, and why. Ticks come on their own; what they have to do is what is known here. */
export function nextRun(loaded: LoadedFlow & { readonly definition: FlowDefinition }, now: Instant): NextRun {
  const { state, definition } = loaded;
  if (state.status === 'paused') return { at: null, reason: 'the flow is paused' };
  if (state.blocked !== null) return { at: null, reason: 'the flow is blocked' };
  if (definition.generation !== state.generation)
    return { at: now, reason: 'the definition is to be brought into force' };
  if (state.inFlight !== null) return { at: now, reason: 'a plan is in flight' };
  const schedule = evalSchedule(definition);
  if (schedule !== null && dueGridTimes(schedule, state.lastGridTime, now).due.length === 0) {
    const after = state.lastGridTime !== null && state.lastGridTime > now ? state.lastGridTime : now;
    return { at: nextGridTime(schedule, after), reason: 'the next grid time' };
  }
  const asked = planNext(definition, loaded, now, 'request', null);
  if (asked.kind === 'idle' && definition.options.lookback === null) return { at: null, reason: asked.reason };
  if (isResting(state.nextDueAt, now)) return { at: state.nextDueAt, reason: 'resting after the last plan' };
  if (schedule !== null) return { at: now, reason: 'a grid time is due' };
  return { at: now, reason: asked.kind === 'idle' ? 'the lookback is refreshed at each run' : 'windows are dirty' };
}
