import { civilFromDays, DAYS_PER_CYCLE, daysFromCivil } from './civil-date.ts';
import { floorDiv } from './floor-division.ts';
import { DAY, HOUR, type Micros } from './instant.ts';
import type { CalendarUnit } from './window-spec.ts';

/**
 * The units of a calendar, numbered one after the other, on wall-clock readings: microseconds since 1970-01-01 00:00 read
 * as if it were UTC. Neither function saturates or knows a zone.
 */
export interface CalendarGrid {
  readonly indexOf: (wallClock: bigint) => number;
  readonly startOf: (index: number) => bigint;
}

/** 1970-01-01 was a Thursday: Mondays are the days -3, 4, 11 … */
const MONDAY = -3;

/**
 * As PostgreSQL's `timestamp_trunc` cuts: weeks begin on Monday; a decade with the year that ends in 0, a century and a
 * millennium with the year that ends in 1 (2001-01-01), and so on through the years before Christ, of which 1 BC is 0.
 */
const GRIDS: Readonly<Record<CalendarUnit, CalendarGrid>> = {
  hour: {
    indexOf: (wallClock) => Number(floorDiv(wallClock, HOUR)),
    startOf: (index) => BigInt(index) * HOUR,
  },
  day: { indexOf: dayOf, startOf: startOfDay },
  week: {
    indexOf: (wallClock) => Math.floor((dayOf(wallClock) - MONDAY) / 7),
    startOf: (index) => startOfDay(index * 7 + MONDAY),
  },
  month: monthGrid(1),
  quarter: monthGrid(3),
  year: yearGrid(1, 0),
  decade: yearGrid(10, 0),
  century: yearGrid(100, 1),
  millennium: yearGrid(1000, 1),
};

/** Mean lengths over the 400 years after which the calendar repeats: a month is 30.436875 days. */
const MEAN_YEAR: Micros = (BigInt(DAYS_PER_CYCLE) * DAY) / 400n;
const MEAN_LENGTHS: Readonly<Record<CalendarUnit, Micros>> = {
  hour: HOUR,
  day: DAY,
  week: 7n * DAY,
  month: MEAN_YEAR / 12n,
  quarter: MEAN_YEAR / 4n,
  year: MEAN_YEAR,
  decade: 10n * MEAN_YEAR,
  century: 100n * MEAN_YEAR,
  millennium: 1000n * MEAN_YEAR,
};

export function calendarGrid(unit: CalendarUnit): CalendarGrid {
  return GRIDS[unit];
}

export function meanLength(unit: CalendarUnit): Micros {
  return MEAN_LENGTHS[unit];
}

function dayOf(wallClock: bigint): number {
  return Number(floorDiv(wallClock, DAY));
}

function startOfDay(day: number): bigint {
  return BigInt(day) * DAY;
}

function monthGrid(months: number): CalendarGrid {
  return {
    indexOf: (wallClock) => {
      const { year, month } = civilFromDays(dayOf(wallClock));
      return Math.floor((year * 12 + month - 1) / months);
    },
    startOf: (index) => {
      const month = index * months;
      const year = Math.floor(month / 12);
      return startOfDay(daysFromCivil(year, month - year * 12 + 1, 1));
    },
  };
}

function yearGrid(years: number, firstYear: number): CalendarGrid {
  return {
    indexOf: (wallClock) => Math.floor((civilFromDays(dayOf(wallClock)).year - firstYear) / years),
    startOf: (index) => startOfDay(daysFromCivil(index * years + firstYear, 1, 1)),
  };
}
