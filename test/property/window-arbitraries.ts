import fc from 'fast-check';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE, SECOND } from '../../lib/window/instant.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import type { CalendarUnit, WindowSpec } from '../../lib/window/window-spec.ts';

const anyUnit: fc.Arbitrary<CalendarUnit> = fc.constantFrom(
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
  'decade',
  'century',
  'millennium',
);

const anyZone = fc.oneof(
  fc.constant('UTC'),
  fc.constantFrom(
    'America/Havana',
    'America/St_Johns',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'Europe/Berlin',
    'Pacific/Apia',
    'Pacific/Kwajalein',
  ),
  fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
);

function between(from: bigint, to: bigint): fc.Arbitrary<Instant> {
  return fc.bigInt(from, to).map((t) => t as Instant);
}

/** Of the whole range, of years that clocks have shifted in, near the limits, and near known shifts. */
export const anyInstant: fc.Arbitrary<Instant> = fc.oneof(
  between(INSTANT_MIN, INSTANT_MAX),
  between(parseInstant('1840-01-01T00:00:00Z'), parseInstant('2100-01-01T00:00:00Z')),
  between(INSTANT_MIN, INSTANT_MIN + 3n * DAY),
  between(INSTANT_MAX - 3n * DAY, INSTANT_MAX),
  fc
    .tuple(
      fc.constantFrom(
        '1969-10-01T00:00:00Z',
        '1970-01-01T00:00:00Z',
        '2009-11-01T02:31:00Z',
        '2011-12-30T10:00:00Z',
        '2024-03-10T05:00:00Z',
        '2024-03-31T01:00:00Z',
        '2024-04-06T15:00:00Z',
      ),
      fc.bigInt(-2n * DAY, 2n * DAY),
    )
    .map(([shift, by]) => (parseInstant(shift) + by) as Instant),
);

export const anySpec: fc.Arbitrary<WindowSpec> = fc.oneof(
  fc.record({
    kind: fc.constant('fixed' as const),
    size: fc.oneof(
      fc.constantFrom(1n, 7n, SECOND, 15n * MINUTE, HOUR, DAY, 7n * DAY, 10n ** 20n),
      fc.bigInt(1n, 4000n * DAY),
    ),
    origin: between(INSTANT_MIN, INSTANT_MAX),
  }),
  fc.record({ kind: fc.constant('calendar' as const), unit: anyUnit, zone: anyZone }),
);

export const anyRange: fc.Arbitrary<TimeRange> = fc
  .tuple(anyInstant, fc.oneof(anyInstant, fc.bigInt(1n, 40n * DAY)))
  .map(([a, other]) => {
    const b = other < 41n * DAY && other > 0n ? a + other : other;
    const [start, end] = a < b ? [a, b] : [b, a];
    return { start: start as Instant, end: (end > INSTANT_MAX ? INSTANT_MAX : end) as Instant };
  })
  .filter(({ start, end }) => start < end);
