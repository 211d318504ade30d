import { SluiceError } from '../errors.ts';
import { DAY, HOUR, MINUTE, type Micros, SECOND } from '../window/instant.ts';

const UNITS: readonly { readonly names: readonly string[]; readonly size: Micros }[] = [
  { names: ['us', 'usec', 'usecs', 'microsecond', 'microseconds'], size: 1n },
  { names: ['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'], size: 1000n },
  { names: ['s', 'sec', 'secs', 'second', 'seconds'], size: SECOND },
  { names: ['m', 'min', 'mins', 'minute', 'minutes'], size: MINUTE },
  { names: ['h', 'hr', 'hrs', 'hour', 'hours'], size: HOUR },
  { names: ['d', 'day', 'days'], size: DAY },
  { names: ['w', 'week', 'weeks'], size: 7n * DAY },
];

const SIZES: ReadonlyMap<string, Micros> = new Map(
  UNITS.flatMap(({ names, size }) => names.map((name) => [name, size])),
);

const CALENDAR_UNITS =
  /^(mons?|months?|y|yrs?|years?|qtr|quarters?|dec|decs|decades?|c|cent|century|centuries|mil|mils|millennium|millennia)$/;

/** As long as the time that PostgreSQL's timestamps span. */
const LONGEST: Micros = 109_000_000n * DAY;

/**
 * Reads a fixed length of time as PostgreSQL writes intervals: `5 minutes`, `2 days 1h 2 min`, `01:30:00`, `1 day 12:00`.
 * A day is 24 hours. Months and longer have no fixed length and are refused, as are signs, zero, and parts of a microsecond.
 * Throws `invalid_request`; callers that know a position translate it.
 */
export function parseInterval(text: string): Micros {
  const trimmed = text.trim().toLowerCase();
  if (trimmed.length > 200) throw refuse(text, 'it is too long to be a length of time');
  if (trimmed.startsWith('-')) throw refuse(text, 'a length of time must be greater than zero');
  const part =
    /\s*(?:(?<clock>\d+:\d\d(?::\d\d(?:\.\d+)?)?)|(?<whole>\d*)(?:\.(?<fraction>\d*))?\s*(?<unit>[a-zµ]+))(?=$|[\s\d.])/y;
  let total: Micros = 0n;
  const seen = new Set<Micros>();
  for (let at = 0; at < trimmed.length; at = part.lastIndex) {
    const groups = part.exec(trimmed)?.groups;
    if (groups === undefined) throw refuse(text, 'expected numbers with their units');
    const size = groups.clock === undefined ? unitSize(text, groups.unit ?? '') : HOUR;
    if (seen.has(size)) throw refuse(text, 'it names a unit twice');
    seen.add(size);
    total +=
      groups.clock === undefined
        ? times(text, size, groups.whole ?? '', groups.fraction ?? '')
        : clockTime(text, groups.clock);
  }
  if (total === 0n) throw refuse(text, 'a length of time must be greater than zero');
  if (total > LONGEST) throw refuse(text, 'it is longer than the time that timestamps can span');
  return total;
}

/** As {@link parseInterval} reads it, with the largest units that keep it whole. */
export function formatInterval(length: Micros): string {
  const parts: string[] = [];
  let rest = length;
  for (const { names, size } of UNITS.slice(0, 6).toReversed()) {
    const count = rest / size;
    rest %= size;
    if (count > 0n) parts.push(`${count} ${names.at(count === 1n ? -2 : -1)}`);
  }
  return parts.join(' ');
}

function unitSize(text: string, unit: string): Micros {
  const size = SIZES.get(unit);
  if (size !== undefined) return size;
  if (CALENDAR_UNITS.test(unit)) {
    throw refuse(text, `${unit} has no fixed length; give it in days, such as '30 days' or '365 days'`);
  }
  throw refuse(text, `${unit} is not a unit; use microseconds, milliseconds, seconds, minutes, hours, days or weeks`);
}

function times(text: string, size: Micros, whole: string, fraction: string): Micros {
  if (whole === '' && fraction === '') throw refuse(text, 'a unit needs a number before it');
  const scale = 10n ** BigInt(fraction.length);
  const scaled = size * BigInt(whole + fraction);
  if (scaled % scale !== 0n) throw refuse(text, 'it is not a whole number of microseconds');
  return scaled / scale;
}

function clockTime(text: string, clock: string): Micros {
  const [hours = '0', minutes = '0', seconds = '0'] = clock.split(':');
  const [whole = '0', fraction = ''] = seconds.split('.');
  if (Number(minutes) > 59 || Number(whole) > 59) throw refuse(text, 'minutes and seconds go up to 59');
  return BigInt(hours) * HOUR + BigInt(minutes) * MINUTE + times(text, SECOND, whole, fraction);
}

function refuse(text: string, problem: string): SluiceError {
  const shown = text.length > 48 ? `${text.slice(0, 48)}…` : text;
  return new SluiceError(
    'invalid_request',
    `${JSON.stringify(shown)} is not a length of time: ${problem}. Example: '2 days 12 hours'.`,
  );
}
