import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, MINUTE, SECOND } from '../../lib/window/instant.ts';
import { formatInstant, parseInstant } from '../../lib/window/rfc3339.ts';
import { intersect, rangeLength, type TimeRange } from '../../lib/window/time-range.ts';
import type { CalendarUnit, WindowSpec } from '../../lib/window/window-spec.ts';
import { typicalLength, windowContaining, windowsNearLabel } from '../../lib/window/windows.ts';
import { zoneOffsets } from '../../lib/window/zone-offsets.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';

const UNITS: readonly CalendarUnit[] = [
  'hour',
  'day',
  'week',
  'month',
  'quarter',
  'year',
  'decade',
  'century',
  'millennium',
];

/** Zones that break a rule of thumb each; others are drawn at random. */
const ODD_ZONES = [
  'Africa/Casablanca',
  'Africa/Monrovia',
  'America/Havana',
  'America/Juneau',
  'America/Sao_Paulo',
  'America/St_Johns',
  'America/Toronto',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Manila',
  'Asia/Tehran',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Europe/Amsterdam',
  'Europe/Berlin',
  'Europe/Dublin',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Kwajalein',
];
const RANDOM_ZONES = 24;

/** Where time-zone tables have something to tell, and are compared. */
const TABLES: TimeRange = { start: parseInstant('1840-01-01T00:00:00Z'), end: parseInstant('2100-01-01T00:00:00Z') };

type WindowOf = (spec: WindowSpec, t: Instant) => TimeRange;

describe.each(testServers())('windows as $name cuts them', ({ url }) => {
  let database: TestDatabase;
  let client: pg.Client;
  let zones: readonly string[];
  let disagreements: ReadonlyMap<string, TimeRange>;

  beforeAll(async () => {
    database = await createTestDatabase(url);
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query("SET TimeZone = 'UTC'");
    zones = await zonesToTest(client);
    disagreements = await tableDisagreements(client, zones);
    for (const [zone, { start, end }] of disagreements) {
      process.stdout.write(
        `time-zone tables differ, not compared there: ${zone} ${formatInstant(start)} to ${formatInstant(end)}\n`,
      );
    }
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  /** One spec and some instants for it, of the whole range, of the years that tables cover, and around shifts. */
  function cases(spec: fc.Arbitrary<WindowSpec>): fc.Arbitrary<{ spec: WindowSpec; instants: Instant[] }> {
    return spec.chain((drawn) =>
      fc
        .array(instantFor(drawn), { minLength: 20, maxLength: 40 })
        .map((instants) => ({ spec: drawn, instants: instants.filter((t) => comparable(disagreements, drawn, t)) })),
    );
  }

  function agreement(spec: fc.Arbitrary<WindowSpec>, windowOf: WindowOf) {
    return fc.asyncProperty(cases(spec), async ({ spec: drawn, instants }) => {
      expect(await disagreementsWithServer(client, drawn, instants, windowOf)).toEqual([]);
    });
  }

  test('the time-zone tables of both sides agree nearly everywhere', () => {
    const differing = [...disagreements.values()].flatMap((range) => intersect(range, TABLES) ?? []);
    const share = Number(differing.reduce((sum, range) => sum + rangeLength(range), 0n) / DAY);
    const all = zones.length * Number(rangeLength(TABLES) / DAY);
    expect(zones.length).toBeGreaterThan(ODD_ZONES.length);
    expect(share / all).toBeLessThan(0.1);
  });

  test('fixed windows are those of date_bin', async () => {
    await fc.assert(agreement(fixedSpec, windowContaining), { numRuns: 100 });
  });

  test('calendar windows in UTC are those of date_trunc', async () => {
    await fc.assert(agreement(calendarSpec(fc.constant('UTC')), windowContaining), { numRuns: 100 });
  });

  test('calendar windows in zones are those of date_trunc, joined where labels alternate', async () => {
    await fc.assert(agreement(calendarSpec(fc.constantFrom(...zones)), windowContaining), { numRuns: 300 });
  });

  test('the windows near a label hold every time that has this label', async () => {
    const nearLabels = fc.asyncProperty(cases(calendarSpec(fc.constantFrom(...zones))), async ({ spec, instants }) => {
      const labels = await serverLabels(client, spec, instants);
      const outside = instants.filter((t, index) => {
        const near = windowsNearLabel(spec, labels[index] as Instant);
        return t < near.start || t >= near.end;
      });
      expect(outside).toEqual([]);
    });
    await fc.assert(nearLabels, { numRuns: 200 });
  });

  test.each<[string, CalendarUnit, WindowOf]>([
    ['a month of 30 days', 'month', fixedInstead(30n * DAY)],
    ['a week that begins on Thursday', 'week', fixedInstead(7n * DAY)],
    ['a day that always has 24 hours', 'day', fixedInstead(DAY)],
    ['centuries that begin in a year 00', 'century', (_, t) => wholeYears(100, t)],
    ['hours that are never cut by a shift', 'hour', fixedInstead(HOUR)],
    ['windows that are joined in pairs', 'month', pairs],
  ])('control: %s is caught', async (_, unit, wrong) => {
    const spec = calendarSpec(fc.constantFrom(...zones), fc.constant(unit));
    const outcome = await fc.check(agreement(spec, wrong), { numRuns: 100, endOnFailure: true });
    expect(outcome.failed).toBe(true);
    // Not by an error of the server's.
    expect(String(outcome.errorInstance)).toMatch(/AssertionError/);
  });
});

const fixedSpec: fc.Arbitrary<WindowSpec> = fc.record({
  kind: fc.constant('fixed' as const),
  size: fc.oneof(
    fc.constantFrom(1n, 7n, SECOND, MINUTE, 15n * MINUTE, HOUR, DAY, 7n * DAY, 1000n * DAY),
    fc.bigInt(1n, 400n * DAY),
  ),
  origin: between(parseInstant('-004000-01-01T00:00:00Z'), parseInstant('+100000-01-01T00:00:00Z')),
});

function calendarSpec(
  zone: fc.Arbitrary<string>,
  unit: fc.Arbitrary<CalendarUnit> = fc.constantFrom(...UNITS),
): fc.Arbitrary<WindowSpec> {
  return fc.record({ kind: fc.constant('calendar' as const), unit, zone });
}

function between(from: bigint, to: bigint): fc.Arbitrary<Instant> {
  return fc.bigInt(from, to).map((t) => t as Instant);
}

/** The server refuses labels that lie before its first timestamp, so the outermost windows cannot be compared. */
function instantFor(spec: WindowSpec): fc.Arbitrary<Instant> {
  const margin = 3n * typicalLength(spec) + 3n * DAY;
  const shifts = spec.kind === 'calendar' ? shiftsOf(spec.zone) : [];
  const anywhere = between(INSTANT_MIN + margin, INSTANT_MAX - margin);
  const recent = between(TABLES.start, TABLES.end);
  const year = between(parseInstant('-000300-01-01T00:00:00Z'), parseInstant('+002500-01-01T00:00:00Z'));
  if (shifts.length === 0) return fc.oneof(anywhere, recent, year);
  const atShift = fc
    .tuple(fc.constantFrom(...shifts), fc.oneof(fc.bigInt(-2n * HOUR, 2n * HOUR), fc.bigInt(-2n * DAY, 2n * DAY)))
    .map(([shift, by]) => (shift + by) as Instant);
  return fc.oneof(anywhere, recent, year, { arbitrary: atShift, weight: 3 });
}

const knownShifts = new Map<string, bigint[]>();

function shiftsOf(zone: string): bigint[] {
  const known = knownShifts.get(zone);
  if (known !== undefined) return known;
  const segments = zoneOffsets(zone)?.segments(TABLES.start, TABLES.end) ?? [];
  const shifts = segments.slice(1).map((segment) => segment.start);
  knownShifts.set(zone, shifts);
  return shifts;
}

/** What is wrong with the windows of these instants, by the labels that the server computes around their bounds. */
async function disagreementsWithServer(
  client: pg.Client,
  spec: WindowSpec,
  instants: readonly Instant[],
  windowOf: WindowOf,
): Promise<string[]> {
  const windows = instants.map((t) => windowOf(spec, t));
  const shifts = windows.map((window) => shiftsInside(spec, window));
  const points = windows.flatMap(({ start, end }, index) => [
    start - 1n,
    start,
    instants[index] as Instant,
    end - 1n,
    end,
    ...(shifts[index] as bigint[]).flatMap((shift) => [shift - 1n, shift]),
  ]);
  const labels = await serverLabels(client, spec, points);
  const wrong: string[] = [];
  for (const [index, { start, end }] of windows.entries()) {
    const t = instants[index] as Instant;
    const [before, first, own, last, after] = labels.splice(0, 5) as [bigint, bigint, bigint, bigint, bigint];
    const atShifts = labels.splice(0, 2 * (shifts[index]?.length ?? 0));
    const said = `${t} in [${start}, ${end}): labels ${[before, first, own, last, after].join(' ')}`;
    if (!(start <= t && t < end)) wrong.push(`does not hold its instant: ${said}`);
    if (!(before < first && before < own && before < last)) wrong.push(`its start is no clean cut: ${said}`);
    if (!(last < after && own < after && first < after)) wrong.push(`its end is no clean cut: ${said}`);
    const setBack = atShifts.some((label, at) => at % 2 === 1 && label < (atShifts[at - 1] as bigint));
    if (!(first === own && own === last) && !setBack) wrong.push(`more than one window: ${said}`);
  }
  return wrong;
}

/** Only in windows of a week at most: longer ones are so much longer than a clock is ever set back that ends tell all. */
function shiftsInside(spec: WindowSpec, { start, end }: TimeRange): bigint[] {
  const zone = spec.kind === 'calendar' ? zoneOffsets(spec.zone) : null;
  if (zone === null || end - start > 2000n * DAY) return [];
  return zone
    .segments(start, end)
    .slice(1)
    .map((segment) => segment.start);
}

/** Microseconds travel as whole numbers since 2000, the server's own epoch: counted since 1970 its last years pass 64 bits. */
const SERVER_EPOCH = parseInstant('2000-01-01T00:00:00Z');

async function serverLabels(client: pg.Client, spec: WindowSpec, points: readonly bigint[]): Promise<bigint[]> {
  const [expression, values] =
    spec.kind === 'fixed'
      ? [
          `date_bin(($2 || ' microseconds')::interval, t, timestamptz '2000-01-01 00:00+00' + ($3 || ' microseconds')::interval)`,
          [spec.size, spec.origin - SERVER_EPOCH],
        ]
      : ['date_trunc($2, t, $3)', [spec.unit, spec.zone]];
  const { rows } = await client.query<{ label: string }>(
    `SELECT trunc(extract(epoch FROM ${expression} - timestamptz '2000-01-01 00:00+00') * 1000000)::text AS label
     FROM unnest($1::text[]) WITH ORDINALITY AS given (us, place),
       LATERAL (SELECT timestamptz '2000-01-01 00:00+00' + (us || ' microseconds')::interval) AS at (t)
     ORDER BY place`,
    [points.map((point) => String(point - SERVER_EPOCH)), ...values.map(String)],
  );
  return rows.map((row) => BigInt(row.label) + SERVER_EPOCH);
}

async function zonesToTest(client: pg.Client): Promise<string[]> {
  // A name that is also an abbreviation (EST, MET) means the abbreviation to date_trunc, and the zone to SET TimeZone.
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM pg_timezone_names WHERE upper(name) NOT IN (SELECT upper(abbrev) FROM pg_timezone_abbrevs)',
  );
  const served = new Set(rows.map((row) => row.name));
  const shared = Intl.supportedValuesOf('timeZone').filter((zone) => served.has(zone) && !ODD_ZONES.includes(zone));
  return [...ODD_ZONES, ...fc.sample(fc.constantFrom(...shared), RANDOM_ZONES)];
}

/** Per zone the time from the first to the last difference between the offsets of both sides, asked for every ten days. */
async function tableDisagreements(client: pg.Client, zones: readonly string[]): Promise<Map<string, TimeRange>> {
  const found = new Map<string, TimeRange>();
  const step = 10n * DAY;
  for (const zone of zones) {
    const { rows } = await client.query<{ at: string; offset: number }>(
      `SELECT at, "offset" FROM (
         SELECT at, "offset", lag("offset") OVER (ORDER BY at) AS previous FROM (
           SELECT at, extract(epoch FROM (t AT TIME ZONE $1) - (t AT TIME ZONE 'UTC'))::integer AS "offset"
           FROM generate_series($2::bigint, $3::bigint, $4::bigint) AS at, LATERAL (SELECT to_timestamp(at)) AS s (t)
         ) AS every_step
       ) AS changes WHERE "offset" IS DISTINCT FROM previous ORDER BY at`,
      [zone, TABLES.start / SECOND, TABLES.end / SECOND, step / SECOND].map(String),
    );
    const mine = zoneOffsets(zone);
    let place = 0;
    let first: bigint | null = null;
    let last: bigint | null = null;
    for (let at: bigint = TABLES.start; at <= TABLES.end; at += step) {
      while (BigInt(rows[place + 1]?.at ?? at + step) * SECOND <= at && place + 1 < rows.length) place += 1;
      const theirs = BigInt(rows[place]?.offset ?? 0) * SECOND;
      if ((mine?.offsetAt(at) ?? 0n) === theirs) continue;
      first ??= at;
      last = at;
    }
    if (first === null || last === null) continue;
    found.set(zone, {
      start: (first - step) as Instant,
      // What differs at the end goes on doing so.
      end: last + step > TABLES.end ? INSTANT_MAX : ((last + step) as Instant),
    });
  }
  return found;
}

function comparable(disagreements: ReadonlyMap<string, TimeRange>, spec: WindowSpec, t: Instant): boolean {
  // date_bin refuses a time whose distance from the origin passes 64 bits.
  if (spec.kind === 'fixed') return distance(t, spec.origin) < 2n ** 63n - 2n * spec.size;
  const differs = disagreements.get(spec.zone);
  if (differs === undefined) return true;
  const reach = 2n * typicalLength(spec) + 2n * DAY;
  return t + reach < differs.start || t - reach > differs.end;
}

function distance(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b;
}

function fixedInstead(size: bigint): WindowOf {
  return (_, t) => windowContaining({ kind: 'fixed', size, origin: 0n as Instant }, t);
}

function wholeYears(years: number, t: Instant): TimeRange {
  const first = windowContaining({ kind: 'calendar', unit: 'year', zone: 'UTC' }, t).start;
  const length = (BigInt(years) * 146_097n * DAY) / 400n;
  return { start: first, end: (first + length) as Instant };
}

function pairs(spec: WindowSpec, t: Instant): TimeRange {
  const { start, end } = windowContaining(spec, t);
  return { start, end: windowContaining(spec, end).end };
}
