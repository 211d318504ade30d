import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE } from '../../../lib/window/instant.ts';
import { formatInstant, parseInstant } from '../../../lib/window/rfc3339.ts';
import { ALL_TIME, type TimeRange } from '../../../lib/window/time-range.ts';
import type { CalendarUnit, WindowSpec } from '../../../lib/window/window-spec.ts';
import {
  alignOutwards,
  isBoundary,
  stepWindows,
  typicalLength,
  windowContaining,
  windowsNearLabel,
} from '../../../lib/window/windows.ts';

const EPOCH = 0n as Instant;

function fixed(size: bigint, origin: Instant = EPOCH): WindowSpec {
  return { kind: 'fixed', size, origin };
}

function calendar(unit: CalendarUnit, zone = 'UTC'): WindowSpec {
  return { kind: 'calendar', unit, zone };
}

/** `2024-01-02`, `2024-01-02T03:04` or `2024-01-02T03:04:05`, in UTC. */
function at(text: string): Instant {
  const [date, time = ''] = text.split('T');
  return parseInstant(`${date}T${time}${'00:00:00'.slice(time.length)}Z`);
}

function range(start: string, end: string): TimeRange {
  return { start: at(start), end: at(end) };
}

function shown({ start, end }: TimeRange): string {
  return `${formatInstant(start)} ${formatInstant(end)}`;
}

describe('fixed windows', () => {
  test.each([
    ['after the origin', fixed(15n * MINUTE), '2024-02-29T12:44', '2024-02-29T12:30', '2024-02-29T12:45'],
    ['on a boundary', fixed(15n * MINUTE), '2024-02-29T12:45', '2024-02-29T12:45', '2024-02-29T13:00'],
    ['before 1970', fixed(HOUR), '1969-12-31T23:30', '1969-12-31T23:00', '1970-01-01'],
    ['before an origin of its own', fixed(7n * DAY, at('2001-01-01')), '2000-12-30', '2000-12-25', '2001-01-01'],
    ['on a boundary before the origin', fixed(7n * DAY, at('2001-01-01')), '2000-12-25', '2000-12-25', '2001-01-01'],
    ['off the hour', fixed(HOUR, at('2024-01-01T00:10')), '2024-01-01T05:05', '2024-01-01T04:10', '2024-01-01T05:10'],
    ['before Christ', fixed(DAY), '-000044-03-15T12:00', '-000044-03-15', '-000044-03-16'],
  ])('%s', (_, spec, t, start, end) => {
    expect(shown(windowContaining(spec, at(t)))).toBe(shown(range(start, end)));
  });

  test('of one microsecond hold one instant', () => {
    expect(windowContaining(fixed(1n), 7n as Instant)).toEqual({ start: 7n, end: 8n });
  });

  test('refuse to have no length', () => {
    expect(() => windowContaining(fixed(0n), EPOCH)).toThrow(SluiceError);
    expect(() => windowContaining(fixed(-HOUR), EPOCH)).toThrow('no length');
  });
});

describe('calendar windows in UTC', () => {
  test.each<[CalendarUnit, string, string, string]>([
    ['hour', '1969-12-31T23:59', '1969-12-31T23:00', '1970-01-01'],
    ['day', '1969-12-31T23:59', '1969-12-31', '1970-01-01'],
    ['week', '1970-01-01', '1969-12-29', '1970-01-05'],
    ['week', '2024-12-31T10:00', '2024-12-30', '2025-01-06'],
    ['week', '2021-01-03T23:59', '2020-12-28', '2021-01-04'],
    ['week', '0000-01-01', '-000001-12-27', '0000-01-03'],
    ['month', '2024-02-29T23:59', '2024-02-01', '2024-03-01'],
    ['month', '2023-12-31', '2023-12-01', '2024-01-01'],
    ['month', '0000-12-31', '0000-12-01', '0001-01-01'],
    ['quarter', '2024-05-31', '2024-04-01', '2024-07-01'],
    ['quarter', '1969-12-31', '1969-10-01', '1970-01-01'],
    ['year', '1969-06-01', '1969-01-01', '1970-01-01'],
    ['year', '-000043-06-01', '-000043-01-01', '-000042-01-01'],
    ['decade', '2010-01-01', '2010-01-01', '2020-01-01'],
    ['decade', '2009-12-31', '2000-01-01', '2010-01-01'],
    ['decade', '0009-12-31', '0000-01-01', '0010-01-01'],
    ['decade', '-000001-01-01', '-000010-01-01', '0000-01-01'],
    ['century', '2000-12-31', '1901-01-01', '2001-01-01'],
    ['century', '2001-01-01', '2001-01-01', '2101-01-01'],
    ['century', '0000-12-31', '-000099-01-01', '0001-01-01'],
    ['century', '-000099-01-01', '-000099-01-01', '0001-01-01'],
    ['century', '-000100-12-31', '-000199-01-01', '-000099-01-01'],
    ['millennium', '2000-12-31', '1001-01-01', '2001-01-01'],
    ['millennium', '2001-01-01', '2001-01-01', '3001-01-01'],
    ['millennium', '0000-06-01', '-000999-01-01', '0001-01-01'],
    ['millennium', '+275800-01-01', '+275001-01-01', '+276001-01-01'],
  ])('%s of %s', (unit, t, start, end) => {
    expect(shown(windowContaining(calendar(unit), at(t)))).toBe(shown(range(start, end)));
  });

  test('are found by other names of UTC too', () => {
    expect(windowContaining(calendar('day', 'Etc/UTC'), EPOCH)).toEqual({ start: 0n, end: DAY });
  });
});

describe('windows in zones', () => {
  test.each<[string, CalendarUnit, string, string, string, string]>([
    ['a day of 23 hours', 'day', 'Europe/Berlin', '2024-03-31T12:00', '2024-03-30T23:00', '2024-03-31T22:00'],
    ['a day of 25 hours', 'day', 'Europe/Berlin', '2024-10-27T12:00', '2024-10-26T22:00', '2024-10-27T23:00'],
    ['the day after it', 'day', 'Europe/Berlin', '2024-10-27T23:00', '2024-10-27T23:00', '2024-10-28T23:00'],
    ['a month with a shift', 'month', 'Europe/Berlin', '2024-03-15', '2024-02-29T23:00', '2024-03-31T22:00'],
    ['an ISO week with a shift', 'week', 'Europe/Berlin', '2024-03-31T21:59', '2024-03-24T23:00', '2024-03-31T22:00'],
    ['a quarter', 'quarter', 'America/New_York', '2024-03-31', '2024-01-01T05:00', '2024-04-01T04:00'],
    ['a year', 'year', 'Asia/Tokyo', '2024-12-31T15:00', '2024-12-31T15:00', '2025-12-31T15:00'],
    [
      'a decade that began in local mean time',
      'decade',
      'Europe/Berlin',
      '1893-04-01',
      '1889-12-31T23:06:32',
      '1899-12-31T23:00',
    ],
    ['a day of 24½ hours', 'day', 'Australia/Lord_Howe', '2024-04-07T12:00', '2024-04-06T13:00', '2024-04-07T13:30'],
    ['a day of 23½ hours', 'day', 'Australia/Lord_Howe', '2024-10-06T12:00', '2024-10-05T13:30', '2024-10-06T13:00'],
    ['the day before a skipped day', 'day', 'Pacific/Apia', '2011-12-30T09:59', '2011-12-29T10:00', '2011-12-30T10:00'],
    ['the day after a skipped day', 'day', 'Pacific/Apia', '2011-12-30T10:00', '2011-12-30T10:00', '2011-12-31T10:00'],
    ['a week without its Friday', 'week', 'Pacific/Apia', '2011-12-30T10:00', '2011-12-26T10:00', '2012-01-01T10:00'],
    [
      'a skipped day across the date line',
      'day',
      'Pacific/Kwajalein',
      '1993-08-21T12:00',
      '1993-08-21T12:00',
      '1993-08-22T12:00',
    ],
    [
      'a day that was had nearly twice',
      'day',
      'Pacific/Kwajalein',
      '1969-09-30T20:00',
      '1969-09-29T13:00',
      '1969-10-01T12:00',
    ],
    ['a day that begins at one', 'day', 'America/Havana', '2024-03-10T05:00', '2024-03-10T05:00', '2024-03-11T04:00'],
    ['the day before it', 'day', 'America/Havana', '2024-03-10T04:59', '2024-03-09T05:00', '2024-03-10T05:00'],
    [
      'a midnight that comes twice',
      'day',
      'America/Havana',
      '2024-11-03T04:30',
      '2024-11-03T04:00',
      '2024-11-04T05:00',
    ],
    [
      'a day that begins at one, by the sea',
      'day',
      'Atlantic/Azores',
      '2024-03-31T01:00',
      '2024-03-31T01:00',
      '2024-04-01',
    ],
    [
      'a midnight that comes twice, by the sea',
      'day',
      'Atlantic/Azores',
      '2024-10-27T00:30',
      '2024-10-27',
      '2024-10-28T01:00',
    ],
    [
      'a clock set back at midnight to 23:00',
      'day',
      'America/Sao_Paulo',
      '2018-02-18T02:30',
      '2018-02-17T02:00',
      '2018-02-18T03:00',
    ],
    [
      'a clock set ahead from 23:30 to 00:30',
      'day',
      'America/Toronto',
      '1919-03-31T12:00',
      '1919-03-31T04:30',
      '1919-04-01T04:00',
    ],
    ['half an hour east', 'day', 'Asia/Kolkata', '2024-01-01', '2023-12-31T18:30', '2024-01-01T18:30'],
    [
      'days joined by a fold at midnight',
      'day',
      'America/St_Johns',
      '2010-11-07T02:30',
      '2010-11-06T02:30',
      '2010-11-08T03:30',
    ],
    [
      'days joined, from the other side',
      'day',
      'America/St_Johns',
      '2010-11-07T03:30',
      '2010-11-06T02:30',
      '2010-11-08T03:30',
    ],
    [
      'the day before the joined ones',
      'day',
      'America/St_Johns',
      '2010-11-06T02:29',
      '2010-11-05T02:30',
      '2010-11-06T02:30',
    ],
    [
      'a month with such a fold inside',
      'month',
      'America/St_Johns',
      '2010-11-07T02:30',
      '2010-11-01T02:30',
      '2010-12-01T03:30',
    ],
    ['months joined by such a fold', 'month', 'America/St_Johns', '2009-11-15', '2009-10-01T02:30', '2009-12-01T03:30'],
    [
      'an hour of a zone half an hour off',
      'hour',
      'Asia/Kolkata',
      '2024-01-01T10:29',
      '2024-01-01T09:30',
      '2024-01-01T10:30',
    ],
    [
      'an hour of a zone a quarter off',
      'hour',
      'Asia/Kathmandu',
      '2024-01-01T10:14',
      '2024-01-01T09:15',
      '2024-01-01T10:15',
    ],
    [
      'an hour of a zone 44½ minutes off',
      'hour',
      'Africa/Monrovia',
      '1970-01-01',
      '1969-12-31T23:44:30',
      '1970-01-01T00:44:30',
    ],
    [
      'the hour that half an hour repeats',
      'hour',
      'Australia/Lord_Howe',
      '2024-04-06T14:59',
      '2024-04-06T14:00',
      '2024-04-06T15:00',
    ],
    [
      'the repeated half hour',
      'hour',
      'Australia/Lord_Howe',
      '2024-04-06T15:00',
      '2024-04-06T15:00',
      '2024-04-06T15:30',
    ],
    [
      'the first whole hour after it',
      'hour',
      'Australia/Lord_Howe',
      '2024-04-06T15:30',
      '2024-04-06T15:30',
      '2024-04-06T16:30',
    ],
    [
      'the half hour that is left of a shortened hour',
      'hour',
      'Australia/Lord_Howe',
      '2024-10-05T15:30',
      '2024-10-05T15:30',
      '2024-10-05T16:00',
    ],
    [
      'an hour that a fold of an hour repeats',
      'hour',
      'Europe/Berlin',
      '2024-10-27T00:30',
      '2024-10-27',
      '2024-10-27T01:00',
    ],
    ['its repetition', 'hour', 'Europe/Berlin', '2024-10-27T01:30', '2024-10-27T01:00', '2024-10-27T02:00'],
    [
      'one label on both sides of a fold',
      'hour',
      'America/St_Johns',
      '2010-11-07T02:30',
      '2010-11-07T02:30',
      '2010-11-07T03:30',
    ],
    [
      'what is left of an hour after 44½ minutes were skipped',
      'hour',
      'Africa/Monrovia',
      '1972-01-07T00:50',
      '1972-01-07T00:44:30',
      '1972-01-07T01:00',
    ],
    [
      'a zone past the last date of JavaScript',
      'day',
      'Europe/Berlin',
      '+290000-07-01T12:00',
      '+290000-06-30T22:00',
      '+290000-07-01T22:00',
    ],
  ])('%s', (_, unit, zone, t, start, end) => {
    const window = windowContaining(calendar(unit, zone), at(t));
    expect(shown(window)).toBe(shown(range(start, end)));
    expect(windowContaining(calendar(unit, zone), window.start)).toEqual(window);
    expect(windowContaining(calendar(unit, zone), (window.end - 1n) as Instant)).toEqual(window);
  });

  test.each(['Mars/Olympus', '+02:00', '-03', '', 'Europe/Berlin; DROP TABLE x'])('zone %j is refused', (zone) => {
    expect(() => windowContaining(calendar('day', zone), EPOCH)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringContaining('IANA') }),
    );
  });
});

describe('the limits of time', () => {
  const specs = [
    fixed(HOUR),
    fixed(7n * DAY, at('2001-01-01')),
    fixed(1_000_000n * 366n * DAY),
    fixed(1n),
    calendar('week'),
    calendar('month'),
    calendar('millennium'),
    calendar('day', 'Asia/Tokyo'),
    calendar('day', 'America/Los_Angeles'),
    calendar('hour', 'Asia/Kolkata'),
    calendar('century', 'Australia/Lord_Howe'),
  ];

  test.each(specs)('cut the outermost windows of %o', (spec) => {
    const first = windowContaining(spec, INSTANT_MIN);
    const last = windowContaining(spec, (INSTANT_MAX - 1n) as Instant);
    expect(first.start).toBe(INSTANT_MIN);
    expect(last.end).toBe(INSTANT_MAX);
    expect(first.end).toBeGreaterThan(INSTANT_MIN);
    expect(last.start).toBeLessThan(INSTANT_MAX);
    expect(windowContaining(spec, INSTANT_MAX)).toEqual(last);
    expect(windowContaining(spec, (first.end - 1n) as Instant)).toEqual(first);
    expect(windowContaining(spec, last.start)).toEqual(last);
  });

  test.each(specs)('are boundaries of %o, beyond which no step leads', (spec) => {
    expect(isBoundary(spec, INSTANT_MIN)).toBe(true);
    expect(isBoundary(spec, INSTANT_MAX)).toBe(true);
    expect(stepWindows(spec, INSTANT_MIN, -5)).toBe(INSTANT_MIN);
    expect(stepWindows(spec, INSTANT_MAX, 5)).toBe(INSTANT_MAX);
    expect(stepWindows(spec, INSTANT_MIN, 1)).toBe(windowContaining(spec, INSTANT_MIN).end);
    expect(stepWindows(spec, INSTANT_MAX, -1)).toBe(windowContaining(spec, INSTANT_MAX).start);
    expect(alignOutwards(spec, ALL_TIME)).toEqual(ALL_TIME);
    expect(windowsNearLabel(spec, INSTANT_MIN).start).toBe(INSTANT_MIN);
    expect(windowsNearLabel(spec, INSTANT_MAX).end).toBe(INSTANT_MAX);
  });

  test('one window may be all time', () => {
    expect(windowContaining(fixed(1_000_000n * 366n * DAY, INSTANT_MIN), EPOCH)).toEqual(ALL_TIME);
  });
});

describe('stepping', () => {
  test.each<[string, WindowSpec, string, number, string]>([
    ['none', calendar('month'), '2024-01-01', 0, '2024-01-01'],
    ['months ahead', calendar('month'), '2024-01-01', 14, '2025-03-01'],
    ['months back', calendar('month'), '2024-01-01', -14, '2022-11-01'],
    ['fixed windows ahead', fixed(15n * MINUTE), '1969-12-31T23:30', 3, '1970-01-01T00:15'],
    ['fixed windows back', fixed(15n * MINUTE), '1970-01-01T00:15', -3, '1969-12-31T23:30'],
    ['days over a shift', calendar('day', 'Europe/Berlin'), '2024-03-29T23:00', 3, '2024-04-01T22:00'],
    ['days over a skipped one', calendar('day', 'Pacific/Apia'), '2011-12-28T10:00', 3, '2011-12-31T10:00'],
    ['days over joined ones', calendar('day', 'America/St_Johns'), '2010-11-05T02:30', 3, '2010-11-09T03:30'],
    ['back over joined ones', calendar('day', 'America/St_Johns'), '2010-11-09T03:30', -3, '2010-11-05T02:30'],
    ['hours over half of one', calendar('hour', 'Australia/Lord_Howe'), '2024-04-06T14:00', 3, '2024-04-06T16:30'],
    ['from the middle of a window, ahead', calendar('day'), '2024-01-01T12:00', 2, '2024-01-03'],
    ['from the middle of a window, back', calendar('day'), '2024-01-02T12:00', -2, '2024-01-01'],
    ['from the middle in a zone, back', calendar('day', 'Asia/Tokyo'), '2024-01-02T12:00', -2, '2023-12-31T15:00'],
  ])('%s', (_, spec, from, n, to) => {
    expect(formatInstant(stepWindows(spec, at(from), n))).toBe(formatInstant(at(to)));
  });

  test('far ahead costs no more than near, where windows can be numbered', () => {
    expect(stepWindows(fixed(1n), EPOCH, Number.MAX_SAFE_INTEGER)).toBe(BigInt(Number.MAX_SAFE_INTEGER));
    expect(stepWindows(calendar('month'), EPOCH, 1e12)).toBe(INSTANT_MAX);
    expect(stepWindows(calendar('month'), EPOCH, -1e12)).toBe(INSTANT_MIN);
  });
});

describe('aligning', () => {
  test.each<[string, WindowSpec, TimeRange, TimeRange]>([
    [
      'covers whole windows',
      calendar('month'),
      range('2024-01-15', '2024-03-01T00:01'),
      range('2024-01-01', '2024-04-01'),
    ],
    ['keeps bounds', calendar('month'), range('2024-01-01', '2024-03-01'), range('2024-01-01', '2024-03-01')],
    ['of one instant', fixed(HOUR), { start: EPOCH, end: 1n as Instant }, range('1970-01-01', '1970-01-01T01:00')],
    [
      'reaches over joined windows',
      calendar('day', 'America/St_Johns'),
      range('2010-11-07T12:00', '2010-11-07T12:01'),
      range('2010-11-06T02:30', '2010-11-08T03:30'),
    ],
  ])('%s', (_, spec, given, aligned) => {
    expect(shown(alignOutwards(spec, given))).toBe(shown(aligned));
  });
});

test.each<[WindowSpec, string, boolean]>([
  [fixed(HOUR), '2024-01-01T10:00', true],
  [fixed(HOUR), '2024-01-01T10:01', false],
  [calendar('day', 'America/Havana'), '2024-03-10T05:00', true],
  [calendar('day', 'America/Havana'), '2024-11-03T04:00', true],
  [calendar('day', 'America/Havana'), '2024-11-03T05:00', false],
  [calendar('day', 'America/St_Johns'), '2010-11-07T02:30', false],
  [calendar('day', 'America/St_Johns'), '2010-11-07T03:30', false],
  [calendar('hour', 'Australia/Lord_Howe'), '2024-04-06T15:00', true],
  [calendar('hour', 'Australia/Lord_Howe'), '2024-04-06T14:30', false],
])('whether windows of %o meet at %s', (spec, t, meets) => {
  expect(isBoundary(spec, at(t))).toBe(meets);
});

test.each<[WindowSpec, bigint]>([
  [fixed(15n * MINUTE), 15n * MINUTE],
  [calendar('hour', 'Asia/Kolkata'), HOUR],
  [calendar('day', 'Europe/Berlin'), DAY],
  [calendar('week'), 7n * DAY],
  [calendar('month'), 2_629_746_000_000n],
  [calendar('quarter'), 3n * 2_629_746_000_000n],
  [calendar('year'), 12n * 2_629_746_000_000n],
  [calendar('decade'), 3652n * DAY + (425n * DAY) / 1000n],
  [calendar('century'), 36_524n * DAY + DAY / 4n],
  [calendar('millennium'), 365_242n * DAY + DAY / 2n],
])('the typical length of %o', (spec, length) => {
  expect(typicalLength(spec)).toBe(length);
});

describe('windows near a label', () => {
  test('hold times whose label lies before their window', () => {
    // 01:30 to 02:00 of the second time at +10:30 is labelled 14:30Z, half an hour before it begins.
    const near = windowsNearLabel(calendar('hour', 'Australia/Lord_Howe'), at('2024-04-06T14:30'));
    expect(shown(near)).toBe(shown(range('2024-04-06T13:00', '2024-04-06T15:30')));
  });

  test('reach one window to each side', () => {
    expect(shown(windowsNearLabel(calendar('month'), at('2024-02-01')))).toBe(shown(range('2024-01-01', '2024-04-01')));
  });
});
