import { describe, expect, it } from 'vitest';
import type { FlowDefinition, FlowOptions } from '../../../lib/flow/definition.ts';
import { checkCombinations, combinationWarnings } from '../../../lib/flow/option-combinations.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import { DAY, HOUR, instant, MINUTE } from '../../../lib/window/instant.ts';
import { hourlyDefinition } from '../../support/definitions.ts';

const WINDOWED = hourlyDefinition('f', { schema: 'public', table: 'source' }, { schema: 'public', table: 'sink' });
const WHOLE = { ...WINDOWED, evalInterval: HOUR, compiled: { ...WINDOWED.compiled, window: null } };
const JOINED = {
  ...WINDOWED,
  compiled: {
    ...WINDOWED.compiled,
    sources: [...WINDOWED.compiled.sources, { schema: 'public', table: 'dimension', timeColumn: null }],
  },
};

function flow(
  base: FlowDefinition,
  options: Partial<FlowOptions>,
  clauses: Partial<Pick<FlowDefinition, 'expireAfter' | 'evalInterval'>> = {},
): FlowDefinition {
  return { ...base, ...clauses, options: { ...DEFAULT_OPTIONS, ...options } };
}

describe('options that contradict each other', () => {
  it.each<[string, FlowDefinition, RegExp]>([
    ['window without time_column', flow(WINDOWED, { window: '1 hour' }), /needs time_column/],
    ['time_column without window', flow(WINDOWED, { timeColumn: 'at' }), /needs window/],
    ['lookback not longer than delay', flow(WINDOWED, { lookback: HOUR, delay: HOUR }), /make lookback longer/],
    ['delay as long as EXPIRE AFTER', flow(WINDOWED, { delay: DAY }, { expireAfter: DAY }), /none is ever computed/],
    ['delay as long as accept_past', flow(WINDOWED, { delay: DAY, acceptPast: DAY }), /older than accept_past/],
  ])('are refused: %s', (_what, definition, message) => {
    expect(() => checkCombinations(definition)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringMatching(message) }) as unknown as Error,
    );
  });

  it.each<[string, FlowDefinition]>([
    ['none', flow(WINDOWED, {})],
    ['window and time_column', flow(WINDOWED, { window: '1 hour', timeColumn: 'at' })],
    ['lookback over delay', flow(WINDOWED, { lookback: DAY, delay: HOUR })],
    [
      'delay within EXPIRE AFTER and accept_past',
      flow(WINDOWED, { delay: HOUR, acceptPast: DAY }, { expireAfter: DAY }),
    ],
  ])('are not: %s', (_what, definition) => {
    expect(() => checkCombinations(definition)).not.toThrow();
  });
});

describe('options without effect', () => {
  it.each<[string, FlowDefinition, readonly string[]]>([
    ['none', flow(WINDOWED, {}), []],
    [
      'a grid without an interval',
      flow(WINDOWED, {
        missedTicks: 'skip',
        catchUpMaxRuns: 9,
        scheduleAnchor: instant(1n),
        scheduleStart: instant(1n),
      }),
      [
        'Without effect, because the flow has no EVAL INTERVAL: missed_ticks, catch_up_max_runs, schedule_anchor, schedule_start.',
      ],
    ],
    [
      'a grid with an interval',
      flow(WINDOWED, { missedTicks: 'skip', scheduleAnchor: instant(1n) }, { evalInterval: HOUR }),
      [],
    ],
    [
      'cadence with an interval',
      flow(WINDOWED, { cadence: 'window' }, { evalInterval: HOUR }),
      ['Without effect, because the flow runs at its EVAL INTERVAL: cadence.'],
    ],
    ['cadence', flow(WINDOWED, { cadence: 'window' }), []],
    [
      'bounds of a catch-up that is not wanted',
      flow(WHOLE, { catchUpMaxRuns: 9, catchUpMaxLag: DAY }),
      ["Without effect, because missed_ticks is not 'catch_up': catch_up_max_runs, catch_up_max_lag."],
    ],
    ['bounds of a catch-up', flow(WHOLE, { missedTicks: 'catch_up', catchUpMaxRuns: 9, catchUpMaxLag: DAY }), []],
    [
      'a catch-up that never is',
      flow(WHOLE, { missedTicks: 'catch_up', catchUpMaxLag: MINUTE }),
      ['catch_up_max_lag is shorter than EVAL INTERVAL, so that no missed grid time is caught up with.'],
    ],
    [
      'what is about windows, where there are none',
      flow(WHOLE, { maxWindows: 3, order: 'oldest', lookback: DAY, delay: HOUR, acceptPast: DAY, acceptFuture: DAY }),
      ['Without effect, because the flow runs whole: max_windows, order, lookback, delay, accept_past, accept_future.'],
    ],
    [
      'dimensions that there are not',
      flow(WINDOWED, { onDimensionChange: 'refresh' }),
      ['Without effect, because no table is read whole: on_dimension_change.'],
    ],
    ['dimensions that there are', flow(JOINED, { onDimensionChange: 'refresh' }), []],
    [
      'what reaches further than the flow',
      flow(WINDOWED, { lookback: 9n * DAY, acceptPast: 8n * DAY }, { expireAfter: 7n * DAY }),
      [
        "lookback reaches further back than EXPIRE AFTER ('7 days'), and only as far as that has an effect.",
        "lookback reaches further back than accept_past ('8 days'), and only as far as that has an effect.",
        "accept_past reaches further back than EXPIRE AFTER ('7 days'), and only as far as that has an effect.",
      ],
    ],
    ['what reaches as far', flow(WINDOWED, { lookback: DAY, acceptPast: DAY }, { expireAfter: DAY }), []],
  ])('%s', (_what, definition, warnings) => {
    expect(combinationWarnings(definition)).toEqual(warnings);
  });
});
