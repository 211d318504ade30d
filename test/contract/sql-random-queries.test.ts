import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledQuery } from '../../lib/flow/definition.ts';
import { queryText, timeFilter } from '../../lib/frontend/postgres/query-text.ts';
import type { CompiledFlow } from '../../lib/sql/compile-flow.ts';
import { normalize } from '../../lib/window/dirty-set.ts';
import { type Instant, instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import { windowContaining } from '../../lib/window/windows.ts';
import { type FrontendDatabase, openFrontendDatabase, sortedRows } from '../support/frontend-database.ts';

let database: FrontendDatabase;
let sql: pg.Client;

beforeAll(async () => {
  database = await openFrontendDatabase();
  sql = database.session;
  // Many rows at few times, around a change of the clock in Berlin; keys that are NULL, that have no partner or two.
  await sql.query(`
    CREATE TABLE readings (ts timestamptz, k text, v int);
    CREATE TABLE archive (ts timestamptz, k text, v int, extra text);
    CREATE TABLE dims (k text, w int);
    CREATE VIEW clean AS SELECT * FROM readings WHERE isfinite(ts);
    CREATE VIEW recent AS SELECT * FROM readings WHERE v % 3 <> 0;
    INSERT INTO readings SELECT '2021-03-27 20:00Z'::timestamptz + (n * 37 % 200) * interval '23 minutes', (ARRAY['a', 'b', 'c', NULL])[1 + n % 4], n % 11
      FROM generate_series(1, 180) AS n;
    INSERT INTO readings VALUES (NULL, 'a', 1), ('infinity', 'b', 2), ('-infinity', 'c', 3);
    INSERT INTO archive SELECT ts + interval '11 minutes', k, v + 1, 'x' FROM readings WHERE v > 6;
    INSERT INTO dims VALUES ('a', 1), ('a', 2), ('b', 3), ('z', 4), (NULL, 5);`);
});

afterAll(() => database.close());

/** Something that can stand in FROM before an alias, and has columns ts, k and v. */
interface Input {
  readonly from: string;
  readonly ctes: readonly string[];
}

const WINDOWS: readonly (readonly [expression: string, options?: object])[] = [
  ["date_bin('1 hour', ts, 'epoch')"],
  ["date_bin('7 minutes', ts, '2000-01-01 00:00:30+00')"],
  ["date_trunc('hour', ts)", { time_zone: 'Europe/Berlin' }],
  ["date_trunc('day', ts)::date", { time_zone: 'Europe/Berlin' }],
  ["date_trunc('day', ts, 'Asia/Kolkata')"],
  ["date_trunc('day', ts AT TIME ZONE 'America/New_York')"],
  ["date_trunc('week', ts)"],
];

type Wrap = (input: Input) => Input;

let ctes = 0;

/** `body` selects ts, k and v from `$`, the input as `x`. */
function select(body: string): Wrap {
  return (input) => ({ ...input, from: `(${body.replace('$', () => `${input.from} AS x (ts, k, v)`)})` });
}

function inWith(body: string, head = ''): Wrap {
  return (input) => {
    const name = `c${++ctes}`;
    const text = body.replace('$', () => `${input.from} AS x (ts, k, v)`);
    return { from: name, ctes: [...input.ctes, `${name} ${head} AS ${text}`] };
  };
}

/** Each passes a filter on ts down to its input unchanged. */
const PASSING: readonly Wrap[] = [
  select('SELECT ts, k, v FROM $ WHERE v > 1'),
  select('SELECT ts, k, v FROM $'),
  select('SELECT ts, k, v FROM (SELECT v AS a, ts AS b, k AS c FROM $) AS y (v, ts, k)'),
  select('SELECT y.ts, y.k, y.v FROM (SELECT * FROM $) AS y'),
  inWith('(SELECT ts, k, v FROM $)'),
  inWith('MATERIALIZED (SELECT ts, k, v + 1 FROM $)', '(ts, k, v)'),
  select('SELECT ts, k, v FROM $ UNION ALL SELECT ts, k, v FROM archive'),
  select('SELECT x.ts, d.k, v + w AS v FROM $ JOIN dims d ON d.k = x.k'),
  select('SELECT ts, k, v + w AS v FROM $ LEFT JOIN dims USING (k)'),
  select('SELECT x.ts, k, v FROM dims RIGHT JOIN $ USING (k)'),
  select('SELECT ts, k, v FROM $ NATURAL JOIN dims'),
  select('SELECT ts, k, sum(v)::int AS v FROM $ GROUP BY ts, k HAVING count(*) > 0'),
  select('SELECT DISTINCT ts, k, v FROM $'),
  select('SELECT x.ts, x.k, l.v FROM $ CROSS JOIN LATERAL (SELECT x.v * 2 AS v) AS l'),
  select('SELECT l.ts, d.k, l.v FROM dims d, LATERAL (SELECT * FROM $ WHERE x.k = d.k) AS l'),
  select('SELECT ts, k, v FROM $ WHERE EXISTS (SELECT 1 FROM readings r WHERE r.ts > x.ts AND r.k = x.k)'),
  select('SELECT ts, k, (SELECT max(w) FROM dims WHERE dims.k = x.k) AS v FROM $'),
  select('SELECT l.t AS ts, x.k, x.v FROM $ CROSS JOIN LATERAL (SELECT x.ts AS t) AS l'),
  select('SELECT ts, k, v FROM ($ CROSS JOIN (VALUES (1), (2)) AS y (n)) WHERE n = 2'),
  select('SELECT j.a AS ts, j.b AS k, j.c AS v FROM ($ CROSS JOIN dims) AS j (a, b, c)'),
];

/** Each makes rows of one window depend on rows of others, or makes rows without a time. */
const BLOCKING: Readonly<Record<string, Wrap>> = {
  'DISTINCT ON': select('SELECT DISTINCT ON (k) ts, k, v FROM $ ORDER BY k, ts DESC'),
  LIMIT: select('SELECT ts, k, v FROM $ ORDER BY ts, k, v LIMIT 30'),
  OFFSET: select('SELECT ts, k, v FROM $ ORDER BY ts, k, v OFFSET 30'),
  'a window function': select(
    'SELECT ts, k, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts DESC, v) AS rn FROM $) AS y WHERE rn < 9',
  ),
  'an aggregate over other keys': select('SELECT max(ts) AS ts, k, v FROM $ GROUP BY k, v'),
  'the nullable side of a LEFT JOIN': select('SELECT x.ts, k, v FROM dims LEFT JOIN $ USING (k)'),
  'the nullable side of a RIGHT JOIN': select('SELECT x.ts, k, v FROM $ RIGHT JOIN dims USING (k)'),
  'a FULL JOIN': select('SELECT x.ts, k, v FROM dims FULL JOIN $ USING (k)'),
  UNION: select('SELECT ts, k, v FROM $ UNION SELECT NULL, k, w FROM dims'),
  EXCEPT: select('SELECT ts, k, v FROM clean EXCEPT ALL SELECT ts, k, v FROM $ WHERE v > 4'),
  // A step of a length that takes rows to windows of other hands, where they meet rows of their key.
  'a recursive query': inWith(
    "(SELECT ts, k, 0 FROM $ WHERE v < 6 UNION ALL SELECT ts + interval '90 minutes', k, v + 1 FROM r WHERE v < 3)",
    '',
  ),
};

const inputs: fc.Arbitrary<Input> = fc
  .tuple(
    fc.constantFrom('readings', 'public.readings', 'ONLY readings', 'recent'),
    fc.array(fc.constantFrom(...PASSING), { maxLength: 4 }),
  )
  .map(([from, wraps]) => wraps.reduce<Input>((input, wrap) => wrap(input), { from, ctes: [] }));

/** Number of the shapes below. */
const SHAPES = 9;

/** The window at the top, or in a projection below; the aggregate at the top, or below a projection; DISTINCT for one, or above it; UNION ALL. */
function topQuery({ from, ctes: list }: Input, window: string, shape: number): string {
  const head = list.length === 0 ? '' : `WITH ${list.join(', ')} `;
  switch (shape) {
    case 0:
      return `${head}SELECT ${window} AS w, k, count(*) AS n, sum(v) AS s FROM ${from} AS q (ts, k, v) GROUP BY 1, 2`;
    case 1:
      return `${head}SELECT w, k, count(*) AS n, min(v) AS s FROM (SELECT ${window} AS w, k, v FROM ${from} AS q (ts, k, v)) AS p GROUP BY w, k`;
    case 2:
      return `${head}SELECT k AS "key", w, n * 2 AS n FROM (SELECT k, ${window} AS w, count(*) AS n FROM ${from} AS q (ts, k, v) GROUP BY w, k HAVING count(*) > 1) AS p`;
    case 3:
      return `${head}SELECT DISTINCT k, ${window} AS w, v > 3 AS high FROM ${from} AS q (ts, k, v)`;
    case 4:
      return `${head}SELECT DISTINCT w, s FROM (SELECT ${window} AS w, k, sum(v) AS s FROM ${from} AS q (ts, k, v) GROUP BY 1, 2) AS p`;
    case 5:
      return `${head}SELECT ${window} AS w, 'all' AS kind, k, count(*) AS n FROM ${from} AS q (ts, k, v) GROUP BY 1, 3 UNION ALL SELECT ${window}, 'old', max(k), NULL FROM archive GROUP BY 1`;
    case 6:
      return `${head}(SELECT v AS s, ${window} AS w, 1 AS kind FROM ${from} AS q (ts, k, v) GROUP BY w, v UNION ALL SELECT DISTINCT v, ${window}, 2 FROM archive) UNION ALL SELECT s, w, 3 FROM (SELECT ${window} AS w, k, sum(v) AS s FROM readings AS q (ts, k, v) GROUP BY 1, 2) AS p GROUP BY 1, 2`;
    case 7:
      return `${head}SELECT ${window} AS w, k, v, GROUPING(k) AS a, GROUPING(v, k) AS b, count(*) AS n FROM ${from} AS q (ts, k, v) GROUP BY w, CUBE (k, v)`;
    default:
      return `${head}SELECT ${window} AS w, k, array_agg(v ORDER BY v) AS vs FROM ${from} AS q (ts, k, v) GROUP BY ${window}, k`;
  }
}

async function rows(text: string, zone: string): Promise<string[]> {
  await sql.query(`SET TimeZone = '${zone}'; SET search_path = pg_catalog, public, pg_temp`);
  return sortedRows(sql, text);
}

function repeatedKeys(query: string, { keys }: CompiledQuery): string {
  const names = keys.map((key) => `"${key}"`).join(', ');
  return `SELECT ${names} FROM (${query}\n) AS q GROUP BY ${names} HAVING count(*) > 1`;
}

const finite = (text: string) => `SELECT * FROM (${text}\n) AS all_windows WHERE isfinite(w)`;

/** Every window that holds a time of a row, shared out among three hands as `dealt` says. */
async function hands({ window }: CompiledQuery, dealt: readonly number[]): Promise<TimeRange[][]> {
  if (window === null) throw new Error('the query was compiled without a window');
  const { rows: times } = await sql.query<{ t: string }>(
    'SELECT trunc(extract(epoch FROM ts) * 1000000)::text AS t FROM (SELECT ts FROM readings UNION SELECT ts FROM archive) AS u WHERE isfinite(ts)',
  );
  const starts = new Map<Instant, TimeRange>();
  for (const { t } of times) {
    const range = windowContaining(window.spec, instant(BigInt(t)));
    starts.set(range.start, range);
  }
  const windows = [...starts.values()].toSorted((a, b) => (a.start < b.start ? -1 : 1));
  return [0, 1, 2].map((hand) => normalize(windows.filter((_, index) => dealt[index % dealt.length] === hand)));
}

function compile(query: string, more: object = {}): Promise<CompiledFlow> {
  return database.compile('f', { sink: 'sink', query, ...more });
}

describe('a query made of shapes that a filter passes', () => {
  it('gives, over any share-out of its windows, together what it gives as a whole', async () => {
    const deals = fc.array(fc.nat(2), { minLength: 20, maxLength: 20 });
    const cases = fc.tuple(inputs, fc.constantFrom(...WINDOWS), fc.nat(SHAPES - 1), deals);
    await fc.assert(
      fc.asyncProperty(cases, async ([input, [window, options = {}], shape, dealt]) => {
        const query = topQuery(input, window, shape);
        const { compiled, options: all } = (await compile(query, { options })).draft;
        const found: string[] = [];
        for (const ranges of await hands(compiled, dealt)) {
          found.push(...(await rows(finite(queryText(compiled, { ranges, gridTime: null })), all.timeZone)));
        }
        expect(found.sort()).toEqual(await rows(finite(query), all.timeZone));
        expect(await rows(repeatedKeys(query, compiled), all.timeZone)).toEqual([]);
      }),
      { numRuns: 100 },
    );
  }, 120_000);
});

describe('keys that are rolled up', () => {
  it('are refused without GROUPING, for a key is given twice then', async () => {
    const query = (level: string) =>
      `SELECT date_trunc('day', ts) AS w, k${level}, count(*) AS n FROM readings GROUP BY 1, ROLLUP (k)`;
    const { compiled } = (await compile(query(', GROUPING(k) AS level'))).draft;
    expect(compiled.keys).toEqual(['w', 'k', 'level']);
    await expect(compile(query(''))).rejects.toMatchObject({
      message: expect.stringMatching(/GROUPING\(k\) AS level/),
    });
    expect(await rows(repeatedKeys(query(''), { ...compiled, keys: ['w', 'k'] }), 'UTC')).not.toEqual([]);
  });
});

describe('branches of a UNION ALL that no constant tells apart', () => {
  it('are refused, for they give a key twice', async () => {
    const branch = (kind: string) =>
      `SELECT date_trunc('day', ts) AS w, ${kind} AS kind, count(*) AS n FROM readings GROUP BY 1`;
    const { compiled } = (await compile(`${branch("'a'")} UNION ALL ${branch("'b'")}`)).draft;
    expect(compiled.keys.toSorted()).toEqual(['kind', 'w']);
    const alike = `${branch("'a'")} UNION ALL ${branch("'a'")}`;
    await expect(compile(alike)).rejects.toMatchObject({ message: expect.stringMatching(/rows of the same key/) });
    expect(await rows(repeatedKeys(alike, compiled), 'UTC')).not.toEqual([]);
  });
});

describe('a query that options cut, made of shapes that a filter passes', () => {
  const options = { window: '1 hour', time_column: 'w', key: ['w', 'k', 'v'] };
  const plain = ({ from, ctes: list }: Input) =>
    `${list.length === 0 ? '' : `WITH ${list.join(', ')} `}SELECT k, ts AS w, v FROM ${from} AS q (ts, k, v)`;

  it('gives, over any share-out of its windows, together what it gives as a whole', async () => {
    const deals = fc.array(fc.nat(2), { minLength: 20, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(inputs, deals, async (input, dealt) => {
        // The group keys of a subquery may tell rows apart, and then no other key is taken.
        const grouped = (error: unknown) => {
          expect(error).toMatchObject({
            message: expect.stringMatching(/group keys identify its rows already: \(w, k\)/),
          });
          return compile(plain(input), { options: { ...options, key: ['k', 'w'] } });
        };
        const { compiled } = (await compile(plain(input), { options }).catch(grouped)).draft;
        const found: string[] = [];
        for (const ranges of await hands(compiled, dealt)) {
          found.push(...(await rows(finite(queryText(compiled, { ranges, gridTime: null })), 'UTC')));
        }
        expect(found.sort()).toEqual(await rows(finite(plain(input)), 'UTC'));
      }),
      { numRuns: 40 },
    );
  }, 120_000);

  it.each(Object.entries(BLOCKING))('is refused with %s below', async (_, wrap) => {
    const query = recursive(plain(wrap({ from: 'readings', ctes: [] })));
    await expect(compile(query, { options })).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringMatching(/^window cannot cut time_column "w"/),
    });
  });
});

/** Rows of the query over each hand of `clean` filtered beforehand, together, and the rows of the whole query. */
async function filteredByForce(wrap: Wrap): Promise<{ parts: string[]; whole: string[] }> {
  const window = "date_bin('1 hour', ts, 'epoch')";
  const { compiled } = (await compile(topQuery({ from: 'clean', ctes: [] }, window, 0))).draft;
  const parts: string[] = [];
  for (const ranges of await hands(compiled, [0, 1, 2, 1, 0])) {
    const from = `(SELECT * FROM clean AS t WHERE ${timeFilter('t.ts', 'timestamptz', ranges)})`;
    parts.push(...(await rows(recursive(topQuery(wrap({ from, ctes: [] }), window, 0)), 'UTC')));
  }
  const whole = await rows(recursive(topQuery(wrap({ from: 'clean', ctes: [] }), window, 0)), 'UTC');
  return { parts: parts.sort(), whole };
}

/** The recursive shape reads itself by the name of its WITH query. */
function recursive(query: string): string {
  const name = /(c\d+) {2}AS \(SELECT ts, k, 0/.exec(query)?.[1];
  return name === undefined
    ? query
    : query.replace('WITH ', 'WITH RECURSIVE ').replace('FROM r WHERE', `FROM ${name} AS r (ts, k, v) WHERE`);
}

describe.each(Object.entries(BLOCKING))('a query with %s below its window', (_, wrap) => {
  it('is refused whatever it stands between, and runs whole with an eval interval', async () => {
    await fc.assert(
      fc.asyncProperty(
        inputs,
        fc.constantFrom(...WINDOWS),
        fc.nat(SHAPES - 1),
        async (input, [window, options = {}], shape) => {
          const query = recursive(topQuery(wrap(input), window, shape));
          await expect(compile(query, { options })).rejects.toMatchObject({
            code: 'invalid_query',
            message: expect.stringMatching(/^a filter on the window's time would change the answer/),
          });
          const { draft } = await compile(query, { options, eval_interval: '1 hour' });
          expect(draft.compiled.window).toBeNull();
        },
      ),
      { numRuns: 8 },
    );
  }, 60_000);

  it('would give other rows if it were filtered', async () => {
    const { parts, whole } = await filteredByForce(wrap);
    expect(parts).not.toEqual(whole);
  });
});

it('notices no difference where there is none', async () => {
  for (const wrap of PASSING.filter((each) => !each({ from: 't', ctes: [] }).from.includes('archive'))) {
    const { parts, whole } = await filteredByForce(wrap);
    expect(parts).toEqual(whole);
  }
});
