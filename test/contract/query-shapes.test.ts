import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledQuery } from '../../lib/flow/definition.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import type { CompiledFlow } from '../../lib/sql/compile-flow.ts';
import { normalize } from '../../lib/window/dirty-set.ts';
import { type Instant, instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import { windowContaining } from '../../lib/window/windows.ts';
import {
  type FrontendDatabase,
  openFrontendDatabase,
  planOf,
  refusal,
  sortedRows,
} from '../support/frontend-database.ts';

let database: FrontendDatabase;
let sql: pg.Client;
let frontend: Frontend;

beforeAll(async () => {
  database = await openFrontendDatabase();
  ({ session: sql, frontend } = database);
  // Readings around both changes of the clock in Berlin, before 1970, far away, without a time, and at no finite time.
  await sql.query(`
    CREATE TABLE readings (at timestamptz, device text, value numeric, local timestamp, day date);
    CREATE TABLE archive (LIKE readings);
    CREATE TABLE devices (device text, site text);
    CREATE VIEW recent AS SELECT at, device, value FROM readings WHERE value > 10;
    CREATE TABLE parts (at timestamptz NOT NULL, device text) PARTITION BY RANGE (at);
    CREATE TABLE parts_a PARTITION OF parts FOR VALUES FROM ('2021-01-01') TO ('2021-07-01');
    CREATE TABLE parts_b PARTITION OF parts DEFAULT; CREATE INDEX ON parts (at);
    CREATE TABLE "Odd ""Näme"" $$ --" ("Zeit ü" timestamptz, "select" text);
    INSERT INTO devices VALUES ('d0', 'north'), ('d1', 'south'), ('d2', NULL), (NULL, 'nowhere');
    INSERT INTO readings SELECT t, CASE WHEN n % 7 = 0 THEN NULL ELSE 'd' || n % 5 END, n % 23, t AT TIME ZONE 'UTC', (t AT TIME ZONE 'UTC')::date
      FROM (SELECT n, start + n * interval '47 minutes' AS t FROM generate_series(0, 70) AS n,
        unnest(ARRAY['2021-03-27 12:00Z', '2021-10-30 12:00Z', '1969-12-31 01:00Z', '5000-02-27 23:00Z']::timestamptz[]) AS start) AS times;
    INSERT INTO readings VALUES (NULL, 'd1', 1, NULL, NULL), ('infinity', 'd1', 1, 'infinity', 'infinity'), ('-infinity', 'd1', 1, '-infinity', '-infinity');
    INSERT INTO archive SELECT at - interval '3 hours', device, value, local, day FROM readings WHERE device = 'd2';
    INSERT INTO parts SELECT at, device FROM readings WHERE at BETWEEN '2021-01-01' AND '2022-01-01';
    INSERT INTO "Odd ""Näme"" $$ --" SELECT at, device FROM readings;`);
});

afterAll(() => database.close());

function compile(query: string, more: Record<string, unknown> = {}): Promise<CompiledFlow> {
  return database.compile('shape', { sink: 'shape_sink', query, ...more });
}

/** Every window that holds a time of any table, in two hands dealt by turns: neighbours are in different hands. */
async function dealtWindows(compiled: CompiledQuery, timeZone: string): Promise<[TimeRange[], TimeRange[]]> {
  const window = compiled.window;
  if (window === null) throw new Error('there is no window');
  await sql.query(`SET TimeZone = '${timeZone}'`);
  const { rows } = await sql.query<{ t: string }>(`SELECT DISTINCT trunc(extract(epoch FROM at) * 1000000)::text AS t
    FROM (SELECT at FROM readings UNION SELECT at FROM archive UNION SELECT day::timestamptz FROM readings) AS all_times WHERE isfinite(at)`);
  const times = rows.map(({ t }): Instant => instant(BigInt(t)));
  const starts = new Map(times.map((t) => windowContaining(window.spec, t)).map((range) => [range.start, range]));
  const windows = [...starts.values()].toSorted((a, b) => (a.start < b.start ? -1 : 1));
  const hand = (turn: number) => normalize(windows.filter((_, index) => index % 2 === turn));
  return [hand(0), hand(1)];
}

let epoch = 0n;

/** The rows of a sink after two plans that share all windows between them, against the rows of the whole query; both as text. */
async function compare(
  { draft }: CompiledFlow,
  query: string,
): Promise<{ plans: string[]; whole: string[]; first: number }> {
  const { compiled, options, sink } = draft;
  const label = `"${compiled.window?.column.replaceAll('"', '""')}"`;
  const rowsOf = async (text: string): Promise<string[]> => {
    await sql.query(`SET TimeZone = '${options.timeZone}'; SET search_path = pg_catalog, public, pg_temp`);
    return sortedRows(sql, `SELECT * FROM (${text}\n) AS answer WHERE isfinite(${label})`);
  };
  await frontend.createSink(draft);
  try {
    let first: bigint | null = null;
    for (const ranges of await dealtWindows(compiled, options.timeZone)) {
      const { inserted, deleted } = await frontend.run(planOf(draft, epoch + 1n, { ranges }));
      epoch++;
      expect(deleted).toBe(0n);
      first ??= inserted;
    }
    const columns = compiled.columns.map((name) => `"${name.replaceAll('"', '""')}"`);
    const plans = await rowsOf(`SELECT ${columns.join(', ')} FROM "${sink.table}"`);
    // The server's own date_bin has no default for its origin.
    const text = query.replace(/(date_bin\('[^']*', \w+)\)/, "$1, 'epoch')");
    return { plans, whole: await rowsOf(text), first: Number(first) };
  } finally {
    await frontend.dropSink(sink);
  }
}

const ACCEPTED: readonly (readonly [query: string, options?: Record<string, unknown>])[] = [
  [
    "SELECT date_bin('15 minutes', at, '2000-01-01 00:00:07+00') AS w, device, count(*) AS n FROM readings GROUP BY w, device",
  ],
  ["SELECT date_bin('15 minutes', at, TIMESTAMPTZ '2000-01-01') AS w, count(*) AS n FROM readings GROUP BY 1"],
  ["SELECT date_trunc('hour', at) AS w, sum(value) AS s FROM readings GROUP BY date_trunc('hour', at)"],
  ["SELECT device, date_trunc('hour', r.at) AS w, max(value) AS m FROM public.readings r GROUP BY 2, 1"],
  ["SELECT date_trunc('day', at, 'Europe/Berlin') AS d, count(*) AS n FROM readings GROUP BY 1"],
  ["SELECT date_trunc('day', at) AS d, count(*) AS n FROM readings GROUP BY 1", { time_zone: 'America/New_York' }],
  ["SELECT date_trunc('week', at) AS d, count(*) AS n FROM readings GROUP BY 1", { time_zone: 'Australia/Lord_Howe' }],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1", { time_zone: 'Asia/Kolkata' }],
  ["SELECT date_trunc('month', at) AS d, count(DISTINCT device) AS n FROM readings GROUP BY 1"],
  ["SELECT date_trunc('quarter', local) AS q, count(*) FILTER (WHERE value > 3) AS n FROM readings GROUP BY 1"],
  ["SELECT date_trunc('year', day) AS y, count(*) AS n FROM readings GROUP BY 1", { time_zone: 'Europe/Berlin' }],
  ["SELECT date_trunc('day', at)::date AS d, count(*) AS n FROM readings GROUP BY 1"],
  [
    "SELECT date_bin('1 day', local, TIMESTAMP '2001-01-01 06:00') AS d, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS p FROM readings GROUP BY 1",
  ],
  [
    "SELECT w, count(*) AS n FROM (SELECT date_trunc('hour', at) AS w, value FROM readings WHERE value > 2) AS s GROUP BY w",
  ],
  [
    "WITH r AS (SELECT at AS t, device FROM readings) SELECT date_trunc('hour', t) AS w, device, count(*) AS n FROM r GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', at) AS d, count(*) AS n FROM (SELECT at FROM readings UNION ALL SELECT at FROM archive) AS u GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, v.site, count(*) AS n FROM readings r JOIN devices v ON v.device = r.device GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, v.site, count(*) AS n FROM readings r LEFT JOIN devices v USING (device) GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, v.site, count(*) AS n FROM devices v RIGHT JOIN readings r USING (device) GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, count(*) AS n FROM readings r, devices v WHERE v.device = r.device GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, sum(x.v) AS s FROM readings r CROSS JOIN LATERAL (SELECT r.value * 2 AS v) AS x GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', at) AS d, count(*) AS n FROM readings WHERE device IN (SELECT device FROM devices WHERE site = 'north') GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, count(*) AS n FROM readings r WHERE EXISTS (SELECT 1 FROM readings o WHERE o.device = r.device AND o.at > r.at + interval '1 day') GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', a.at) AS d, count(*) AS n FROM readings a JOIN readings b ON b.device = a.device AND b.at = a.at + interval '47 minutes' * 5 GROUP BY 1",
  ],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM recent GROUP BY 1"],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM parts GROUP BY 1"],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM ONLY readings GROUP BY 1 HAVING count(*) > 1"],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings AS r (at, gadget, v) WHERE gadget <> 'd1' GROUP BY 1",
  ],
  [
    "SELECT date_trunc('hour', at) AS h, CASE WHEN value > 5 THEN 'high' ELSE 'low' END AS level, round(avg(value), 3) AS mean FROM readings GROUP BY 1, 2",
  ],
  [
    'SELECT date_trunc(\'hour\', "Zeit ü") AS "Stünde ""1""", "select" AS "group", count(*) AS "$$" FROM "Odd ""Näme"" $$ --" /* ein ; Kommentar */ GROUP BY 1, 2 -- Ende',
  ],
  [
    "SELECT date_trunc($q$hour$q$, public.readings.at) AS h, count(*) AS n FROM public.readings WHERE public.readings.device <> $$d'1$$ GROUP BY 1",
  ],
  [
    "SELECT h, sum(n) AS total FROM (SELECT date_trunc('hour', at) AS h, device, count(*) AS n FROM readings GROUP BY 1, 2) AS i GROUP BY h",
  ],
  ["SELECT DISTINCT date_bin('15 minutes', at) AS w, device FROM readings"],
  ["SELECT DISTINCT device, date_trunc('day', at) AS d, value > 10 AS high FROM readings WHERE value <> 3 ORDER BY d"],
  ["SELECT ALL w, device FROM (SELECT DISTINCT date_trunc('day', at)::date AS w, device FROM readings) AS pairs"],
  ["SELECT DISTINCT date_trunc('day', at) AS d, count(*) AS n FROM readings GROUP BY 1, device"],
  [
    "SELECT DISTINCT date_trunc('day', r.at, 'Europe/Berlin') AS d, site FROM readings r LEFT JOIN devices v USING (device)",
  ],
  [
    "SELECT DISTINCT h, n, site FROM (SELECT date_trunc('hour', at) AS h, device, count(*) AS n FROM readings GROUP BY 1, 2) AS i LEFT JOIN devices USING (device)",
  ],
  [
    "SELECT d, count(*) AS n FROM (SELECT DISTINCT date_trunc('day', at) AS d, device FROM readings) AS pairs GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', at) AS d, 'live' AS kind, device, count(*) AS n FROM readings GROUP BY 1, device UNION ALL SELECT date_trunc('day', a.at), 'old', a.device, count(*) FROM archive a GROUP BY 1, 3 ORDER BY d",
  ],
  [
    "WITH r AS (SELECT * FROM readings) (SELECT 1 AS kind, date_trunc('hour', at) AS h, max(value) AS v FROM r GROUP BY h UNION ALL SELECT 2, date_trunc('hour', at), min(value) FROM r GROUP BY 2) UNION ALL SELECT DISTINCT 3, date_trunc('hour', at), value FROM archive",
  ],
  // An instant cut in UTC, and a reading of UTC's clock made an instant: one label by two expressions.
  [
    "SELECT date_trunc('hour', at) AS h, NULL AS kind, count(*) AS n FROM readings GROUP BY 1 UNION ALL SELECT date_bin('1 hour', local, '2000-01-01') AT TIME ZONE 'UTC', 'wall'::varchar, count(*) FROM archive GROUP BY 1",
  ],
  [
    "SELECT d, true AS live, n FROM (SELECT date_trunc('day', at, 'Europe/Berlin') AS d, count(*) AS n FROM readings GROUP BY 1) AS x UNION ALL SELECT * FROM (SELECT date_trunc('day', at, 'europe/berlin') AS d, false AS live, count(*) AS n FROM archive GROUP BY 1) AS y",
  ],
  // A key of one branch is a plain value in the other.
  [
    "SELECT date_trunc('day', at) AS d, device, 0 AS kind FROM readings GROUP BY 1, 2 UNION ALL SELECT date_trunc('day', at), max(device), 1 FROM archive GROUP BY 1",
  ],
  // Branches that filter by columns of their own, one of them a date.
  [
    "SELECT date_trunc('month', at) AS m, 'a' AS kind, count(*) AS n FROM readings GROUP BY 1 UNION ALL SELECT date_trunc('month', day), 'b', count(*) FROM archive GROUP BY 1",
    { time_zone: 'Europe/Berlin' },
  ],
  // The window in all its places.
  [
    "SELECT date_trunc('hour', at) AT TIME ZONE 'UTC' AS w, count(*) AS n FROM readings GROUP BY date_trunc('hour', at)",
  ],
  [
    "SELECT (date_trunc('day', at, 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin')::date AS d, count(*) AS n FROM readings GROUP BY d",
  ],
  [
    "SELECT w::timestamp AS label, device, n FROM (SELECT date_trunc('hour', at) AS w, device, count(*) AS n FROM readings GROUP BY 1, 2) AS x",
  ],
  [
    "WITH binned AS (SELECT *, date_bin('2 hours', at) AS w FROM readings), kept AS (SELECT * FROM binned WHERE value > 1) SELECT w, device, avg(value) AS mean FROM kept GROUP BY w, device HAVING avg(value) > 4",
  ],
  ["SELECT l.w, count(*) AS n FROM readings r, LATERAL (SELECT date_trunc('hour', r.at) AS w) AS l GROUP BY 1"],
  [
    "SELECT l.w, r.device, sum(l.v) AS s FROM readings r JOIN LATERAL (SELECT y.w, r.value + 1 AS v FROM (SELECT date_trunc('day', at) AS w) AS y) AS l ON true GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', l.t) AS d, count(m.site) AS n FROM readings AS r CROSS JOIN LATERAL (SELECT r.at AS t) AS l LEFT JOIN LATERAL (SELECT site FROM devices v WHERE v.device = r.device AND l.t > '2000-01-01' LIMIT 1) AS m ON true GROUP BY 1",
  ],
  // Aggregates of all kinds, and expressions over them.
  [
    "SELECT date_trunc('day', at) AS d, device, sum(value) / NULLIF(count(*), 0) AS ratio, (count(*) FILTER (WHERE value > 5))::numeric / count(*) AS share, CASE WHEN max(value) > 15 THEN 'high' WHEN min(value) < 3 THEN 'low' ELSE 'even' END AS level, CASE device WHEN 'd1' THEN 1 ELSE 2 END AS rank FROM readings GROUP BY 1, device",
  ],
  [
    "SELECT date_trunc('day', at) AS d, count(DISTINCT device) AS devices, count(DISTINCT value % 5) FILTER (WHERE device IS NOT NULL) AS rest, string_agg(DISTINCT device, ',' ORDER BY device) AS names, (array_agg(value ORDER BY at DESC))[1] AS last, bool_or(value > 20) AS any_high FROM readings GROUP BY 1",
  ],
  [
    "SELECT date_trunc('day', at) AS d, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY value) AS p, percentile_disc(0.5) WITHIN GROUP (ORDER BY device) AS middle, mode() WITHIN GROUP (ORDER BY value) AS usual, rank(7) WITHIN GROUP (ORDER BY value) AS place, corr(value, extract(hour FROM at))::numeric(10, 6) AS c FROM readings GROUP BY 1 HAVING count(*) FILTER (WHERE value > 1) > 2 AND max(device) IS NOT NULL",
  ],
  [
    "SELECT date_trunc('day', at) AS d, EXTRACT(hour FROM at) AS hour, device IS NULL AS unknown, jsonb_object_agg(value, device ORDER BY at)::text AS all_values FROM readings GROUP BY d, 2, device IS NULL",
  ],
  // Joins and subqueries.
  [
    "SELECT date_trunc('day', r.at) AS d, v.site, count(a.device) AS n FROM readings r INNER JOIN devices v ON v.device IS NOT DISTINCT FROM r.device LEFT JOIN archive a ON a.device = r.device AND a.value = r.value GROUP BY 1, 2",
  ],
  [
    "SELECT date_trunc('day', at) AS d, count(*) AS n FROM readings r WHERE device NOT IN (SELECT device FROM devices WHERE device IS NOT NULL) AND value > (SELECT avg(value) FROM archive) AND NOT EXISTS (SELECT FROM archive a WHERE a.at = r.at) GROUP BY 1",
  ],
  [
    "SELECT d, x.device, site, n FROM (SELECT date_trunc('day', at) AS d, device, count(*) AS n FROM readings GROUP BY 1, 2) AS x JOIN (SELECT DISTINCT ON (device) device, site FROM devices ORDER BY device, site) AS v ON v.device = x.device WHERE site IS NOT NULL",
  ],
  [
    "SELECT date_trunc('day', at) AS d, u.kind, count(*) AS n FROM (SELECT at, 'live' AS kind FROM readings UNION ALL (SELECT a.at, 'old' FROM archive a JOIN devices USING (device) UNION ALL SELECT at, NULL FROM parts)) AS u GROUP BY 1, 2",
  ],
  // Real NULLs among the devices and sites, and those of keys that are rolled up.
  [
    "SELECT date_trunc('day', at) AS d, device, count(*) AS n, GROUPING(device) AS level FROM readings GROUP BY 1, ROLLUP (2)",
  ],
  [
    "SELECT date_trunc('day', r.at) AS d, r.device, site, GROUPING(site, r.device) AS level, sum(value) AS s FROM readings r LEFT JOIN devices v USING (device) GROUP BY d, CUBE (r.device, site)",
  ],
  [
    "SELECT d, device, high, a, b, n FROM (SELECT date_trunc('day', at) AS d, device, value > 9 AS high, GROUPING(value > 9) AS b, GROUPING(device) AS a, count(*) AS n FROM readings GROUP BY date_trunc('day', at), GROUPING SETS ((device, value > 9), (), value > 9)) AS x",
  ],
  [
    "SELECT date_trunc('day', at) AS d, device, value, GROUPING(device, value) AS level, count(*) AS n FROM readings GROUP BY DISTINCT 1, ROLLUP (device, value), CUBE (device, value)",
  ],
  [
    "SELECT d, count(*) AS n FROM (SELECT date_trunc('day', at) AS d, device, count(*) AS c FROM readings GROUP BY 1, ROLLUP (2)) AS x GROUP BY d",
  ],
  ["SELECT DISTINCT date_trunc('day', at) AS d, device, max(value) AS m FROM readings GROUP BY 1, CUBE (2)"],
  // Windows by options: the time column is its own label.
  [
    'SELECT at, device, value * 2 AS twice FROM readings WHERE value > 3 ORDER BY at',
    { window: '1 hour', time_column: 'at', key: ['at', 'device'] },
  ],
  [
    'SELECT device, r.at AS ts, site FROM readings r LEFT JOIN devices v USING (device) WHERE device IN (SELECT device FROM devices)',
    { window: '1 month', time_column: 'ts', key: ['ts'], time_zone: 'Europe/Berlin' },
  ],
  [
    'SELECT local, value FROM readings',
    { window: 'week', time_column: 'local', key: 'local', time_zone: 'Asia/Kolkata' },
  ],
  [
    'SELECT local AS t, max(value) AS v FROM readings GROUP BY 1',
    { window: '1 quarter', time_column: 't', time_zone: 'America/New_York' },
  ],
  ['SELECT DISTINCT day, device FROM readings', { window: '1 day', time_column: 'day', time_zone: 'America/New_York' }],
  [
    'SELECT day, sum(value) AS s FROM readings GROUP BY day',
    { window: '3 days', time_column: 'day', time_zone: 'Europe/Berlin' },
  ],
  [
    "SELECT 'live' AS kind, at, device FROM readings UNION ALL SELECT 'old', at, device FROM archive",
    { window: '2 hours', time_column: 'at', key: ['kind', 'at', 'device'] },
  ],
  ['WITH r AS (SELECT * FROM recent) SELECT * FROM r', { window: '1 year', time_column: 'at', key: ['device', 'at'] }],
];

describe('an accepted query', () => {
  it.each(ACCEPTED.map(([query, options = {}]) => ({ query, options })))(
    '$query $options',
    async ({ query, options }) => {
      const compiled = await compile(query, { options });
      const { plans, whole, first } = await compare(compiled, query);
      expect(whole.length).toBeGreaterThan(1);
      // Plans over half of the windows give a part, and both parts together the whole.
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThan(whole.length);
      expect(plans).toEqual(whole);
    },
  );

  it('is noticed here when its filter changes the answer', async () => {
    const query =
      "SELECT DISTINCT ON (device) date_trunc('hour', at) AS h, device FROM readings ORDER BY device, at DESC";
    const flow = await compile("SELECT date_trunc('hour', at) AS h, device FROM readings GROUP BY 1, 2");
    const { draft } = flow;
    const text = [query.replace('readings ORDER', '(SELECT * FROM public.readings WHERE '), ''];
    const [head = ''] = text;
    const wrong = [head.slice(0, head.indexOf(' BY device, at')), ') AS readings ORDER BY device, at DESC'];
    const compiled = { ...draft.compiled, text: wrong };
    const { plans, whole } = await compare({ ...flow, draft: { ...draft, compiled } }, query);
    expect(plans).not.toEqual(whole);
  });
});

/** What it says, and the text at which it points. */
const REFUSED: readonly (readonly [query: string, message: RegExp, at?: string])[] = [
  ['SELECT device, count(*) AS n FROM readings GROUP BY 1', /window/],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1 LIMIT 5", /LIMIT/, '5'],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM (SELECT * FROM readings LIMIT 5) AS r GROUP BY 1",
    /LIMIT/,
    '5)',
  ],
  [
    "SELECT DISTINCT ON (device) date_trunc('hour', at) AS h, device, count(*) AS n FROM readings GROUP BY 1, 2 ORDER BY device",
    /DISTINCT ON/,
    'device)',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM (SELECT DISTINCT ON (device) * FROM readings ORDER BY device, at) AS r GROUP BY 1",
    /DISTINCT ON/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM (SELECT at, row_number() OVER (PARTITION BY device ORDER BY at DESC) AS rn FROM readings) AS r WHERE rn = 1 GROUP BY 1",
    /OVER/,
    'row_number',
  ],
  ["SELECT date_trunc('hour', at) AS h, sum(count(*)) OVER () AS n FROM readings GROUP BY 1", /OVER/],
  [
    "SELECT date_trunc('hour', first) AS h, count(*) AS n FROM (SELECT device, min(at) AS first FROM readings GROUP BY 1) AS r GROUP BY 1",
    /min|column|group/i,
  ],
  [
    "SELECT date_trunc('hour', r.at) AS h, count(*) AS n FROM devices d LEFT JOIN readings r USING (device) GROUP BY 1",
    /nullable/,
  ],
  [
    "SELECT date_trunc('hour', r.at) AS h, count(*) AS n FROM readings r RIGHT JOIN devices d USING (device) GROUP BY 1",
    /nullable/,
  ],
  [
    "SELECT date_trunc('hour', r.at) AS h, count(*) AS n FROM readings r FULL JOIN devices d USING (device) GROUP BY 1",
    /FULL/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM (SELECT at FROM readings EXCEPT SELECT at FROM archive) AS u GROUP BY 1",
    /EXCEPT/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM (SELECT at FROM readings UNION SELECT at FROM archive) AS u GROUP BY 1",
    /UNION/,
  ],
  ["SELECT date_trunc('hour', at) AS h, device, count(*) AS n FROM readings GROUP BY ROLLUP (1, 2)", /ROLLUP/],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY GROUPING SETS ((1), ())", /GROUPING SETS/],
  [
    "SELECT date_trunc('hour', at) AS h, device, count(*) AS n FROM readings GROUP BY GROUPING SETS ((1, 2), (1))",
    /group by the window outside of them, as in GROUP BY window, ROLLUP \(city, shop\)/,
    'GROUPING SETS',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, device, value, count(*) AS n FROM readings GROUP BY 1, ROLLUP (2, value)",
    /select GROUPING\(device, value\) AS level too/,
    'ROLLUP',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, device, value, GROUPING(device) AS level, count(*) AS n FROM readings GROUP BY 1, CUBE (2, value)",
    /select GROUPING\(device, value\) AS level too/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, GROUPING(device) AS level, count(*) AS n FROM readings GROUP BY 1, CUBE (device)",
    /the group key "device" is not in the select list/,
    'device)',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, device, GROUPING(device) AS level, count(*) AS n FROM readings GROUP BY 1, ROLLUP (2), ROLLUP (2)",
    /grouping sets that are the same/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, device, GROUPING(device) AS level, count(*) AS n FROM readings GROUP BY 1, GROUPING SETS (device, (device), ())",
    /grouping sets that are the same/,
  ],
  // The time is a key of every group, and yet the window is NULL in some.
  [
    "SELECT date_trunc('hour', at) AS h, at, GROUPING(date_trunc('hour', at)) AS level FROM readings GROUP BY at, ROLLUP (date_trunc('hour', at))",
    /group by the window outside/,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1, device",
    /the group key "device" is not in the select list/,
    'device',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1, value > 3",
    /this group key is not in the select list/,
    'value > 3',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, value::int AS v, count(*) AS n FROM readings GROUP BY 1, value",
    /the group key "value" is not in the select list/,
    'value',
  ],
  [
    "SELECT h, n FROM (SELECT date_trunc('hour', at) AS h, device AS gadget, count(*) AS n FROM readings GROUP BY 1, 2) AS i",
    /the group key "gadget" is not in the select list/,
    '2)',
  ],
  [
    "SELECT h FROM (SELECT DISTINCT date_trunc('hour', at) AS h, device FROM readings) AS pairs",
    /"device", a column of the SELECT DISTINCT, is not in the select list/,
    'device',
  ],
  ["SELECT date_trunc('hour', at) AS h, device FROM readings", /DISTINCT/],
  ['SELECT DISTINCT device, value FROM readings', /window/],
  ["SELECT count(*) AS n FROM readings GROUP BY date_trunc('hour', at)", /select/i],
  // A row is read at its own time, and at those of other rows.
  [
    "SELECT date_trunc('hour', t) AS h, count(*) AS n FROM readings r CROSS JOIN LATERAL (SELECT r.at AS t UNION ALL SELECT a.at FROM archive a) AS u GROUP BY 1",
    /r\.at, is not a column of a table in the same FROM clause/,
    'r.at AS t',
  ],
  [
    "SELECT l.h, count(*) AS n FROM devices v LEFT JOIN readings r USING (device) CROSS JOIN LATERAL (SELECT date_trunc('hour', r.at) AS h) AS l GROUP BY 1",
    /nullable side/,
  ],
  // A function's column of that name would come first.
  [
    "SELECT l.h, count(*) AS n FROM readings r CROSS JOIN LATERAL (SELECT date_trunc('hour', at) AS h FROM unnest(ARRAY[now()]) AS at) AS l GROUP BY 1",
    /now|FROM clause/,
  ],
  [
    "WITH RECURSIVE r AS (SELECT at FROM readings UNION ALL SELECT at + interval '1 day' FROM r WHERE at < '2021-01-01') SELECT date_trunc('hour', at) AS h, count(*) AS n FROM r GROUP BY 1",
    /recursive/i,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings WHERE at > now() - interval '1 day' GROUP BY 1",
    /now/,
    'now()',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings WHERE at > CURRENT_DATE GROUP BY 1",
    /current_date/i,
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings WHERE random() < 0.5 GROUP BY 1",
    /random/,
    'random',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings WHERE at > clock_timestamp() GROUP BY 1",
    /clock_timestamp/,
  ],
  ["SELECT date_bin('0 minutes', at) AS h, count(*) AS n FROM readings GROUP BY 1", /zero/],
  ["SELECT date_bin('-5 minutes', at) AS h, count(*) AS n FROM readings GROUP BY 1", /zero|negative|positive/],
  ["SELECT date_bin('1 month', at) AS h, count(*) AS n FROM readings GROUP BY 1", /month/],
  ["SELECT time_bucket('5 minutes', at) AS h, count(*) AS n FROM readings GROUP BY 1", /date_bin[\s\S]*date_trunc/],
  ["SELECT date_trunc('fortnight', at) AS h, count(*) AS n FROM readings GROUP BY 1", /fortnight/],
  [
    "SELECT date_trunc('hour', nope) AS h, count(*) AS n FROM readings GROUP BY 1",
    /column "nope" does not exist/,
    'nope',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, sum(nope) AS n FROM readings GROUP BY 1",
    /column "nope" does not exist/,
    'nope',
  ],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM nowhere GROUP BY 1", /nowhere/, 'nowhere'],
  // An ORDER BY that would be left out.
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1 ORDER BY h, nope DESC",
    /column "nope" does not exist/,
    'nope DESC',
  ],
  [
    "SELECT date_bin('1 hour', at) AS \"ü\", count(*) AS n FROM readings GROUP BY date_bin('1 hour', at) ORDER BY date_bin('1 hour', at), nope",
    /column "nope" does not exist/,
    'nope',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1 ORDER BY 3",
    /ORDER BY position 3 is not in select list/,
    '3',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1 ORDER BY value",
    /"readings\.value" must appear in the GROUP BY clause/,
    'value',
  ],
  [
    "SELECT DISTINCT date_trunc('hour', at) AS h, device FROM readings ORDER BY h, value",
    /for SELECT DISTINCT, ORDER BY expressions must appear in select list/,
    'value',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, 1 AS kind, count(*) AS n FROM readings GROUP BY 1 UNION ALL SELECT date_trunc('hour', at), 2, count(*) FROM archive GROUP BY 1 ORDER BY h, n + 1",
    /invalid UNION\/INTERSECT\/EXCEPT ORDER BY clause/,
    'n',
  ],
  [
    "SELECT date_trunc('hour', at) AS h, to_json(count(*)) AS j FROM readings GROUP BY 1 ORDER BY j",
    /could not identify an ordering operator for type json/,
    'j',
  ],
  ["SELECT date_trunc('hour', at) AS h, value + device AS n FROM readings GROUP BY 1, 2", /operator/],
  ["SELECT 'ü' AS \"ä\", date_trunc('hour', at) AS h, count(* AS n FROM readings GROUP BY 1", /syntax/, 'AS n'],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings WHERE value > $1 GROUP BY 1", /\$1/, '$1'],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1; SELECT 1", /one statement/],
  ['DELETE FROM readings', /DELETE/],
  ['INSERT INTO readings SELECT * FROM archive', /INSERT/],
  [
    "WITH gone AS (DELETE FROM readings RETURNING at) SELECT date_trunc('hour', at) AS h, count(*) AS n FROM gone GROUP BY 1",
    /only reads/,
  ],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n INTO other FROM readings GROUP BY 1", /INTO/],
  ['SELECT at FROM readings FOR UPDATE', /FOR UPDATE/],
  ['VALUES (1)', /VALUES/],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings TABLESAMPLE system (10) GROUP BY 1", /TABLESAMPLE/],
  ["SELECT date_trunc('hour', at) AS h, count(*) AS h FROM readings GROUP BY 1", /"?h"?/],
  ["SELECT date_trunc('hour', at) AS h, count(*) + 1 FROM readings GROUP BY 1", /name/],
];

describe('a refused query', () => {
  it.each(REFUSED.map(([query, message, at]) => ({ query, message, at })))('$query', async ({ query, message, at }) => {
    const error = await refusal(compile(query));
    expect(error.message).toMatch(message);
    expect(error.code).toBe('invalid_query');
    if (at !== undefined)
      expect([...query].slice((error.details.position ?? 0) - 1).join('')).toMatch(
        new RegExp(`^${at.replace(/[$()*?.]/g, '\\$&')}`),
      );
  });

  it('runs whole with an eval interval where a filter would change the answer', async () => {
    const query =
      "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM readings GROUP BY 1 ORDER BY n DESC, h LIMIT 5";
    const { draft, warnings } = await compile(query, { eval_interval: '5 minutes' });
    expect(draft.compiled.window).toBeNull();
    expect(warnings.join()).toMatch(/LIMIT/);
  });
});

describe('an ORDER BY', () => {
  it('is left out with a warning where the server takes it', async () => {
    const query = "SELECT date_bin('1 hour', at) AS h, count(*) AS n FROM readings GROUP BY 1";
    const { draft, warnings } = await compile(`${query} ORDER BY date_bin('1 hour', at), max(value) DESC NULLS LAST`);
    expect(warnings).toContain('ORDER BY is left out: the rows of a sink have no order.');
    expect(draft.compiled.text).toEqual((await compile(query)).draft.compiled.text.with(-1, expect.anything()));
    expect(draft.compiled.text.join()).not.toMatch(/ORDER/);
  });

  it('is refused in the words of the server where the flow would run whole, too', async () => {
    const query = 'SELECT device, count(*) AS n FROM readings GROUP BY 1';
    const options = { eval_interval: '1 hour' };
    await expect(compile(`${query} ORDER BY nope`, options)).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringMatching(/column "nope" does not exist/),
      details: { position: query.length + 11 },
    });
    expect((await compile(`${query} ORDER BY n`, options)).warnings.join()).toMatch(/ORDER BY is left out/);
  });
});

describe('the inputs of a query', () => {
  it('are told one by one, in its order, with what each is filtered by', async () => {
    const query = `SELECT date_trunc('day', r.at) AS d, v.site, count(*) AS n FROM devices AS v JOIN readings AS r USING (device)
      WHERE EXISTS (SELECT 1 FROM readings AS o WHERE o.device = r.device) AND r.device IN (SELECT device FROM archive) GROUP BY 1, 2`;
    const { inputs, warnings, draft } = await compile(query);
    expect(inputs).toEqual([
      { schema: 'public', table: 'devices', alias: 'v', timeColumn: null },
      { schema: 'public', table: 'readings', alias: 'r', timeColumn: 'at' },
      { schema: 'public', table: 'readings', alias: 'o', timeColumn: null },
      { schema: 'public', table: 'archive', alias: null, timeColumn: null },
    ]);
    expect(warnings.slice(0, 3)).toEqual([
      'public.devices (v) is read whole at every plan, and a change of it dirties no window.',
      'public.readings (o) is read whole at every plan, and a change of it dirties only the window it lies in.',
      'public.archive is read whole at every plan, and a change of it dirties no window.',
    ]);
    expect(draft.compiled.sources.map(({ table, timeColumn }) => [table, timeColumn])).toEqual([
      ['devices', null],
      ['readings', 'at'],
      ['archive', null],
    ]);
  });

  it('are warned of once where they are read whole twice under one name, and as the option says', async () => {
    const { warnings } = await compile(
      "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM parts WHERE device IN (SELECT device FROM devices) OR device IN (SELECT site FROM devices) GROUP BY 1",
      { options: { on_dimension_change: 'refresh' } },
    );
    expect(warnings).toEqual([
      'public.devices is read whole at every plan, and a change of it dirties everything once it is marked.',
    ]);
  });

  it('are all read whole by a query without a window, of which nothing is said', async () => {
    const { inputs, warnings } = await compile('SELECT device, count(*) AS n FROM readings GROUP BY 1', {
      eval_interval: '1 hour',
    });
    expect(inputs).toEqual([{ schema: 'public', table: 'readings', alias: null, timeColumn: null }]);
    expect(warnings.join()).not.toMatch(/read whole/);
  });
});

/** Expressions over an instant, and over UTC's reading of the same instant. */
const LABELS: readonly string[] = [
  "date_trunc('day', at)",
  "date_trunc('day', at, 'UTC')",
  "date_trunc('day', at, 'Europe/Berlin')",
  "date_trunc('day', at, 'europe/berlin')",
  "date_trunc('day', at) AT TIME ZONE 'UTC'",
  "date_trunc('day', at, 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin'",
  "date_trunc('day', at AT TIME ZONE 'Europe/Berlin')",
  "date_trunc('day', at AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin'",
  "date_trunc('day', at AT TIME ZONE 'Europe/Berlin')::date",
  "(date_trunc('day', at, 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin')::date",
  "date_trunc('day', at)::date",
  "date_trunc('day', at)::timestamp",
  "date_trunc('day', local)",
  "date_trunc('day', local)::date",
  "date_trunc('day', local) AT TIME ZONE 'UTC'",
  "date_trunc('day', local) AT TIME ZONE 'Europe/Berlin'",
  "date_trunc('day', local)::timestamptz",
  "date_trunc('day', local)::date::timestamp",
  "date_bin('1 day', at, 'epoch')",
  "date_bin('1 day', local, 'epoch')",
  "date_bin('1 day', local, '2001-01-01') AT TIME ZONE 'UTC'",
  "date_bin('1 day', at, '2000-01-01 06:00+00')",
];

describe.each(['UTC', 'Europe/Berlin', 'America/Havana'])('two window expressions in %s', (time_zone) => {
  it('are taken for one only where the server gives both the same labels', async () => {
    let alike = 0;
    for (const [index, one] of LABELS.entries()) {
      for (const other of LABELS.slice(index + 1)) {
        const branch = (label: string, kind: number, table: string) =>
          `SELECT ${label} AS w, ${kind} AS kind, count(*) AS n FROM ${table} GROUP BY ${label}`;
        const query = `${branch(one, 1, 'readings')} UNION ALL ${branch(other, 2, 'archive')}`;
        const accepted = await compile(query, { options: { time_zone } }).then(
          () => true,
          () => false,
        );
        if (!accepted) continue;
        alike++;
        await sql.query(`SET TimeZone = '${time_zone}'`);
        const { rows } = await sql.query(
          `SELECT at, ${one} AS one, ${other} AS other FROM readings WHERE isfinite(at) AND ${one} IS DISTINCT FROM ${other}`,
        );
        expect(rows, `${one} and ${other}`).toEqual([]);
      }
    }
    expect(alike).toBeGreaterThan(3);
  }, 60_000);
});
