import { describe, expect, it } from 'vitest';
import { isResting, nextDueAt, restAfter } from '../../../lib/engine/cadence.ts';
import type { FlowDefinition } from '../../../lib/flow/definition.ts';
import { DAY, HOUR, instant, MINUTE, type Micros, SECOND } from '../../../lib/window/instant.ts';
import { flow } from './flows.ts';

function withWindow(size: Micros, cadence: 'duration' | 'window'): FlowDefinition {
  const definition = flow({ options: { cadence } });
  const { window } = definition.compiled;
  if (window === null) throw new Error('the sample has a window');
  return {
    ...definition,
    compiled: { ...definition.compiled, window: { ...window, spec: { kind: 'fixed', size, origin: instant(0n) } } },
  };
}

describe('the rest after a plan', () => {
  it.each([
    ['five seconds at least', 'duration', MINUTE, 1n, 5n * SECOND],
    ['as long as the plan took', 'duration', MINUTE, 20n * SECOND, 20n * SECOND],
    ['ten minutes at most', 'duration', MINUTE, HOUR, 600n * SECOND],
    ['a window, where the cadence follows it', 'window', MINUTE, 1n, MINUTE],
    ['as long as the plan took, if that is longer than a window', 'window', MINUTE, 90n * SECOND, 90n * SECOND],
    ['ten minutes at most, however long a window is', 'window', DAY, 1n, 600n * SECOND],
    ['five seconds, where a window is shorter', 'window', SECOND, 1n, 5n * SECOND],
  ] as const)('is %s', (_, cadence, size, took, rest) => {
    expect(restAfter(withWindow(size, cadence), took)).toBe(rest);
  });

  it('begins at the end of the plan', () => {
    const plan = { startedAt: instant(100n * SECOND), more: false };
    expect(nextDueAt(withWindow(MINUTE, 'duration'), plan, instant(120n * SECOND))).toBe(140n * SECOND);
  });

  it.each(['duration', 'window'] as const)('is none where the plan left work behind, at cadence %s', (cadence) => {
    const plan = { startedAt: instant(0n), more: true };
    expect(nextDueAt(withWindow(SECOND, cadence), plan, instant(HOUR))).toBeNull();
  });

  it('is none for a flow with an eval interval, which has its grid', () => {
    const plan = { startedAt: instant(0n), more: false };
    expect(nextDueAt(flow({ evalInterval: MINUTE }), plan, instant(HOUR))).toBeNull();
  });

  it('ends when its time has come, and is not believed after the clock was set back', () => {
    const due = instant(HOUR);
    expect(isResting(due, instant(HOUR - 1n))).toBe(true);
    expect(isResting(due, instant(HOUR))).toBe(false);
    expect(isResting(due, instant(HOUR - 600n * SECOND))).toBe(true);
    expect(isResting(due, instant(HOUR - 601n * SECOND))).toBe(false);
    expect(isResting(null, instant(0n))).toBe(false);
  });
});
