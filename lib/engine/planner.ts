import type { CompiledWindow, FlowDefinition } from '../flow/definition.ts';
import type { ConsumedWindow, InFlightPlan, LoadedFlow } from '../store/flow-store.ts';
import { clip, joinNear, normalize, subtract, takeWindows } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant } from '../window/instant.ts';
import { intersect, type TimeRange } from '../window/time-range.ts';
import { alignOutwards, stepWindows, windowContaining } from '../window/windows.ts';
import { effectiveDirty, type PendingWindow } from './effective-dirty.ts';
import { gridTimeOf } from './grid.ts';

/** `schedule`: the clock's own tick, which a flow with an eval interval runs on grid times only. `request`: somebody asked. */
export type Trigger = 'schedule' | 'request';

export type Decision =
  /** Nothing to run. `drop`: dirty windows that need no plan, since they are expired, empty on both sides or consumed. */
  | { readonly kind: 'idle'; readonly reason: string; readonly drop: readonly ConsumedWindow[] }
  /** A range is longer than one plan: where inside `within` the source or the sink has rows has to be known first. */
  | { readonly kind: 'survey'; readonly within: TimeRange }
  | { readonly kind: 'plan'; readonly plan: Omit<InFlightPlan, 'epoch'>; readonly reason: string };

/** Between the first and last row of source and sink, aligned outwards; null where neither has a row. */
export interface Survey {
  readonly data: TimeRange | null;
}

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
  const { pending, unsettled } = effectiveDirty(loaded);
  const grid = dueGridTime(definition, loaded, now);
  const window = definition.compiled.window;
  if (window === null) return planWhole(definition, loaded, now, grid, pending, unsettled);
  if (grid !== null && !grid.due && trigger === 'schedule') {
    return { kind: 'idle', reason: 'not due before the next grid time', drop: [] };
  }

  const live = liveParts(window, definition, pending, grid?.time ?? now, survey);
  const ranges = normalize(live.flatMap((entry) => entry.parts));
  if (ranges.length === 0) {
    const drop = [...pending.map((entry) => ({ ...entry.stored, left: [] })), ...consumedWhole(unsettled)];
    const reason = pending.length > 0 ? 'the dirty windows are expired or hold no rows' : 'no dirty windows';
    return { kind: 'idle', reason, drop };
  }

  const { maxRanges, maxWindows, mergeDistance, order } = definition.options;
  const limit = loaded.state.windowLimit;
  const joined =
    limit === null ? joinNear(ranges, window.spec, mergeDistance) : pastFailures(definition, loaded, ranges);
  if (survey === null && joined.some((range) => isLongerThan(range, window, maxWindows))) {
    return { kind: 'survey', within: hull(ranges) };
  }
  const { taken } = takeWindows(joined, window.spec, {
    maxRanges: Math.min(maxRanges, limit ?? maxRanges),
    maxWindows: Math.min(maxWindows, limit ?? maxWindows),
    order,
  });
  const consumed = live.flatMap((entry) => consume(entry, taken));
  const left = subtract(ranges, taken);
  return {
    kind: 'plan',
    reason: `${taken.length} of ${taken.length + left.length} dirty ranges${limit === null ? '' : `, at most ${limit} after a failure`}`,
    plan: {
      coverage: 'scoped_base_repair',
      ranges: taken,
      consumed,
      gridTime: grid?.time ?? null,
      startedAt: now,
      more: left.length > 0 || loaded.more,
    },
  };
}

function planWhole(
  definition: FlowDefinition,
  loaded: LoadedFlow,
  now: Instant,
  grid: { readonly time: Instant; readonly due: boolean } | null,
  pending: readonly PendingWindow[],
  unsettled: readonly ConsumedWindow[],
): Decision {
  if (grid === null) {
    return { kind: 'idle', reason: `flow ${definition.name} has neither a window nor an eval interval`, drop: [] };
  }
  if (!grid.due && pending.length === 0) {
    return { kind: 'idle', reason: 'not due before the next grid time', drop: consumedWhole(unsettled) };
  }
  return {
    kind: 'plan',
    reason: grid.due ? 'a grid time is due' : 'asked for between grid times',
    plan: {
      coverage: 'unfiltered_full',
      ranges: [],
      consumed: pending.map((entry) => ({ ...entry.stored, left: [] })),
      gridTime: grid.time,
      startedAt: now,
      more: loaded.more,
    },
  };
}

/** A grid never runs backwards: after a clock stepped back, the last grid time stands. */
function dueGridTime(
  definition: FlowDefinition,
  loaded: LoadedFlow,
  now: Instant,
): { readonly time: Instant; readonly due: boolean } | null {
  if (definition.evalInterval === null) return null;
  const time = gridTimeOf(now, definition.evalInterval);
  const last = loaded.state.lastGridTime;
  return last !== null && time <= last ? { time: last, due: false } : { time, due: true };
}

/** Start of the window that holds the oldest time which is still kept up to date. */
export function expiryBound(definition: FlowDefinition, now: Instant): Instant {
  const window = definition.compiled.window;
  if (definition.expireAfter === null || window === null) return INSTANT_MIN;
  return windowContaining(window.spec, instant(now - definition.expireAfter)).start;
}

function liveParts(
  window: CompiledWindow,
  definition: FlowDefinition,
  pending: readonly PendingWindow[],
  now: Instant,
  survey: Survey | null,
): PendingWindow[] {
  const bound = expiryBound(definition, now);
  const kept: TimeRange | null = bound < INSTANT_MAX ? { start: bound, end: INSTANT_MAX } : null;
  const within = survey === null ? kept : survey.data && kept && intersect(survey.data, kept);
  return pending.map(({ stored, parts }) => {
    // A definition that was replaced may have left windows of another length behind.
    const aligned = normalize(parts.map((part) => alignOutwards(window.spec, part)));
    return { stored, parts: within === null ? [] : clip(aligned, within) };
  });
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

/** The stored window as consumed by a plan over `taken`; nothing where the plan does not reach it. */
function consume(entry: PendingWindow, taken: readonly TimeRange[]): ConsumedWindow[] {
  const left = subtract(entry.parts, taken);
  const untouched = entry.parts.length > 0 && left.length > 0 && subtract(entry.parts, left).length === 0;
  return untouched ? [] : [{ ...entry.stored, left }];
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
