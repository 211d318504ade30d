import { describe, expect, test } from 'vitest';
import { clip, joinNear, normalize, subtract, takeWindows } from '../../../lib/window/dirty-set.ts';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant } from '../../../lib/window/instant.ts';
import { parseInstant } from '../../../lib/window/rfc3339.ts';
import { ALL_TIME, type TimeRange } from '../../../lib/window/time-range.ts';
import type { WindowSpec } from '../../../lib/window/window-spec.ts';

/** Windows of ten microseconds. */
const TENS: WindowSpec = { kind: 'fixed', size: 10n, origin: 0n as Instant };
const MONTHS: WindowSpec = { kind: 'calendar', unit: 'month', zone: 'UTC' };
const BERLIN_DAYS: WindowSpec = { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' };

type Pair = [number | bigint, number | bigint];

function ranges(...pairs: Pair[]): TimeRange[] {
  return pairs.map(([start, end]) => ({ start: BigInt(start) as Instant, end: BigInt(end) as Instant }));
}

function months(from: string, to: string): TimeRange {
  return { start: parseInstant(`${from}-01T00:00:00Z`), end: parseInstant(`${to}-01T00:00:00Z`) };
}

describe('normalize', () => {
  test.each<[string, Pair[], Pair[]]>([
    ['of nothing', [], []],
    [
      'sorts',
      [
        [5, 6],
        [1, 2],
      ],
      [
        [1, 2],
        [5, 6],
      ],
    ],
    [
      'joins overlaps',
      [
        [1, 5],
        [3, 8],
      ],
      [[1, 8]],
    ],
    [
      'joins what touches',
      [
        [1, 5],
        [5, 8],
      ],
      [[1, 8]],
    ],
    [
      'takes in what lies inside',
      [
        [1, 9],
        [3, 4],
        [8, 9],
      ],
      [[1, 9]],
    ],
    [
      'names a range once',
      [
        [1, 2],
        [1, 2],
      ],
      [[1, 2]],
    ],
    [
      'drops empty and backward ranges',
      [
        [3, 3],
        [9, 7],
        [1, 2],
      ],
      [[1, 2]],
    ],
    [
      'sorts by value, not as text',
      [
        [10, 11],
        [9, 10],
        [-1, 0],
      ],
      [
        [-1, 0],
        [9, 11],
      ],
    ],
  ])('%s', (_, given, expected) => {
    expect(normalize(ranges(...given))).toEqual(ranges(...expected));
  });

  test('leaves its argument as it was', () => {
    const given = ranges([5, 6], [1, 2]);
    normalize(given);
    expect(given).toEqual(ranges([5, 6], [1, 2]));
  });
});

describe('joinNear', () => {
  test.each<[string, Pair[], number, Pair[]]>([
    [
      'joins over a gap of the distance',
      [
        [0, 10],
        [40, 50],
      ],
      3,
      [[0, 50]],
    ],
    [
      'keeps a gap of one window more',
      [
        [0, 10],
        [50, 60],
      ],
      3,
      [
        [0, 10],
        [50, 60],
      ],
    ],
    [
      'measures from the joined end',
      [
        [0, 10],
        [30, 40],
        [60, 70],
      ],
      2,
      [[0, 70]],
    ],
    [
      'joins nothing but neighbours',
      [
        [0, 10],
        [30, 40],
        [100, 110],
      ],
      2,
      [
        [0, 40],
        [100, 110],
      ],
    ],
    [
      'joins only what touches at distance 0',
      [
        [0, 10],
        [10, 20],
        [30, 40],
      ],
      0,
      [
        [0, 20],
        [30, 40],
      ],
    ],
    [
      'reaches the end of time',
      [
        [0, 10],
        [INSTANT_MAX - 20n, INSTANT_MAX],
      ],
      3,
      [
        [0, 10],
        [INSTANT_MAX - 20n, INSTANT_MAX],
      ],
    ],
    [
      'saturates before the end of time',
      [
        [0, INSTANT_MAX - 10n],
        [INSTANT_MAX - 2n, INSTANT_MAX],
      ],
      3,
      [[0, INSTANT_MAX]],
    ],
    [
      'starts at the start of time',
      [
        [INSTANT_MIN, INSTANT_MIN + 10n],
        [INSTANT_MIN + 20n, 0],
      ],
      1,
      [[INSTANT_MIN, 0]],
    ],
  ])('%s', (_, given, distance, expected) => {
    expect(joinNear(ranges(...given), TENS, distance)).toEqual(ranges(...expected));
  });

  test('counts the months of a gap, not days', () => {
    const [january, april] = [months('2024-01', '2024-02'), months('2024-04', '2024-05')];
    expect(joinNear([january, april], MONTHS, 2)).toEqual([months('2024-01', '2024-05')]);
    expect(joinNear([january, april], MONTHS, 1)).toEqual([january, april]);
  });

  test('counts a day of 25 hours as one', () => {
    const before = { start: parseInstant('2024-10-25T22:00:00Z'), end: parseInstant('2024-10-26T22:00:00Z') };
    const after = { start: parseInstant('2024-10-27T23:00:00Z'), end: parseInstant('2024-10-28T23:00:00Z') };
    expect(joinNear([before, after], BERLIN_DAYS, 1)).toEqual([{ start: before.start, end: after.end }]);
    expect(joinNear([before, after], BERLIN_DAYS, 0)).toEqual([before, after]);
  });
});

describe('subtract', () => {
  test.each<[string, Pair[], Pair[], Pair[]]>([
    ['nothing', [[1, 9]], [], [[1, 9]]],
    ['from nothing', [], [[1, 9]], []],
    ['everything', [[1, 9]], [[1, 9]], []],
    [
      'more than everything',
      [
        [1, 9],
        [11, 12],
      ],
      [[0, 20]],
      [],
    ],
    [
      'a hole',
      [[1, 9]],
      [[3, 5]],
      [
        [1, 3],
        [5, 9],
      ],
    ],
    [
      'several holes',
      [[1, 9]],
      [
        [0, 2],
        [3, 4],
        [8, 12],
      ],
      [
        [2, 3],
        [4, 8],
      ],
    ],
    [
      'one hole over two ranges',
      [
        [1, 4],
        [6, 9],
      ],
      [[3, 7]],
      [
        [1, 3],
        [7, 9],
      ],
    ],
    [
      'what only touches',
      [[5, 9]],
      [
        [1, 5],
        [9, 12],
      ],
      [[5, 9]],
    ],
    [
      'from later ranges too',
      [
        [1, 2],
        [5, 9],
        [20, 30],
      ],
      [
        [6, 7],
        [25, 26],
      ],
      [
        [1, 2],
        [5, 6],
        [7, 9],
        [20, 25],
        [26, 30],
      ],
    ],
  ])('%s', (_, a, b, expected) => {
    expect(subtract(ranges(...a), ranges(...b))).toEqual(ranges(...expected));
  });
});

describe('clip', () => {
  test.each<[string, Pair[], Pair, Pair[]]>([
    [
      'keeps what lies inside',
      [
        [2, 3],
        [5, 6],
      ],
      [1, 9],
      [
        [2, 3],
        [5, 6],
      ],
    ],
    [
      'cuts at both ends',
      [
        [0, 3],
        [5, 6],
        [8, 12],
      ],
      [1, 9],
      [
        [1, 3],
        [5, 6],
        [8, 9],
      ],
    ],
    [
      'drops what lies outside or only touches',
      [
        [-3, 1],
        [9, 12],
      ],
      [1, 9],
      [],
    ],
  ])('%s', (_, given, within, expected) => {
    const [bound] = ranges(within);
    expect(clip(ranges(...given), bound!)).toEqual(ranges(...expected));
  });

  test('keeps all within all time', () => {
    expect(clip([ALL_TIME], ALL_TIME)).toEqual([ALL_TIME]);
  });
});

describe('takeWindows', () => {
  const four: Pair[] = [
    [0, 20],
    [40, 50],
    [70, 100],
    [200, 210],
  ];

  test.each<[string, number, number, 'newest' | 'oldest', Pair[], Pair[]]>([
    ['takes all that fits', 10, 10, 'newest', four, []],
    ['takes exactly all', 4, 7, 'oldest', four, []],
    [
      'takes the newest windows first',
      10,
      3,
      'newest',
      [
        [80, 100],
        [200, 210],
      ],
      [
        [0, 20],
        [40, 50],
        [70, 80],
      ],
    ],
    [
      'takes the oldest windows first',
      10,
      4,
      'oldest',
      [
        [0, 20],
        [40, 50],
        [70, 80],
      ],
      [
        [80, 100],
        [200, 210],
      ],
    ],
    [
      'takes no more ranges than allowed',
      2,
      10,
      'newest',
      [
        [70, 100],
        [200, 210],
      ],
      [
        [0, 20],
        [40, 50],
      ],
    ],
    [
      'takes no more ranges than allowed, oldest first',
      1,
      10,
      'oldest',
      [[0, 20]],
      [
        [40, 50],
        [70, 100],
        [200, 210],
      ],
    ],
    [
      'takes one window',
      20,
      1,
      'newest',
      [[200, 210]],
      [
        [0, 20],
        [40, 50],
        [70, 100],
      ],
    ],
    [
      'takes one window out of a longer range',
      20,
      1,
      'oldest',
      [[0, 10]],
      [
        [10, 20],
        [40, 50],
        [70, 100],
        [200, 210],
      ],
    ],
    ['takes nothing when no window is allowed', 20, 0, 'newest', [], four],
    ['takes nothing when no range is allowed', 0, 20, 'oldest', [], four],
  ])('%s', (_, maxRanges, maxWindows, order, taken, left) => {
    const outcome = takeWindows(ranges(...four), TENS, { maxRanges, maxWindows, order });
    expect(outcome).toEqual({ taken: ranges(...taken), left: ranges(...left) });
  });

  test('splits at month boundaries', () => {
    const year = months('2024-01', '2025-01');
    expect(takeWindows([year], MONTHS, { maxRanges: 9, maxWindows: 2, order: 'newest' })).toEqual({
      taken: [months('2024-11', '2025-01')],
      left: [months('2024-01', '2024-11')],
    });
    expect(takeWindows([year], MONTHS, { maxRanges: 9, maxWindows: 2, order: 'oldest' })).toEqual({
      taken: [months('2024-01', '2024-03')],
      left: [months('2024-03', '2025-01')],
    });
  });

  test('splits at local midnights', () => {
    const week = { start: parseInstant('2024-10-24T22:00:00Z'), end: parseInstant('2024-10-29T23:00:00Z') };
    const cut = parseInstant('2024-10-26T22:00:00Z');
    expect(takeWindows([week], BERLIN_DAYS, { maxRanges: 9, maxWindows: 3, order: 'newest' })).toEqual({
      taken: [{ start: cut, end: week.end }],
      left: [{ start: week.start, end: cut }],
    });
  });

  test('counts the rest of a window as one where a range is not aligned', () => {
    const taken = takeWindows(ranges([5, 32]), TENS, { maxRanges: 9, maxWindows: 2, order: 'newest' });
    expect(taken).toEqual({ taken: ranges([20, 32]), left: ranges([5, 20]) });
  });

  test.each<[string, WindowSpec]>([
    ['microseconds', { kind: 'fixed', size: 1n, origin: 0n as Instant }],
    ['hours', { kind: 'fixed', size: HOUR, origin: 0n as Instant }],
    ['local hours', { kind: 'calendar', unit: 'hour', zone: 'Asia/Kolkata' }],
    ['local days', BERLIN_DAYS],
    ['months', MONTHS],
  ])('takes a few %s out of all time without counting the rest', (_, spec) => {
    for (const order of ['newest', 'oldest'] as const) {
      const { taken, left } = takeWindows([ALL_TIME], spec, { maxRanges: 20, maxWindows: 20, order });
      expect(taken).toHaveLength(1);
      expect(left).toHaveLength(1);
      expect(normalize([...taken, ...left])).toEqual([ALL_TIME]);
      expect(taken[0]!.end - taken[0]!.start).toBeLessThan(20n * 32n * DAY);
    }
  });

  test('takes a window that is as long as all time', () => {
    const spec: WindowSpec = { kind: 'fixed', size: 10n ** 30n, origin: INSTANT_MIN };
    expect(takeWindows([ALL_TIME], spec, { maxRanges: 1, maxWindows: 1, order: 'newest' })).toEqual({
      taken: [ALL_TIME],
      left: [],
    });
  });
});
