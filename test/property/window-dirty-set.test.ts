import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip, joinNear, normalize, subtract, takeWindows } from '../../lib/window/dirty-set.ts';
import { DAY, type Instant } from '../../lib/window/instant.ts';
import { intersect, type TimeRange } from '../../lib/window/time-range.ts';
import type { WindowSpec } from '../../lib/window/window-spec.ts';
import { alignOutwards, stepWindows, windowContaining } from '../../lib/window/windows.ts';
import { anyInstant, anyRange, anySpec } from './window-arbitraries.ts';

/** Small whole numbers, so that a set of times can be held as a set of numbers and compared time by time. */
const TIMES = 40;
const smallRange: fc.Arbitrary<TimeRange> = fc
  .tuple(fc.nat(TIMES), fc.nat(TIMES))
  .map(([start, end]) => ({ start: BigInt(start) as Instant, end: BigInt(end) as Instant }));
const smallRanges = fc.array(smallRange, { maxLength: 8 });
const smallSet = smallRanges.map(normalize);

function times(ranges: readonly TimeRange[]): number[] {
  return Array.from({ length: TIMES + 1 }, (_, t) => t).filter((t) =>
    ranges.some(({ start, end }) => start <= BigInt(t) && BigInt(t) < end),
  );
}

function expectNormal(ranges: readonly TimeRange[]): void {
  for (const [index, { start, end }] of ranges.entries()) {
    expect(start < end).toBe(true);
    const next = ranges[index + 1];
    if (next !== undefined) expect(end < next.start).toBe(true);
  }
}

test('normalize keeps the times, and the order they come in does not matter', () => {
  fc.assert(
    fc.property(smallRanges, (ranges) => {
      const normal = normalize(ranges);
      expectNormal(normal);
      expect(times(normal)).toEqual(times(ranges));
      expect(normalize(normal)).toEqual(normal);
      expect(normalize(ranges.toReversed())).toEqual(normal);
    }),
  );
});

test('subtract takes exactly the times of the other away', () => {
  fc.assert(
    fc.property(smallSet, smallSet, (a, b) => {
      const left = subtract(a, b);
      expectNormal(left);
      expect(times(left)).toEqual(times(a).filter((t) => !times(b).includes(t)));
      expect(normalize([...left, ...subtract(a, left)])).toEqual(a);
      expect(subtract(left, b)).toEqual(left);
    }),
    { numRuns: 1000 },
  );
});

test('clip keeps exactly the times within', () => {
  fc.assert(
    fc.property(smallSet, smallRange, (ranges, within) => {
      const clipped = clip(ranges, within);
      expectNormal(clipped);
      expect(times(clipped)).toEqual(times(ranges).filter((t) => times([within]).includes(t)));
    }),
  );
});

/** A spec with some ranges aligned to it, normal. */
const alignedSet = fc
  .tuple(anySpec, fc.array(anyRange, { maxLength: 6 }))
  .map(([spec, ranges]) => ({ spec, ranges: normalize(ranges.map((range) => alignOutwards(spec, range))) }));

/** The same with gaps of a few windows only. */
const nearSet = fc
  .tuple(
    anySpec,
    anyInstant,
    fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 4 })), { maxLength: 6 }),
  )
  .map(([spec, from, steps]) => {
    const ranges: TimeRange[] = [];
    let at = windowContaining(spec, from).start;
    for (const [length, gap] of steps) {
      const end = stepWindows(spec, at, length);
      ranges.push({ start: at, end });
      at = stepWindows(spec, end, gap);
    }
    return { spec, ranges: normalize(ranges) };
  });

/** Windows in a range, counted one by one, up to a number that is more than any test takes. */
function countWindows(spec: WindowSpec, { start, end }: TimeRange): number {
  let at = start;
  let windows = 0;
  while (at < end && windows < 100) {
    at = stepWindows(spec, at, 1);
    windows += 1;
  }
  return windows;
}

test('joinNear adds only gaps of at most the distance, and leaves none of them', () => {
  fc.assert(
    fc.property(fc.oneof(alignedSet, nearSet), fc.integer({ min: 0, max: 4 }), ({ spec, ranges }, distance) => {
      const joined = joinNear(ranges, spec, distance);
      expectNormal(joined);
      expect(subtract(ranges, joined)).toEqual([]);
      for (const gap of subtract(joined, ranges)) expect(countWindows(spec, gap)).toBeLessThanOrEqual(distance);
      for (const [index, { end }] of joined.entries()) {
        const next = joined[index + 1];
        if (next !== undefined) expect(countWindows(spec, { start: end, end: next.start })).toBeGreaterThan(distance);
      }
    }),
    { numRuns: 500 },
  );
});

type Take = typeof takeWindows;

function takes(take: Take) {
  const limits = fc.record({
    maxRanges: fc.integer({ min: 1, max: 5 }),
    maxWindows: fc.integer({ min: 1, max: 12 }),
    order: fc.constantFrom('newest' as const, 'oldest' as const),
  });
  return fc.property(fc.oneof(alignedSet, nearSet), limits, ({ spec, ranges }, { maxRanges, maxWindows, order }) => {
    const { taken, left } = take(ranges, spec, { maxRanges, maxWindows, order });
    expectNormal(taken);
    expectNormal(left);
    // Together they are what was given, and they share nothing.
    expect(normalize([...taken, ...left])).toEqual(ranges);
    expect(taken.flatMap((range) => left.flatMap((other) => intersect(range, other) ?? []))).toEqual([]);
    // Within the limits, on whole windows, and never nothing.
    const windows = taken.reduce((sum, range) => sum + countWindows(spec, range), 0);
    expect(taken.length).toBeLessThanOrEqual(maxRanges);
    expect(windows).toBeLessThanOrEqual(maxWindows);
    expect(taken.map((range) => alignOutwards(spec, range))).toEqual(taken);
    expect(taken.length > 0).toBe(ranges.length > 0);
    // In order, and as much as the limits allow.
    const [early, late] = order === 'newest' ? [left, taken] : [taken, left];
    expect((early.at(-1)?.end ?? -(10n ** 30n)) <= (late[0]?.start ?? 10n ** 30n)).toBe(true);
    if (left.length > 0) expect(windows === maxWindows || taken.length === maxRanges).toBe(true);
  });
}

test('what is taken and what is left make up what was given', () => {
  fc.assert(takes(takeWindows), { numRuns: 1000 });
});

test.each<[string, Take]>([
  [
    'taking one window too many',
    (ranges, spec, limits) => takeWindows(ranges, spec, { ...limits, maxWindows: limits.maxWindows + 1 }),
  ],
  [
    'taking one window too few',
    (ranges, spec, limits) => takeWindows(ranges, spec, { ...limits, maxWindows: limits.maxWindows - 1 }),
  ],
  [
    'the wrong order',
    (ranges, spec, limits) =>
      takeWindows(ranges, spec, { ...limits, order: limits.order === 'newest' ? 'oldest' : 'newest' }),
  ],
  ['losing what is left', (ranges, spec, limits) => ({ ...takeWindows(ranges, spec, limits), left: [] })],
  [
    'counting in days of 24 hours',
    (ranges, _, limits) => takeWindows(ranges, { kind: 'fixed', size: DAY, origin: 0n as Instant }, limits),
  ],
])('control: %s is caught', (_, wrong) => {
  expect(fc.check(takes(wrong), { numRuns: 300 }).failed).toBe(true);
});
