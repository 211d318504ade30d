import { describe, expect, it } from 'vitest';
import { admissionAt, divide, setAside } from '../../../lib/engine/admission.ts';
import { planNext } from '../../../lib/engine/planner.ts';
import type { FlowOptions } from '../../../lib/flow/definition.ts';
import type { FlowState } from '../../../lib/store/flow-store.ts';
import { INSTANT_MAX, INSTANT_MIN, instant } from '../../../lib/window/instant.ts';
import { ALL_TIME } from '../../../lib/window/time-range.ts';
import { dirty, flow, loaded, range } from './flows.ts';

const NOW = instant(1_005n);

function admission(options: Partial<FlowOptions>, frozenBefore: number | null = null, expireAfter?: bigint) {
  const definition = flow({ options, ...(expireAfter === undefined ? {} : { expireAfter }) });
  return admissionAt(definition, { frozenBefore: frozenBefore === null ? null : instant(BigInt(frozenBefore)) }, NOW);
}

describe('what a plan may take', () => {
  it('is everything where nothing bounds it', () => {
    expect(admission({})).toEqual({ kept: ALL_TIME, accepted: ALL_TIME, ripe: ALL_TIME });
  });

  it('counts the windows at the bounds of what is accepted as accepted', () => {
    expect(admission({ acceptPast: 100n, acceptFuture: 30n }).accepted).toEqual(range(900, 1_040));
  });

  it('leaves windows alone until they ended a delay ago', () => {
    expect(admission({ delay: 5n }).ripe).toEqual({ start: INSTANT_MIN, end: 1_000n });
    expect(admission({ delay: 6n }).ripe).toEqual({ start: INSTANT_MIN, end: 990n });
  });

  it('holds back what is frozen only where the flow keeps', () => {
    expect(admission({ onDelete: 'keep' }, 500).accepted).toEqual({ start: 500n, end: INSTANT_MAX });
    expect(admission({ onDelete: 'apply' }, 500).accepted).toEqual(ALL_TIME);
  });

  it('divides times into those to take, those to wait for, and those to set aside; expired ones are none of them', () => {
    const bounds = admission({ acceptPast: 200n, acceptFuture: 30n, delay: 15n }, null, 400n);
    expect(divide([ALL_TIME], bounds)).toEqual({
      live: [range(800, 990)],
      waiting: [range(990, 1_040)],
      aside: [range(600, 800), { start: 1_040n, end: INSTANT_MAX }],
    });
  });
});

describe('what is set aside', () => {
  it('is joined where it touches, and forgotten when it expires', () => {
    const bounds = admission({}, null, 400n);
    expect(setAside([range(0, 10), range(700, 710)], [range(710, 720), range(900, 910)], bounds)).toEqual([
      range(700, 720),
      range(900, 910),
    ]);
  });

  it('is joined over its smallest gaps where there is too much of it', () => {
    const many = Array.from({ length: 100 }, (_, i) => range(i * 100, i * 100 + 10));
    const joined = setAside(many, [range(20, 30)], admission({}));
    expect(joined).toHaveLength(100);
    expect(joined[0]).toEqual(range(0, 30));
    expect(joined.at(-1)).toEqual(range(9_900, 9_910));
  });
});

describe('the planner', () => {
  const decide = (
    options: Partial<FlowOptions>,
    marks: readonly [number, number][],
    state: Partial<FlowState> = {},
  ) => {
    const windows = marks.map(([start, end]) => dirty(start, end)).toReversed();
    return planNext(flow({ options }), loaded(windows, state), NOW, 'schedule', null);
  };

  it('sets aside what is not accepted, together with the plan for the rest', () => {
    const marks: [number, number][] = [
      [0, 10],
      [990, 1_000],
      [5_000, 5_010],
    ]; // prettier-ignore
    expect(decide({ acceptPast: 100n, acceptFuture: 30n }, marks)).toMatchObject({
      kind: 'plan',
      plan: {
        ranges: [range(990, 1_000)],
        consumed: [dirty(5_000, 5_010), dirty(990, 1_000), dirty(0, 10)].map((each) => ({ ...each, left: [] })),
        more: false,
      },
      changes: { aside: [range(0, 10), range(5_000, 5_010)] },
    });
  });

  it('takes marks away only once what they said is recorded as set aside', () => {
    const decision = decide({ acceptPast: 100n }, [[0, 10]]);
    expect(decision).toMatchObject({
      kind: 'idle',
      reason: 'the dirty windows are set aside',
      drop: [{ ...dirty(0, 10), left: [] }],
      changes: { aside: [range(0, 10)] },
    });
  });

  it('takes up what was set aside as soon as it is accepted', () => {
    const state = { aside: [range(1_020, 1_030), range(9_000, 9_010)] };
    expect(decide({ acceptFuture: 10n }, [], state).kind).toBe('idle');
    expect(decide({ acceptFuture: 20n }, [], state)).toMatchObject({ plan: { ranges: [range(1_020, 1_030)] } });
  });

  it('keeps marks that are younger than the delay, and takes the others', () => {
    expect(decide({ delay: 20n }, [[990, 1_000]])).toEqual({
      kind: 'idle',
      reason: 'the dirty windows are younger than the delay',
      drop: [],
    });
    expect(decide({ delay: 20n }, [[960, 1_000]])).toMatchObject({
      plan: { ranges: [range(960, 980)], consumed: [{ ...dirty(960, 1_000), left: [range(980, 1_000)] }], more: false },
    });
  });

  it('asks about times that wait too, before it takes them for times without rows', () => {
    expect(
      decide({ delay: 20n }, [
        [900, 950],
        [990, 1_000],
      ]),
    ).toEqual({ kind: 'survey', within: range(900, 1_000) }); // prettier-ignore
  });

  it('does not join over times that it may not touch', () => {
    const state = { frozenBefore: instant(970n) };
    expect(
      decide(
        { onDelete: 'keep', mergeDistance: 9 },
        [
          [940, 950],
          [980, 990],
        ],
        { ...state, sourceOldest: instant(1n) },
      ),
    ) // prettier-ignore
      .toMatchObject({ plan: { ranges: [range(980, 990)] }, changes: { aside: [range(940, 950)] } });
  });

  it('lets nothing hold back what was forced', () => {
    const forced = { ...dirty(0, 10), forced: true };
    const options = { acceptPast: 1n, delay: 2_000n, onDelete: 'keep' } as const;
    const state = { frozenBefore: instant(500n), sourceOldest: instant(0n) };
    const definition = flow({ options, expireAfter: 100n });
    expect(planNext(definition, loaded([forced], state), NOW, 'schedule', null)).toMatchObject({
      plan: { ranges: [range(0, 10)] },
    });
  });
});
