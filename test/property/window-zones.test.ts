import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CalendarGrid, calendarGrid } from '../../lib/window/calendar-grid.ts';
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../../lib/window/instant.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import { endInZone, startInZone } from '../../lib/window/zone-days.ts';
import { hourEndInZone, hourStartInZone } from '../../lib/window/zone-hours.ts';
import { type OffsetSegment, type ZoneOffsets, zoneOffsets } from '../../lib/window/zone-offsets.ts';

/**
 * Zones that never were, with shifts of any size at any time of day. The windows are compared with the definition itself: a
 * boundary is where all labels before are lower than all labels after, found by looking at every minute.
 */

/** Shifts happen in this stretch; before and after it all is calm. */
const STRETCH = 6n * DAY;
/** Looked at minute by minute. */
const SEEN = { start: -3n * DAY, end: STRETCH + 3n * DAY };

interface Shift {
  readonly at: bigint;
  readonly offset: Micros;
}

function zoneOf(before: Micros, shifts: readonly Shift[]): ZoneOffsets {
  const all: Shift[] = [{ at: -(10n ** 30n), offset: before }, ...shifts];
  const segments = all.map<OffsetSegment>(({ at, offset }, index) => ({
    start: at,
    end: all[index + 1]?.at ?? 10n ** 30n,
    offset,
  }));
  return {
    offsetAt: (t) => segments.findLast(({ start }) => start <= t)?.offset ?? before,
    segments: (from, to) =>
      segments
        .filter(({ start, end }) => start < to && from < end)
        .map(({ start, end, offset }) => ({
          start: start < from ? from : start,
          end: end > to ? to : end,
          offset,
        })),
  };
}

const anyOffset = fc.oneof(
  fc.integer({ min: -16 * 60, max: 16 * 60 }).map((minutes) => BigInt(minutes) * MINUTE),
  fc.constantFrom(-HOUR, 0n, 30n * MINUTE, HOUR, 90n * MINUTE, 11n * HOUR, -11n * HOUR),
);

const anyMadeUpZone: fc.Arbitrary<ZoneOffsets> = fc
  .tuple(
    anyOffset,
    fc.uniqueArray(
      fc.record({
        at: fc.integer({ min: 0, max: Number(STRETCH / MINUTE) }).map((minutes) => BigInt(minutes) * MINUTE),
        offset: anyOffset,
      }),
      { maxLength: 4, selector: ({ at }) => at },
    ),
  )
  .map(([before, shifts]) => {
    const ascending = shifts.toSorted((a, b) => Number(a.at - b.at));
    const changing = ascending.filter(({ offset }, index) => offset !== (ascending[index - 1]?.offset ?? before));
    return zoneOf(before, changing);
  });

type LabelOf = (t: bigint) => bigint;
type WindowOf = (t: bigint) => readonly [bigint, bigint];

/** Boundaries by the definition, among the minutes seen. */
function cleanCuts(labelOf: LabelOf): bigint[] {
  const minutes: bigint[] = [];
  for (let t = SEEN.start; t <= SEEN.end; t += MINUTE) minutes.push(t);
  const labels = minutes.map(labelOf);
  const lowestFrom = labels.slice();
  for (let index = labels.length - 2; index >= 0; index -= 1) {
    const next = lowestFrom[index + 1] as bigint;
    if (next < (lowestFrom[index] as bigint)) lowestFrom[index] = next;
  }
  const cuts: bigint[] = [];
  let highest = labels[0] as bigint;
  for (const [index, t] of minutes.entries()) {
    if (index > 0 && highest < (lowestFrom[index] as bigint)) cuts.push(t);
    const label = labels[index] as bigint;
    if (label > highest) highest = label;
  }
  return cuts;
}

function windowsAreClean(labelFor: (zone: ZoneOffsets) => LabelOf, windowFor: (zone: ZoneOffsets) => WindowOf) {
  return fc.property(anyMadeUpZone, fc.array(fc.bigInt(-DAY, STRETCH + DAY), { maxLength: 20 }), (zone, instants) => {
    const cuts = cleanCuts(labelFor(zone));
    const windowOf = windowFor(zone);
    for (const t of instants) {
      expect(windowOf(t)).toEqual([cuts.findLast((cut) => cut <= t), cuts.find((cut) => cut > t)]);
    }
  });
}

const days: CalendarGrid = calendarGrid('day');

function dayLabel(zone: ZoneOffsets): LabelOf {
  return (t) => days.startOf(days.indexOf(t + zone.offsetAt(t)));
}

function hourLabel(zone: ZoneOffsets): LabelOf {
  return (t) => {
    const offset = zone.offsetAt(t);
    const wallClock = t + offset;
    return calendarGrid('hour').startOf(calendarGrid('hour').indexOf(wallClock)) - offset;
  };
}

describe('in any zone that could be', () => {
  test('days are cut where every label before is lower than every label after', () => {
    const windowFor =
      (zone: ZoneOffsets): WindowOf =>
      (t) => [startInZone(days, zone, t), endInZone(days, zone, t)];
    fc.assert(windowsAreClean(dayLabel, windowFor), { numRuns: 300 });
  });

  test('hours are cut where every label before is lower than every label after', () => {
    const windowFor =
      (zone: ZoneOffsets): WindowOf =>
      (t) => [hourStartInZone(zone, t), hourEndInZone(zone, t)];
    fc.assert(windowsAreClean(hourLabel, windowFor), { numRuns: 300 });
  });

  test('control: windows by the offset of the instant alone are caught', () => {
    const dayOf =
      (zone: ZoneOffsets): WindowOf =>
      (t) => {
        const start = dayLabel(zone)(t) - zone.offsetAt(t);
        return [start, start + DAY];
      };
    const hourOf =
      (zone: ZoneOffsets): WindowOf =>
      (t) => [hourLabel(zone)(t), hourLabel(zone)(t) + HOUR];
    expect(fc.check(windowsAreClean(dayLabel, dayOf), { numRuns: 300 }).failed).toBe(true);
    expect(fc.check(windowsAreClean(hourLabel, hourOf), { numRuns: 300 }).failed).toBe(true);
  });
});

describe('the offsets of a zone', () => {
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zoneOffsets(zone) !== null);

  /** Minus the instant, the reading of the clock that Intl spells out field by field. */
  function spelledOffset(zone: string, t: bigint): bigint {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    const fields = new Map(format.formatToParts(Number(t / 1000n)).map(({ type, value }) => [type, value]));
    const [month, day, hour, minute, second] = ['month', 'day', 'hour', 'minute', 'second'].map((type) =>
      Number(fields.get(type as Intl.DateTimeFormatPartTypes)),
    );
    const year = fields.get('era') === 'BC' ? 1 - Number(fields.get('year')) : Number(fields.get('year'));
    const reading = new Date(Date.UTC(2000, month! - 1, day, hour, minute, second));
    reading.setUTCFullYear(year, month! - 1, day);
    return BigInt(reading.getTime()) * 1000n - t;
  }

  const seconds = fc
    .oneof(
      fc.bigInt(parseInstant('1840-01-01T00:00:00Z'), parseInstant('2100-01-01T00:00:00Z')),
      fc.bigInt(parseInstant('-004000-01-01T00:00:00Z'), parseInstant('+200000-01-01T00:00:00Z')),
    )
    .map((t) => (t / SECOND) * SECOND);

  test('are those of the clock that Intl shows', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), seconds, (zone, t) => {
        expect(zoneOffsets(zone)?.offsetAt(t)).toBe(spelledOffset(zone, t));
      }),
      { numRuns: 1000 },
    );
  });

  test('come in segments without a gap that each have one offset', () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), seconds, fc.bigInt(1n, 400n * DAY), (zone, from, length) => {
        const offsets = zoneOffsets(zone)!;
        const segments = offsets.segments(from, from + length);
        expect(segments[0]?.start).toBe(from);
        expect(segments.at(-1)?.end).toBe(from + length);
        for (const [index, { start, end, offset }] of segments.entries()) {
          expect(offsets.offsetAt(start)).toBe(offset);
          expect(offsets.offsetAt(end - 1n)).toBe(offset);
          const next = segments[index + 1];
          if (next !== undefined) expect([next.start, next.offset === offset]).toEqual([end, false]);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('repeat every 400 years past the last date of Intl', () => {
    const cycle = 146_097n * DAY;
    const past = parseInstant('+280000-01-01T00:00:00Z');
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.bigInt(0n, 400n * 365n * DAY), (zone, by) => {
        const offsets = zoneOffsets(zone)!;
        expect(offsets.offsetAt(past + by)).toBe(offsets.offsetAt(past + by - 100n * cycle));
      }),
      { numRuns: 300 },
    );
  });
});
