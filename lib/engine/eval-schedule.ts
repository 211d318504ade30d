import type { FlowDefinition } from '../flow/definition.ts';
import { floorDiv } from '../window/floor-division.ts';
import { type Instant, instant, MINUTE, type Micros } from '../window/instant.ts';

/**
 * The grid times of a flow with an eval interval: `anchor + k * interval`, from `start` on. When a tick arrives says nothing but which
 * of them have come: the phase of a clock's period is arbitrary, and its deliveries jitter.
 */
export interface EvalSchedule {
  readonly interval: Micros;
  readonly anchor: Instant;
  /** No grid time before it is due. */
  readonly start: Instant | null;
  readonly missed: FlowDefinition['options']['missedTicks'];
  readonly catchUpMaxRuns: number;
  readonly catchUpMaxLag: Micros;
}

export interface DueGridTimes {
  /** Oldest first. */
  readonly due: readonly Instant[];
  /** Grid times between the cursor and the first due one, or now where none is due: they do not run any more. */
  readonly skipped: bigint;
}

const LEAST_MAX_LAG: Micros = 5n * MINUTE;

/** null: the flow has no eval interval. */
export function evalSchedule({
  evalInterval,
  options,
}: Pick<FlowDefinition, 'evalInterval' | 'options'>): EvalSchedule | null {
  if (evalInterval === null) return null;
  return {
    interval: evalInterval,
    anchor: options.scheduleAnchor,
    start: options.scheduleStart,
    missed: options.missedTicks,
    catchUpMaxRuns: options.catchUpMaxRuns,
    catchUpMaxLag: options.catchUpMaxLag ?? defaultMaxLag(evalInterval),
  };
}

/** Three eval intervals, five minutes at least. */
export function defaultMaxLag(interval: Micros): Micros {
  const three = 3n * interval;
  return three > LEAST_MAX_LAG ? three : LEAST_MAX_LAG;
}

/** The latest grid time that is not after `t`; null before the start. */
export function gridTimeAt(schedule: EvalSchedule, t: Instant): Instant | null {
  const { interval, anchor, start } = schedule;
  const time = instant(anchor + floorDiv(t - anchor, interval) * interval);
  return start !== null && time < start ? null : time;
}

/** The first grid time that is not before `t`, nor before the start. */
export function gridTimeFrom(schedule: EvalSchedule, t: Instant): Instant {
  const { interval, anchor, start } = schedule;
  const from = start !== null && start > t ? start : t;
  return instant(anchor - floorDiv(anchor - from, interval) * interval);
}

export function nextGridTime(schedule: EvalSchedule, t: Instant): Instant {
  return gridTimeFrom(schedule, instant(t + 1n));
}

/**
 * What has become due after `cursor`, the grid time that was dealt with last. Without a cursor that is the latest grid time, or,
 * where a start was given, whatever has come since the start. The grid never runs backwards: after a clock stepped back
 * nothing is due.
 */
export function dueGridTimes(schedule: EvalSchedule, cursor: Instant | null, now: Instant): DueGridTimes {
  const { interval } = schedule;
  const last = gridTimeAt(schedule, now);
  if (last === null || (cursor !== null && last <= cursor)) return { due: [], skipped: 0n };
  const first = firstAfter(schedule, cursor, last);
  const passed = (last - first) / interval + 1n;
  const runs = schedule.missed === 'catch_up' ? catchUpRuns(schedule, passed, last, now) : 1n;
  const due = Array.from({ length: Number(runs) }, (_, index) =>
    instant(last - (runs - 1n - BigInt(index)) * interval),
  );
  return { due, skipped: passed - runs };
}

/** How many lie after the cursor and before `time`, which is one itself. */
export function gridTimesBetween(schedule: EvalSchedule, cursor: Instant | null, time: Instant): bigint {
  const first = firstAfter(schedule, cursor, time);
  return first < time ? (time - first) / schedule.interval : 0n;
}

function firstAfter(schedule: EvalSchedule, cursor: Instant | null, last: Instant): Instant {
  if (cursor !== null) return nextGridTime(schedule, cursor);
  return schedule.start === null ? last : gridTimeFrom(schedule, schedule.start);
}

function catchUpRuns(schedule: EvalSchedule, passed: bigint, last: Instant, now: Instant): bigint {
  const { interval, catchUpMaxRuns, catchUpMaxLag } = schedule;
  const cutoff = now - catchUpMaxLag;
  const young = last < cutoff ? 0n : (last - cutoff) / interval + 1n;
  return [passed, young, BigInt(catchUpMaxRuns)].reduce((least, each) => (each < least ? each : least));
}
