import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from './definition.ts';
import { formatInterval } from './interval.ts';
import { writtenOptions } from './options.ts';

type Clauses = Pick<FlowDefinition, 'expireAfter' | 'evalInterval' | 'options'>;

/** Throws `invalid_option` for options that contradict each other, so that the flow could never do what they say. */
export function checkCombinations({ expireAfter, options }: Clauses): void {
  const { window, timeColumn, lookback, delay, acceptPast } = options;
  if (window !== null && timeColumn === null) {
    throw refuse(
      `window = '${window}' needs time_column, the output column that it cuts. Name it, or leave window out.`,
    );
  }
  if (timeColumn !== null && window === null) {
    throw refuse(
      "time_column needs window, the length that it is cut into, such as window = '1 hour'. Give both or neither.",
    );
  }
  if (delay === null) return;
  const waits = `delay = '${formatInterval(delay)}' leaves windows alone`;
  if (lookback !== null && lookback <= delay) {
    throw refuse(`${waits} for longer than lookback = '${formatInterval(lookback)}' looks back; make lookback longer.`);
  }
  if (expireAfter !== null && expireAfter <= delay) {
    const expiry = formatInterval(expireAfter);
    throw refuse(
      `${waits} until they are past EXPIRE AFTER '${expiry}', so that none is ever computed; make delay shorter.`,
    );
  }
  if (acceptPast !== null && acceptPast <= delay) {
    const past = formatInterval(acceptPast);
    throw refuse(
      `${waits} until they are older than accept_past = '${past}', so that none is ever computed; make delay shorter.`,
    );
  }
}

/** What part of the options has no effect, one sentence each. */
export function combinationWarnings(flow: Clauses & Pick<FlowDefinition, 'compiled'>): string[] {
  const { expireAfter, evalInterval, options, compiled } = flow;
  const { lookback, acceptPast, missedTicks, catchUpMaxLag } = options;
  const given = writtenOptions(options).map(([name]) => name);
  const idle = (names: readonly string[], because: string): string[] => {
    const found = names.filter((name) => given.includes(name));
    return found.length === 0 ? [] : [`Without effect, because ${because}: ${found.join(', ')}.`];
  };
  const tooFar = (name: string, length: bigint | null, bound: bigint | null, boundName: string): string[] =>
    length === null || bound === null || length <= bound
      ? []
      : [
          `${name} reaches further back than ${boundName} ('${formatInterval(bound)}'), and only as far as that has an effect.`,
        ];
  return [
    ...(evalInterval === null
      ? idle(OF_THE_GRID, 'the flow has no EVAL INTERVAL')
      : idle(['cadence'], 'the flow runs at its EVAL INTERVAL')),
    ...(evalInterval === null || missedTicks === 'catch_up'
      ? []
      : idle(OF_CATCHING_UP, "missed_ticks is not 'catch_up'")),
    ...(compiled.window === null ? idle(OF_WINDOWS, 'the flow runs whole') : []),
    ...(compiled.history === null ? [] : idle(['on_delete'], 'a recording query keeps the rows of other runs anyway')),
    ...(compiled.window !== null && compiled.sources.every(({ timeColumn }) => timeColumn !== null)
      ? idle(['on_dimension_change'], 'no table is read whole')
      : []),
    ...(compiled.window === null
      ? []
      : [
          ...tooFar('lookback', lookback, expireAfter, 'EXPIRE AFTER'),
          ...tooFar('lookback', lookback, acceptPast, 'accept_past'),
          ...tooFar('accept_past', acceptPast, expireAfter, 'EXPIRE AFTER'),
        ]),
    ...(missedTicks === 'catch_up' && catchUpMaxLag !== null && evalInterval !== null && catchUpMaxLag < evalInterval
      ? ['catch_up_max_lag is shorter than EVAL INTERVAL, so that no missed grid time is caught up with.']
      : []),
  ];
}

const OF_CATCHING_UP = ['catch_up_max_runs', 'catch_up_max_lag'];
const OF_THE_GRID = ['missed_ticks', ...OF_CATCHING_UP, 'schedule_anchor', 'schedule_start'];
const OF_WINDOWS = [
  'merge_distance',
  'max_ranges',
  'max_windows',
  'order',
  'on_dimension_change',
  'lookback',
  'delay',
  'accept_past',
  'accept_future',
];

function refuse(message: string): SluiceError {
  return new SluiceError('invalid_option', message);
}
