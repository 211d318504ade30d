import { SluiceError } from '../errors.ts';
import type { FlowState, LoadedFlow } from '../store/flow-store.ts';
import { INSTANT_MIN, type Instant, type Micros, plus } from '../window/instant.ts';
import { ALL_TIME, intersect, type TimeRange } from '../window/time-range.ts';
import { windowContaining } from '../window/windows.ts';
import { admissionAt } from './admission.ts';
import type { EngineDeps } from './deps.ts';
import { effectiveDirty } from './effective-dirty.ts';
import { existing } from './lifecycle.ts';

import { takeSurvey } from './survey.ts';

export type FlushOutcome =
  /** Every window up to now has been brought up to date; `rowsWritten` by the plans that ran meanwhile. */
  { readonly done: true; readonly rowsWritten: bigint } | { readonly done: false };

type Existing = ReturnType<typeof existing>;

const SURVEY_BUDGET_MS = 10_000;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;

/**
 * Marks everything from the expiry bound, or the first row of source or sink, up to and including the window of now; asks
 * for a tick; and watches the state for at most `waitMs`. It never runs a plan itself.
 *
 * Throws `flow_not_found`, and `conflict` for a flow that is paused, or that is blocked and stays so.
 */
export async function flushFlow(deps: EngineDeps, flow: string, { waitMs }: { waitMs: number }): Promise<FlushOutcome> {
  const end = plus(deps.clock(), BigInt(waitMs) * 1000n);
  const { before, range } = await wouldFlush(deps, flow);
  if (range === null) return { done: true, rowsWritten: 0n };
  await deps.store.markDirty([{ flow, range }]);
  await deps.schedule.requestTick(flow, 'flush');

  let pause = FIRST_WAIT_MS;
  while (remaining(deps, end) > 0n) {
    await deps.wait(Math.min(pause, Number(remaining(deps, end) / 1000n) + 1));
    pause = Math.min(pause * 2, LONGEST_WAIT_MS);
    const loaded = existing(flow, await load(deps, flow));
    if (loaded.state.blocked !== null) {
      throw new SluiceError('conflict', `flow ${flow} is blocked: ${loaded.state.blocked.message}`);
    }
    if (isDone(loaded, range)) return { done: true, rowsWritten: written(before.state, loaded.state) };
  }
  return { done: false };
}

/** What {@link flushFlow} would mark, null for nothing, and the flow as it is; with the same refusals. */
export async function wouldFlush(
  deps: EngineDeps,
  flow: string,
): Promise<{ readonly before: Existing; readonly range: TimeRange | null }> {
  const before = existing(flow, await load(deps, flow));
  if (before.state.status === 'paused') {
    throw new SluiceError('conflict', `flow ${flow} is paused; resume it first`);
  }
  if (before.state.blocked !== null) {
    throw new SluiceError(
      'conflict',
      `flow ${flow} is blocked: ${before.state.blocked.message}; mend that and resume it`,
    );
  }
  return { before, range: await flushRange(deps, before) };
}

/** Up to and including the window of now, as far as the flow takes windows up; null: there is nothing to bring up to date. */
async function flushRange(deps: EngineDeps, { definition, state }: Existing): Promise<TimeRange | null> {
  const { window } = definition.compiled;
  if (window === null) return ALL_TIME;
  const now = deps.clock();
  const { kept, accepted, ripe } = admissionAt(definition, state, now);
  const upToNow: TimeRange = { start: INSTANT_MIN, end: windowContaining(window.spec, now).end };
  const wanted = [kept, accepted, ripe].reduce<TimeRange | null>((a, b) => a && b && intersect(a, b), upToNow);
  if (wanted === null || wanted.start > INSTANT_MIN) return wanted;
  const frontend = deps.frontend(definition.options.connection);
  const { data } = await takeSurvey(frontend, definition, wanted, SURVEY_BUDGET_MS);
  return data && intersect(data, wanted) && { start: data.start, end: wanted.end };
}

function isDone(loaded: LoadedFlow, range: TimeRange): boolean {
  if (loaded.more || loaded.state.inFlight !== null) return false;
  const parts = effectiveDirty(loaded).pending.flatMap((window) => window.parts);
  return parts.every((part) => intersect(part, range) === null);
}

function written(before: FlowState, after: FlowState): bigint {
  return after.rowsWritten - before.rowsWritten;
}

function load(deps: EngineDeps, flow: string): Promise<LoadedFlow | null> {
  return deps.store.load(flow, { limit: 100, order: 'newest' });
}

function remaining(deps: EngineDeps, end: Instant): Micros {
  return end - deps.clock();
}
