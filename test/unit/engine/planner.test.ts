import { describe, expect, it } from 'vitest';
import { type Decision, planNext } from '../../../lib/engine/planner.ts';
import type { Survey } from '../../../lib/engine/survey.ts';
import type { ConsumedWindow } from '../../../lib/store/flow-store.ts';
import { INSTANT_MAX, INSTANT_MIN, instant } from '../../../lib/window/instant.ts';
import { ALL_TIME } from '../../../lib/window/time-range.ts';
import { dirty, flow, loaded, range } from './flows.ts';

const NOW = instant(1_000n);

function surveyed(data: Survey['data'], more: Partial<Survey> = {}): Survey {
  return { data, sourceFirst: data?.start ?? null, sinkStart: null, ...more };
}

function planned(decision: Decision) {
  if (decision.kind !== 'plan') throw new Error(`no plan but ${JSON.stringify(decision, (_, v) => String(v))}`);
  return decision.plan;
}

function consumed(start: number, end: number, left: ConsumedWindow['left'] = []): ConsumedWindow {
  return { ...dirty(start, end), left };
}

describe('the planner', () => {
  it('is idle without dirty windows', () => {
    expect(planNext(flow(), loaded([]), NOW, 'schedule', null)).toEqual({
      kind: 'idle',
      reason: 'no dirty windows',
      drop: [],
    });
  });

  it('joins overlaps and near neighbours, and leaves far ones apart', () => {
    const plan = planned(planNext(flow(), loaded([dirty(60, 70), dirty(20, 30), dirty(0, 10)]), NOW, 'schedule', null));
    expect(plan.ranges).toEqual([range(0, 30), range(60, 70)]);
    expect(plan.consumed).toEqual([consumed(60, 70), consumed(20, 30), consumed(0, 10)]);
    expect(plan.more).toBe(false);
  });

  it('takes no more ranges than allowed, the newest first', () => {
    const marks = [dirty(200, 210), dirty(150, 160), dirty(100, 110), dirty(50, 60)];
    const plan = planned(planNext(flow(), loaded(marks), NOW, 'schedule', null));
    expect(plan.ranges).toEqual([range(100, 110), range(150, 160), range(200, 210)]);
    expect(plan.consumed).toEqual([consumed(200, 210), consumed(150, 160), consumed(100, 110)]);
    expect(plan.more).toBe(true);
  });

  it('takes the oldest first where the flow says so', () => {
    const marks = [dirty(200, 210), dirty(150, 160), dirty(100, 110), dirty(50, 60)];
    const oldest = flow({ options: { order: 'oldest' } });
    expect(planned(planNext(oldest, loaded(marks), NOW, 'schedule', null)).ranges).toEqual([
      range(50, 60),
      range(100, 110),
      range(150, 160),
    ]);
  });

  it('asks for a survey before it splits a range that is longer than one plan', () => {
    expect(planNext(flow(), loaded([dirty(0, 100)]), NOW, 'schedule', null)).toEqual({
      kind: 'survey',
      within: range(0, 100),
    });
  });

  it('splits a long range, and consumes the mark down to what is left of it', () => {
    const plan = planned(planNext(flow(), loaded([dirty(0, 100)]), NOW, 'schedule', surveyed(range(0, 100))));
    expect(plan.ranges).toEqual([range(60, 100)]);
    expect(plan.consumed).toEqual([consumed(0, 100, [range(0, 60)])]);
    expect(plan.more).toBe(true);
  });

  it('clips a mark of all time to where source or sink have rows', () => {
    const all = { ...ALL_TIME, version: 'a', forced: false };
    expect(planNext(flow(), loaded([all]), NOW, 'schedule', null)).toEqual({ kind: 'survey', within: ALL_TIME });
    const plan = planned(planNext(flow(), loaded([all]), NOW, 'schedule', surveyed(range(20, 50))));
    expect(plan.ranges).toEqual([range(20, 50)]);
    expect(plan.consumed).toEqual([{ ...all, left: [] }]);
    expect(plan.more).toBe(false);
  });

  it('drops a mark where neither side has a row, without a plan', () => {
    const all = { ...ALL_TIME, version: 'a', forced: false };
    expect(planNext(flow(), loaded([all]), NOW, 'schedule', surveyed(null))).toMatchObject({
      kind: 'idle',
      drop: [{ ...all, left: [] }],
    });
  });

  it('drops what is expired, and keeps the live part of a range that crosses the bound', () => {
    const expiring = flow({ expireAfter: 55n });
    const at = instant(100n);
    const plan = planned(planNext(expiring, loaded([dirty(30, 60), dirty(0, 10)]), at, 'schedule', null));
    expect(plan.ranges).toEqual([range(40, 60)]);
    expect(plan.consumed).toEqual([consumed(30, 60), consumed(0, 10)]);
    expect(planNext(expiring, loaded([dirty(0, 10)]), at, 'schedule', null)).toMatchObject({
      kind: 'idle',
      drop: [consumed(0, 10)],
    });
  });

  it('takes one window after a failure, out of a longer range too', () => {
    const decision = planNext(flow(), loaded([dirty(0, 30)], { windowLimit: 1 }), NOW, 'schedule', null);
    expect(planned(decision).ranges).toEqual([range(20, 30)]);
    expect(planned(decision).consumed).toEqual([consumed(0, 30, [range(0, 20)])]);
  });

  it('takes the windows in turn while plans fail, so that one that always fails holds up no other', () => {
    const marks = [dirty(80, 90), dirty(40, 60), dirty(0, 10)];
    const taken = [1, 2, 3, 4, 5, 6].map((failures) => {
      const state = { windowLimit: 1, failures };
      return planned(planNext(flow(), loaded(marks, state), NOW, 'schedule', null)).ranges;
    });
    expect(taken).toEqual([
      [range(80, 90)],
      [range(50, 60)],
      [range(40, 50)],
      [range(0, 10)],
      [range(80, 90)],
      [range(50, 60)],
    ]);
  });

  it('leaves to a mark what it skipped of it', () => {
    const state = { windowLimit: 1, failures: 2 };
    const plan = planned(planNext(flow(), loaded([dirty(0, 30)], state), NOW, 'schedule', null));
    expect(plan.ranges).toEqual([range(10, 20)]);
    expect(plan.consumed).toEqual([consumed(0, 30, [range(0, 10), range(20, 30)])]);
    expect(plan.more).toBe(true);
  });

  it('counts a consumed window that is not settled yet only as what its plan left', () => {
    const state = { settle: [consumed(0, 100, [range(0, 30)]), consumed(200, 210)] };
    const plan = planned(planNext(flow(), loaded([dirty(200, 210), dirty(0, 100)], state), NOW, 'schedule', null));
    expect(plan.ranges).toEqual([range(0, 30)]);
    expect(plan.consumed).toEqual([consumed(0, 100)]);
  });

  it('counts a window that was marked again as dirty, whatever an older version of it came to', () => {
    const state = { settle: [consumed(0, 10)] };
    const plan = planned(planNext(flow(), loaded([dirty(0, 10, 'newer')], state), NOW, 'schedule', null));
    expect(plan.consumed).toEqual([{ ...dirty(0, 10, 'newer'), left: [] }]);
  });

  it('settles again, without a plan, what the store still shows of a committed plan', () => {
    const state = { settle: [consumed(0, 10)] };
    expect(planNext(flow(), loaded([dirty(0, 10)], state), NOW, 'schedule', null)).toEqual({
      kind: 'idle',
      reason: 'no dirty windows',
      drop: [consumed(0, 10)],
    });
  });

  it('aligns marks that another definition left behind', () => {
    const plan = planned(planNext(flow(), loaded([dirty(3, 17)]), NOW, 'schedule', null));
    expect(plan.ranges).toEqual([range(0, 20)]);
    expect(plan.consumed).toEqual([consumed(3, 17)]);
  });

  it('works at both limits of time', () => {
    const first = { start: INSTANT_MIN, end: instant(INSTANT_MIN + 25n), version: 'a', forced: false };
    const last = { start: instant(INSTANT_MAX - 25n), end: INSTANT_MAX, version: 'b', forced: false };
    const decision = planNext(flow(), loaded([last, first]), NOW, 'schedule', surveyed(ALL_TIME));
    const ranges = planned(decision).ranges;
    expect(ranges[ranges.length - 1]?.end).toBe(INSTANT_MAX);
  });
});

describe('a flow with an eval interval', () => {
  const every = { evalInterval: 100n } as const;

  it('runs its dirty windows on grid times only, unless asked for', () => {
    const state = { lastGridTime: instant(1_000n) };
    const marks = loaded([dirty(0, 10)], state);
    expect(planNext(flow(every), marks, instant(1_099n), 'schedule', null).kind).toBe('idle');
    expect(planned(planNext(flow(every), marks, instant(1_100n), 'schedule', null)).gridTime).toBe(1_100n);
    expect(planned(planNext(flow(every), marks, instant(1_050n), 'request', null)).gridTime).toBe(1_000n);
  });

  it('runs a query without windows whole at each grid time, once', () => {
    const whole = flow({ ...every, whole: true });
    const plan = planned(planNext(whole, loaded([]), instant(1_030n), 'schedule', null));
    expect(plan).toMatchObject({ coverage: 'unfiltered_full', ranges: [], gridTime: 1_000n });
    const ran = loaded([], { lastGridTime: instant(1_000n) });
    expect(planNext(whole, ran, instant(1_090n), 'schedule', null).kind).toBe('idle');
    expect(planNext(whole, ran, instant(1_100n), 'schedule', null).kind).toBe('plan');
  });

  it('runs a query without windows between grid times if it was asked for by a mark', () => {
    const whole = flow({ ...every, whole: true });
    const ran = loaded([{ ...ALL_TIME, version: 'a', forced: false }], { lastGridTime: instant(1_000n) });
    expect(planned(planNext(whole, ran, instant(1_090n), 'schedule', null)).consumed).toHaveLength(1);
  });

  it('does not run a grid time again after the clock has stepped back', () => {
    const whole = flow({ ...every, whole: true });
    const ran = loaded([], { lastGridTime: instant(1_000n) });
    expect(planNext(whole, ran, instant(420n), 'schedule', null).kind).toBe('idle');
  });
});
