import { describe, expect, it } from 'vitest';
import {
  defaultMaxLag,
  dueGridTimes,
  type EvalSchedule,
  evalSchedule,
  gridTimeAt,
  gridTimeFrom,
  nextGridTime,
} from '../../../lib/engine/eval-schedule.ts';
import { type Instant, instant, MINUTE, SECOND } from '../../../lib/window/instant.ts';
import { flow } from './flows.ts';

const at = (seconds: number) => instant(BigInt(seconds) * SECOND);
const seconds = (times: readonly Instant[]) => times.map((time) => Number(time / SECOND));

function every(interval: number, changes: Partial<EvalSchedule> = {}): EvalSchedule {
  return {
    interval: BigInt(interval) * SECOND,
    anchor: at(0),
    start: null,
    missed: 'latest',
    catchUpMaxRuns: 3,
    catchUpMaxLag: defaultMaxLag(BigInt(interval) * SECOND),
    ...changes,
  };
}

function due(schedule: EvalSchedule, cursor: number | null, now: number): [number[], number] {
  const found = dueGridTimes(schedule, cursor === null ? null : at(cursor), at(now));
  return [seconds(found.due), Number(found.skipped)];
}

describe('the grid', () => {
  it.each([
    [-10, 0, 0],
    [0, 0, 0],
    [1, 0, 60],
    [101, 100, 160],
    [100, 100, 100],
    [-61, 0, -60],
    [60, 0, 60],
  ])('rounds %d up, with anchor %d, to %d', (t, anchor, time) => {
    expect(gridTimeFrom(every(60, { anchor: at(anchor) }), at(t))).toBe(at(time));
  });

  it.each([
    [59, 0, 0],
    [60, 0, 60],
    [-1, 0, -60],
    [-60, 0, -60],
    [99, 100, 40],
    [3_600, -5, 3_595],
  ])('rounds %d down, with anchor %d, to %d', (t, anchor, time) => {
    expect(gridTimeAt(every(60, { anchor: at(anchor) }), at(t))).toBe(at(time));
  });

  it('begins at the start, rounded up', () => {
    const schedule = every(60, { start: at(70) });
    expect(gridTimeAt(schedule, at(119))).toBeNull();
    expect(gridTimeAt(schedule, at(120))).toBe(at(120));
    expect(nextGridTime(schedule, at(0))).toBe(at(120));
    expect(nextGridTime(schedule, at(120))).toBe(at(180));
  });

  it('takes from an option what it says, and three intervals, five minutes at least, as the longest lag', () => {
    const options = {
      scheduleAnchor: at(7),
      scheduleStart: at(9),
      missedTicks: 'catch_up',
      catchUpMaxRuns: 5,
    } as const;
    expect(evalSchedule(flow({ evalInterval: 2n * MINUTE, options }))).toEqual({
      interval: 2n * MINUTE,
      anchor: at(7),
      start: at(9),
      missed: 'catch_up',
      catchUpMaxRuns: 5,
      catchUpMaxLag: 6n * MINUTE,
    });
    expect(defaultMaxLag(MINUTE)).toBe(5n * MINUTE);
    expect(defaultMaxLag(5n * MINUTE)).toBe(15n * MINUTE);
    expect(evalSchedule(flow({ options: { catchUpMaxLag: MINUTE }, evalInterval: MINUTE }))?.catchUpMaxLag).toBe(
      MINUTE,
    );
    expect(evalSchedule(flow())).toBeNull();
  });
});

describe('catching up', () => {
  const catchUp = (interval: number, changes: Partial<EvalSchedule> = {}) =>
    every(interval, { missed: 'catch_up', catchUpMaxRuns: 1_000, catchUpMaxLag: 10_000n * SECOND, ...changes });

  it('runs every grid time since the start', () => {
    expect(due(catchUp(60, { start: at(120) }), null, 300)).toEqual([[120, 180, 240, 300], 0]);
  });

  it('runs the newest within the longest lag, no more than allowed, oldest first, and counts the rest', () => {
    const bounded = catchUp(60, { start: at(60), catchUpMaxRuns: 2, catchUpMaxLag: 180n * SECOND });
    expect(due(bounded, null, 600)).toEqual([[540, 600], 8]);
  });

  it('keeps a grid time that is exactly as old as the longest lag', () => {
    const bounded = catchUp(60, { catchUpMaxLag: 120n * SECOND });
    expect(due(bounded, 0, 300)).toEqual([[180, 240, 300], 2]);
    expect(due(bounded, 0, 301)).toEqual([[240, 300], 3]);
  });

  it('runs nothing where all are older than the longest lag', () => {
    expect(due(catchUp(60, { catchUpMaxLag: 30n * SECOND }), 0, 100)).toEqual([[], 1]);
  });
});

describe.each(['latest', 'skip'] as const)('with missed ticks = %s', (missed) => {
  it('only the latest grid time runs, and the others are counted', () => {
    expect(due(every(60, { missed, start: at(60) }), null, 300)).toEqual([[300], 4]);
    expect(due(every(60, { missed }), 60, 300)).toEqual([[300], 3]);
  });
});

describe('the cursor', () => {
  it('makes each grid time due once, however late in its interval the tick comes', () => {
    expect(due(every(60), null, 119)).toEqual([[60], 0]);
    expect(due(every(60), 60, 119)).toEqual([[], 0]);
    expect(due(every(60), 60, 120)).toEqual([[120], 0]);
  });

  it('does not let the grid run backwards', () => {
    expect(due(every(60), 600, 300)).toEqual([[], 0]);
    expect(due(every(60, { missed: 'catch_up' }), 600, 300)).toEqual([[], 0]);
  });

  it('goes on from a grid time of another interval', () => {
    expect(due(every(60), 90, 180)).toEqual([[180], 1]);
  });

  it('copes with a lag of centuries without counting one by one', () => {
    const found = dueGridTimes(every(60, { missed: 'catch_up' }), at(-60_000_000_000), at(60_000_000_000));
    expect(found.due).toHaveLength(3);
    expect(found.skipped).toBe(1_999_999_997n);
  });
});
