import { expect, test } from 'vitest';
import { civilFromDays, daysFromCivil, daysInMonth } from '../../../lib/window/civil-date.ts';

test.each([
  [0, { year: 1970, month: 1, day: 1 }],
  [-1, { year: 1969, month: 12, day: 31 }],
  [11_016, { year: 2000, month: 2, day: 29 }],
  [11_017, { year: 2000, month: 3, day: 1 }],
  [-25_509, { year: 1900, month: 2, day: 28 }],
  [-25_508, { year: 1900, month: 3, day: 1 }],
  [-719_162, { year: 1, month: 1, day: 1 }],
  [-719_163, { year: 0, month: 12, day: 31 }],
  [-719_528, { year: 0, month: 1, day: 1 }],
  [-719_529, { year: -1, month: 12, day: 31 }],
  // Julian day zero, PostgreSQL's first.
  [-2_440_588, { year: -4713, month: 11, day: 24 }],
])('day %i is %o', (days, date) => {
  expect(civilFromDays(days)).toEqual(date);
  expect(daysFromCivil(date.year, date.month, date.day)).toBe(days);
});

test('each day of two cycles of 400 years follows the one before, and is the one that Date says', () => {
  for (let days = -800_000; days < -800_000 + 2 * 146_097; days += 1) {
    const { year, month, day } = civilFromDays(days);
    const date = new Date(days * 86_400_000);
    if (year !== date.getUTCFullYear() || month !== date.getUTCMonth() + 1 || day !== date.getUTCDate()) {
      expect.fail(`day ${days}: ${year}-${month}-${day}, Date says ${date.toISOString()}`);
    }
    if (daysFromCivil(year, month, day) !== days) expect.fail(`day ${days} is lost on the way back`);
  }
  expect(civilFromDays(-800_000)).toEqual({ year: -221, month: 9, day: 4 });
});

test.each([
  [2023, 2, 28],
  [2024, 2, 29],
  [1900, 2, 28],
  [2000, 2, 29],
  [0, 2, 29],
  [-4, 2, 29],
  [-100, 2, 28],
  [2024, 12, 31],
  [2024, 4, 30],
])('month %i-%i has %i days', (year, month, days) => {
  expect(daysInMonth(year, month)).toBe(days);
});
