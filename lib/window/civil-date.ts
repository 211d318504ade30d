/** A day of the proleptic Gregorian calendar with astronomical years: 0 is 1 BC, -1 is 2 BC. */
export interface CivilDate {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly day: number;
}

/** Days of 400 years, after which dates and weekdays repeat. */
export const DAYS_PER_CYCLE = 146_097;

/** Days from 0000-03-01 to 1970-01-01. A year counted from March has its leap day last, so that no month needs a case. */
const EPOCH_FROM_MARCH_0 = 719_468;

/** Days since 1970-01-01. A month or day past its own end runs on into the next one. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const cycle = Math.floor(marchYear / 400);
  const yearOfCycle = marchYear - cycle * 400;
  const dayOfYear = daysBeforeMarchMonth((month + 9) % 12) + day - 1;
  const dayOfCycle = yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100) + dayOfYear;
  return cycle * DAYS_PER_CYCLE + dayOfCycle - EPOCH_FROM_MARCH_0;
}

export function civilFromDays(days: number): CivilDate {
  const fromMarch0 = days + EPOCH_FROM_MARCH_0;
  const cycle = Math.floor(fromMarch0 / DAYS_PER_CYCLE);
  const dayOfCycle = fromMarch0 - cycle * DAYS_PER_CYCLE;
  // Leap days passed so far are taken out, so that each year has 365 days left.
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1460) + Math.floor(dayOfCycle / 36_524) - Math.floor(dayOfCycle / 146_096)) /
      365,
  );
  const dayOfYear = dayOfCycle - (yearOfCycle * 365 + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return {
    year: cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - daysBeforeMarchMonth(marchMonth) + 1,
  };
}

export function daysInMonth(year: number, month: number): number {
  const next = month === 12 ? daysFromCivil(year + 1, 1, 1) : daysFromCivil(year, month + 1, 1);
  return next - daysFromCivil(year, month, 1);
}

/** Days from 1 March to the first of a month, where 0 is March. Five months from March on always have 153 days. */
function daysBeforeMarchMonth(marchMonth: number): number {
  return Math.floor((153 * marchMonth + 2) / 5);
}
