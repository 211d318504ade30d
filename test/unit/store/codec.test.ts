import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Attributes } from '../../../lib/store/dynamodb/attribute-codec.ts';
import { decodeDefinition, decodeState, encodeDefinition, encodeState } from '../../../lib/store/dynamodb/codec.ts';
import type { ConsumedWindow, FlowState } from '../../../lib/store/flow-store.ts';
import { INSTANT_MAX, INSTANT_MIN, instant } from '../../../lib/window/instant.ts';
import type { WindowSpec } from '../../../lib/window/window-spec.ts';
import { sampleDefinition, sampleState } from '../../contract/store-samples.ts';

const instants = fc.bigInt({ min: INSTANT_MIN, max: INSTANT_MAX }).map((t) => instant(t));
const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const text = fc.string({ unit: 'grapheme' });
const range = fc.record({ start: instants, end: instants });
const consumed: fc.Arbitrary<ConsumedWindow> = fc.record({
  start: instants,
  end: instants,
  version: text,
  forced: fc.boolean(),
  left: fc.array(range, { maxLength: 3 }),
});
const runError = fc.record({ code: text, message: text, at: instants });
const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });

const states: fc.Arbitrary<FlowState> = fc.record({
  epoch: u64,
  version: u64,
  status: fc.constantFrom('creating', 'active', 'paused', 'dropping', 'dropped'),
  generation: u64,
  lease: nullable(fc.record({ owner: text, epoch: u64, expiresAt: instants })),
  inFlight: nullable(
    fc.record({
      epoch: u64,
      coverage: fc.constantFrom('unfiltered_full', 'scoped_base_repair', 'fenced_repair_chunk', 'incremental_delta'),
      ranges: fc.array(range, { maxLength: 3 }),
      consumed: fc.array(consumed, { maxLength: 3 }),
      gridTime: nullable(instants),
      startedAt: instants,
      more: fc.boolean(),
    }),
  ),
  settle: fc.array(consumed, { maxLength: 3 }),
  applied: u64,
  mode: fc.constantFrom('full_snapshot', 'incremental'),
  checkpoints: fc
    .array(fc.tuple(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '')), text), { maxLength: 3 })
    .map((pairs) => Object.fromEntries(pairs)),
  windowLimit: nullable(fc.nat()),
  failures: fc.nat(),
  blocked: nullable(runError),
  lastError: nullable(runError),
  lastGridTime: nullable(instants),
  gridTimesSkipped: u64,
  nextDueAt: nullable(instants),
  lookbackAt: nullable(instants),
  aside: fc.array(range, { maxLength: 3 }),
  sinkIdentity: nullable(text),
  sourceOldest: nullable(instants),
  frozenBefore: nullable(instants),
  sourceShrunk: nullable(fc.record({ from: instants, to: nullable(instants), at: instants })),
  lastRunAt: nullable(instants),
  plansCommitted: u64,
  rowsWritten: u64,
});

/** As an item travels: DynamoDB's JSON. */
function sent(item: Attributes): Attributes {
  return JSON.parse(JSON.stringify(item)) as Attributes;
}

describe('the codec', () => {
  it('gives back any state exactly', () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(decodeState(sent(encodeState('f', state, 'w')))).toEqual(state);
      }),
      { numRuns: 500 },
    );
  });

  it('gives back any window specification', () => {
    const specs: fc.Arbitrary<WindowSpec> = fc.oneof(
      fc.record({
        kind: fc.constant('fixed' as const),
        size: fc.bigInt({ min: 1n, max: INSTANT_MAX }),
        origin: instants,
      }),
      fc.record({
        kind: fc.constant('calendar' as const),
        unit: fc.constantFrom('hour', 'day', 'week', 'month', 'quarter', 'year', 'decade', 'century', 'millennium'),
        zone: text,
      }),
    );
    const sample = sampleDefinition('f');
    const window = sample.compiled.window;
    if (window === null) throw new Error('the sample has a window');
    fc.assert(
      fc.property(specs, u64, (spec, generation) => {
        const definition = { ...sample, generation, compiled: { ...sample.compiled, window: { ...window, spec } } };
        expect(decodeDefinition(sent(encodeDefinition(definition)))).toEqual(definition);
      }),
    );
  });

  it('never puts what was stored into an error', () => {
    const item = encodeState('f', sampleState(), 'w');
    for (const name of Object.keys(item).filter((each) => !['pk', 'sk', 'writeId'].includes(each))) {
      const broken = { ...item, [name]: { SS: ['secret'] } };
      expect(() => decodeState(broken)).toThrow(expect.objectContaining({ code: 'internal' }));
      expect(() => decodeState(broken)).not.toThrow('secret');
    }
  });
});
