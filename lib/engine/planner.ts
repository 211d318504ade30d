import type { CompiledWindow, FlowDefinition } from '../flow/definition.ts';
import type { ConsumedWindow, FlowState, InFlightPlan, LoadedFlow } from '../store/flow-store.ts';
import { clip, joinNear, normalize, subtract, takeWindows } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import { alignOutwards, stepWindows } from '../window/windows.ts';
import { type Admission, admissionAt, type Divided, divide, setAside } from './admission.ts';
import { isResting } from './cadence.ts';
import { effectiveDirty, type PendingWindow } from './effective-dirty.ts';
import { dueGridTimes, evalSchedule, gridTimeAt } from './eval-schedule.ts';
import { firstSight } from './source-age.ts';
import type { Survey } from './survey.ts';

/** `schedule`: the clock's own tick, which keeps to the grid and to rests. `request`: somebody asked, or work was left. */
export type Trigger = 'schedule' | 'request';

/** What a decision makes of the state besides its plan. Absent: nothing. */
export type StateChanges = Partial<Pick<FlowState, 'aside' | 'sourceOldest' | 'frozenBefore'>>;

export type Decision =
  /** Nothing to run. `drop`: dirty windows that need no plan, since they are expired, set aside, empty on both sides or consumed. */
  | {
      readonly kind: 'idle';
      readonly reason: string;
      readonly drop: readonly ConsumedWindow[];
      readonly changes?: StateChanges;
    }
  /** Where inside `within` the source or the sink has rows has to be known first. */
  | { readonly kind: 'survey'; readonly within: TimeRange }
  | {
      readonly kind: 'plan';
      readonly plan: Omit<InFlightPlan, 'epoch'>;
      readonly reason: string;
      readonly changes?: StateChanges;
    };

/**
 * What the next plan of a flow is: a pure function of what was loaded. Called a second time with the survey where the first
 * answer asked for one.
 *
 * Why a survey bounds long ranges, and why only those: one bad timestamp must not make millions of empty windows, and a day
 * deleted from the source must still be cleaned out of the sink; short ranges cost less than asking.
 */
export function planNext(
  definition: FlowDefinition,
  loaded: LoadedFlow,
  now: Instant,
  trigger: Trigger,
  survey: Survey | null,
): Decision {
  const { window } = definition.compiled;
  if (window === null) return planWhole(definition, loaded, now);
  const waits = waitsFor(definition, loaded.state, now, trigger);
  if (waits !== null) return { kind: 'idle', reason: waits, drop: [] };
  const gridTime = windowedGridTime(definition, loaded.state, now);
  return planWindows(definition, window, loaded, { now, gridTime, time: gridTime ?? now }, survey);
}

/** Why a flow with windows does not run now; null: it may. */
export function waitsFor(definition: FlowDefinition, state: FlowState, now: Instant, trigger: Trigger): string | null {
  if (trigger !== 'schedule') return null;
  const schedule = evalSchedule(definition);
  if (schedule !== null) {
    // The dirty windows cover whatever passed: which of the missed grid times finds them makes no difference.
    const { due } = dueGridTimes({ ...schedule, missed: 'latest' }, state.lastGridTime, now);
    return due.length > 0 ? null : 'not due before the next grid time';
  }
  return isResting(state.nextDueAt, now) ? 'resting after the last plan' : null;
}

/** Grid time that a plan over windows runs under; never an earlier one than the last. */
function windowedGridTime(definition: FlowDefinition, { lastGridTime }: FlowState, now: Instant): Instant | null {
  const schedule = evalSchedule(definition);
  const time = schedule && gridTimeAt(schedule, now);
  return time === null || (lastGridTime !== null && time < lastGridTime) ? lastGridTime : time;
}

interface Moment {
  readonly now: Instant;
  readonly gridTime: Instant | null;
  /** The one that counts for everything that ages. */
  readonly time: Instant;
}

/** A stored dirty window with what becomes of each part of it. */
interface SortedWindow extends Divided {
  readonly stored: PendingWindow['stored'];
}

function planWindows(
  definition: FlowDefinition,
  window: CompiledWindow,
  loaded: LoadedFlow,
  { now, gridTime, time }: Moment,
  survey: Survey | null,
): Decision {
  const { pending, unsettled } = effectiveDirty(loaded);
  const sight = pending.length === 0 ? {} : firstSight(definition, loaded.state, survey, time);
  if (sight === 'unknown') return { kind: 'survey', within: ALL_TIME };
  const admission = admissionAt(definition, { ...loaded.state, ...sight }, time);
  const sorted = pending.map((entry) => sortParts(window, entry, admission, survey));
  const again = divide(loaded.state.aside, admission).live;
  const ranges = normalize([...sorted.flatMap(({ live }) => live), ...again]);
  const found = sorted.flatMap(({ aside }) => aside);

  const { maxRanges, maxWindows, mergeDistance, order } = definition.options;
  if (survey === null && [...ranges, ...found].some((range) => isLongerThan(range, window, maxWindows))) {
    // What waits is asked about as well: it would be taken for times without rows otherwise.
    const waiting = sorted.flatMap((entry) => entry.waiting);
    return { kind: 'survey', within: hull(normalize([...ranges, ...found, ...waiting])) };
  }
  const aside = setAside(loaded.state.aside, found, admission);
  const changes = { ...(sameRanges(aside, loaded.state.aside) ? {} : { aside }), ...sight };
  const changed = Object.keys(changes).length === 0 ? {} : { changes };
  if (ranges.length === 0) {
    const drop = [...sorted.flatMap((entry) => consume(entry, [])), ...consumedWhole(unsettled)];
    return { kind: 'idle', reason: idleReason(sorted), drop, ...changed };
  }

  const limit = loaded.state.windowLimit;
  const joined =
    limit === null ? joinLive(ranges, window, mergeDistance, admission) : pastFailures(definition, loaded, ranges);
  const { taken } = takeWindows(joined, window.spec, {
    maxRanges: Math.min(maxRanges, limit ?? maxRanges),
    maxWindows: Math.min(maxWindows, limit ?? maxWindows),
    order,
  });
  const left = subtract(ranges, taken);
  return {
    kind: 'plan',
    reason: `${taken.length} of ${taken.length + left.length} dirty ranges${limit === null ? '' : `, at most ${limit} after a failure`}`,
    plan: {
      coverage: 'scoped_base_repair',
      ranges: taken,
      consumed: sorted.flatMap((entry) => consume(entry, taken)),
      gridTime,
      startedAt: now,
      more: left.length > 0 || loaded.more,
    },
    ...changed,
  };
}

/** Joins near neighbours, but never over times that no plan may touch. */
function joinLive(
  ranges: readonly TimeRange[],
  { spec }: CompiledWindow,
  distance: number,
  admission: Admission,
): readonly TimeRange[] {
  const joined = joinNear(ranges, spec, distance);
  return normalize([...divide(joined, admission).live, ...ranges]);
}

function idleReason(sorted: readonly SortedWindow[]): string {
  if (sorted.length === 0) return 'no dirty windows';
  if (sorted.some(({ waiting }) => waiting.length > 0)) return 'the dirty windows are younger than the delay';
  if (sorted.some(({ aside }) => aside.length > 0)) return 'the dirty windows are set aside';
  return 'the dirty windows are expired or hold no rows';
}

/** Each grid time whole. A run that somebody asked for between grid times repeats the last one. */
function planWhole(definition: FlowDefinition, loaded: LoadedFlow, now: Instant): Decision {
  const schedule = evalSchedule(definition);
  if (schedule === null) {
    return { kind: 'idle', reason: `flow ${definition.name} has neither a window nor an eval interval`, drop: [] };
  }
  const { pending, unsettled } = effectiveDirty(loaded);
  const { lastGridTime } = loaded.state;
  const { due } = dueGridTimes(schedule, lastGridTime, now);
  const [oldest] = due;
  const between = pending.length > 0 ? (lastGridTime ?? gridTimeAt(schedule, now)) : null;
  const gridTime = oldest ?? between;
  if (gridTime === null) {
    return { kind: 'idle', reason: 'not due before the next grid time', drop: consumedWhole(unsettled) };
  }
  return {
    kind: 'plan',
    reason: oldest === undefined ? 'asked for between grid times' : 'a grid time is due',
    plan: {
      coverage: 'unfiltered_full',
      ranges: [],
      consumed: pending.map((entry) => ({ ...entry.stored, left: [] })),
      gridTime,
      startedAt: now,
      more: due.length > 1 || loaded.more,
    },
  };
}

/** What was forced is live, whatever the bounds say. */
function sortParts(
  { spec }: CompiledWindow,
  { stored, parts }: PendingWindow,
  admission: Admission,
  survey: Survey | null,
): SortedWindow {
  // A definition that was replaced may have left windows of another length behind.
  const aligned = normalize(parts.map((part) => alignOutwards(spec, part)));
  const held = survey === null ? aligned : survey.data === null ? [] : clip(aligned, survey.data);
  const divided = stored.forced ? { live: held, waiting: [], aside: [] } : divide(held, admission);
  return { stored, ...divided };
}

/** So many windows take turns while plans fail. */
const TURNS = 100;

/**
 * After several failures in a row, each try begins one window further on, in turn: a window whose query always fails must
 * not keep all others waiting.
 */
function pastFailures(
  definition: FlowDefinition,
  loaded: LoadedFlow,
  ranges: readonly TimeRange[],
): readonly TimeRange[] {
  const { window } = definition.compiled;
  const { failures } = loaded.state;
  if (window === null || failures < 2) return ranges;
  const { order } = definition.options;
  const windowsOf = (most: number) => takeWindows(ranges, window.spec, { maxRanges: most, maxWindows: most, order });
  let waiting = 0;
  for (const { start, end } of windowsOf(TURNS).taken) {
    for (let at = start; at < end; at = stepWindows(window.spec, at, 1)) waiting += 1;
  }
  const skipped = (failures - 1) % Math.max(1, waiting);
  return skipped === 0 ? ranges : windowsOf(skipped).left;
}

/** The stored window as consumed by a plan over `taken`; nothing where the plan does not reach it and something has to stay. */
function consume({ stored, live, waiting }: SortedWindow, taken: readonly TimeRange[]): ConsumedWindow[] {
  const left = normalize([...subtract(live, taken), ...waiting]);
  const isReached = left.length === 0 || subtract(live, left).length > 0;
  return isReached ? [{ ...stored, left }] : [];
}

function consumedWhole(unsettled: readonly ConsumedWindow[]): ConsumedWindow[] {
  return unsettled.filter((window) => window.left.length === 0);
}

function isLongerThan(range: TimeRange, window: CompiledWindow, windows: number): boolean {
  if (range.start === INSTANT_MIN || range.end === INSTANT_MAX) return true;
  return stepWindows(window.spec, range.start, windows) < range.end;
}

function hull(ranges: readonly TimeRange[]): TimeRange {
  const start = ranges[0]?.start ?? INSTANT_MIN;
  const end = ranges[ranges.length - 1]?.end ?? INSTANT_MAX;
  return { start, end };
}

function sameRanges(a: readonly TimeRange[], b: readonly TimeRange[]): boolean {
  return (
    a.length === b.length && a.every(({ start, end }, index) => start === b[index]?.start && end === b[index]?.end)
  );
}
