import { describe, expect, it } from 'vitest';
import { planNext } from '../../../lib/engine/planner.ts';
import { afterShrinking, firstSight } from '../../../lib/engine/source-age.ts';
import type { Survey } from '../../../lib/engine/survey.ts';
import { INSTANT_MIN, type Instant, instant } from '../../../lib/window/instant.ts';
import { ALL_TIME } from '../../../lib/window/time-range.ts';
import { dirty, flow, loaded, range } from './flows.ts';

const NOW = instant(1_005n);
const KEEP = flow({ options: { onDelete: 'keep' } });
const at = (t: number | null): Instant | null => (t === null ? null : instant(BigInt(t)));

function seen(sourceFirst: number | null, sinkStart: number | null): Survey {
  return { data: ALL_TIME, sourceFirst: at(sourceFirst), sinkStart: at(sinkStart) };
}

describe('a flow that keeps, before its first plan', () => {
  const unknown = { sourceOldest: null, frozenBefore: null };

  it('has to look at source and sink first', () => {
    expect(firstSight(KEEP, unknown, null, NOW)).toBe('unknown');
    expect(planNext(KEEP, loaded([dirty(500, 510)]), NOW, 'schedule', null)).toEqual({
      kind: 'survey',
      within: ALL_TIME,
    });
    expect(planNext(KEEP, loaded([]), NOW, 'schedule', null).kind).toBe('idle');
  });

  it.each([
    ['nothing, where the sink is empty', 303, null, null],
    ['nothing, where the sink begins later than the source', 303, 310, null],
    ['the window that the source begins inside of, if the sink has it', 303, 300, 310],
    ['every window before the one that the source begins with', 300, 20, 300],
    ['all of the sink, where the source is empty', null, 20, 1_010],
  ])('freezes %s', (_, source, sink, frozen) => {
    expect(firstSight(KEEP, unknown, seen(source, sink), NOW)).toEqual({
      sourceOldest: at(source),
      frozenBefore: at(frozen),
    });
  });

  it('does not look again', () => {
    expect(firstSight(KEEP, { sourceOldest: instant(5n), frozenBefore: null }, null, NOW)).toEqual({});
  });

  it('sets frozen windows aside and plans the rest', () => {
    const decision = planNext(KEEP, loaded([{ ...ALL_TIME, version: 'a', forced: false }]), NOW, 'schedule', {
      ...seen(960, 20),
      data: range(20, 1_000),
    });
    expect(decision).toMatchObject({
      plan: { ranges: [range(960, 1_000)], more: false },
      changes: { sourceOldest: 960n, frozenBefore: 960n, aside: [range(20, 960)] },
    });
  });
});

describe('a source that has lost its oldest rows', () => {
  it.each([
    ['a row at the start of its window', 300, null, 300],
    ['a row inside of its window', 301, null, 310],
    ['no row', null, null, 1_010],
    ['a row older than what was frozen before', 301, 700, 700],
  ])('that begins with %s', (_, oldest, before, frozen) => {
    expect(afterShrinking(KEEP, { sourceOldest: instant(7n), frozenBefore: at(before) }, at(oldest), NOW)).toEqual({
      sourceOldest: at(oldest),
      frozenBefore: at(frozen),
      sourceShrunk: { from: 7n, to: at(oldest), at: NOW },
    });
  });

  it('began at an unknown time, if nobody had looked', () => {
    const { sourceShrunk } = afterShrinking(KEEP, { sourceOldest: null, frozenBefore: null }, at(5), NOW);
    expect(sourceShrunk?.from).toBe(INSTANT_MIN);
  });
});
