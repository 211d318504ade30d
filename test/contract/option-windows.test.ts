import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CompiledFlow } from '../../lib/sql/compile-flow.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import { countsOf, type RowCounts } from '../support/definitions.ts';
import {
  type FrontendDatabase,
  openFrontendDatabase,
  planOf,
  refusal,
  sortedRows,
} from '../support/frontend-database.ts';

/** Queries without a window of their own, which the options window, time_column and key cut by a plain time column. */

let database: FrontendDatabase;
let flows = 0;

beforeAll(async () => {
  database = await openFrontendDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  await database.session.query(`DROP TABLE IF EXISTS visits;
CREATE TABLE visits (id numeric, ts timestamptz(3), day date, path text, status int, took json); CREATE INDEX ON visits (ts);
INSERT INTO visits SELECT n, t, t::date, '/' || n % 3, 200 + n % 2, '{}'
FROM generate_series(0, 9) AS n, LATERAL (SELECT '2024-05-01T10:00:00Z'::timestamptz + n * interval '20 minutes' AS t) AS at`);
});

const QUERY = 'SELECT id, ts, path FROM visits WHERE status = 200';
const OPTIONS = { window: '1 hour', time_column: 'ts', key: ['id'] };

function compile(query: string, options: object, more: object = {}): Promise<CompiledFlow> {
  flows++;
  return database.compile(`f${flows}`, { sink: `sink_${flows}`, query, options, ...more });
}

/** A flow that is run over ranges given as two hours of one day. */
async function createFlow(query: string, options: object) {
  const { draft } = await compile(query, options);
  await database.frontend.createSink(draft);
  let epoch = 0n;
  return {
    draft,
    run: async (...hours: [number, number][]): Promise<RowCounts> => {
      const ranges = hours.map(([start, end]): TimeRange => ({ start: at(start), end: at(end) }));
      const result = await database.frontend.run(planOf(draft, epoch + 1n, { ranges }));
      epoch++;
      return countsOf(result);
    },
    sink: async () => rowsOf(`SELECT id, ts, path FROM ${draft.sink.table}`),
  };
}

const at = (hour: number) => parseInstant(`2024-05-01T${String(hour).padStart(2, '0')}:00:00Z`);

const rowsOf = (query: string) => sortedRows(database.session, query);

describe('A query that is cut by options', () => {
  it('is filtered by its time column, which is the label', async () => {
    const { draft, warnings } = await compile(QUERY, { ...OPTIONS, key: ['id', 'ts'] });
    expect(draft.compiled).toMatchObject({
      window: { column: 'ts', expression: ['', ''], argumentType: 'timestamptz', spec: { kind: 'fixed' } },
      keys: ['ts', 'id'],
      sources: [{ table: 'visits', timeColumn: 'ts' }],
    });
    expect(warnings).toEqual([]);
  });

  it.each([
    ['month', 'ts', { kind: 'calendar', unit: 'month', zone: 'Europe/Berlin' }],
    ['1 day', 'day', { kind: 'calendar', unit: 'day', zone: 'Europe/Berlin' }],
    ['7 days', 'ts', { kind: 'fixed', size: 604_800_000_000n, origin: 0n }],
  ])("has windows of %s over %s as the flow's zone has them", async (window, time_column, spec) => {
    const query = 'SELECT id, ts, day FROM visits';
    const { draft } = await compile(query, { ...OPTIONS, window, time_column, time_zone: 'Europe/Berlin' });
    expect(draft.compiled.window?.spec).toEqual(spec);
  });

  it('follows its source window by window', async () => {
    const flow = await createFlow(QUERY, OPTIONS);
    await flow.run([10, 12]);
    expect(await flow.sink()).toEqual(await rowsOf(`${QUERY} AND ts < '2024-05-01T12:00Z'`));
    await flow.run();
    expect(await flow.sink()).toEqual(await rowsOf(QUERY));
    await database.session.query("DELETE FROM visits WHERE id = 2; UPDATE visits SET path = 'x' WHERE id IN (0, 8)");
    expect(await flow.run([10, 11])).toMatchObject({ inserted: 0n, updated: 1n, deleted: 1n });
    expect(await flow.run([10, 11], [12, 13])).toMatchObject({ inserted: 0n, updated: 1n, deleted: 0n });
    expect(await flow.sink()).toEqual(await rowsOf(QUERY));
  });

  it('finds the rows of its windows by an index, whatever the key', async () => {
    const { draft } = await createFlow(QUERY, OPTIONS);
    const { rows } = await database.session.query<{ d: string }>(
      `SELECT pg_get_indexdef(indexrelid) AS d FROM pg_index WHERE indrelid = '${draft.sink.table}'::regclass`,
    );
    expect(rows.map(({ d }) => d.replace(/.*USING /, '')).toSorted()).toEqual([
      'btree (id) NULLS NOT DISTINCT',
      'btree (ts)',
    ]);
  });

  it('moves a row whose time has changed, in whichever order the windows are computed', async () => {
    const flow = await createFlow(QUERY, OPTIONS);
    await flow.run();
    await database.session.query(`UPDATE visits SET ts = '2024-05-01T13:30Z', path = 'later' WHERE id = 0;
UPDATE visits SET ts = '2024-05-01T10:30Z', path = 'earlier' WHERE id = 8`);
    await flow.run([13, 14]);
    await flow.run([10, 11]);
    await flow.run([12, 13]);
    expect(await flow.sink()).toEqual(await rowsOf(QUERY));
  });

  it('takes a key that is written otherwise for the same, within a window and beyond', async () => {
    const flow = await createFlow(QUERY, OPTIONS);
    await flow.run();
    await database.session.query(
      `UPDATE visits SET id = 0.0 WHERE id = 0; UPDATE visits SET id = 8.00, ts = '2024-05-01T10:30Z' WHERE id = 8`,
    );
    await flow.run([10, 11]);
    await flow.run([12, 13]);
    expect(await flow.sink()).toEqual(await rowsOf(QUERY));
  });

  it('is surveyed like any other: first and last times of source and sink', async () => {
    const flow = await createFlow(QUERY, OPTIONS);
    await flow.run([11, 14]);
    const within = { start: at(10), end: at(20) };
    expect(await database.frontend.timeRange(flow.draft, within, 5_000)).toEqual({
      source: { first: at(10), last: at(13) },
      sink: { first: parseInstant('2024-05-01T11:20:00Z'), last: parseInstant('2024-05-01T12:40:00Z') },
    });
  });

  it('may have names of any letters', async () => {
    await database.session.query(
      'DROP TABLE IF EXISTS "Odd ""1"""; CREATE TABLE "Odd ""1""" AS SELECT id AS "select", ts AS "Zeit "" ü" FROM visits',
    );
    const options = { window: '1 hour', time_column: '$$ ä"', key: ['"', '$$ ä"'] };
    const query = 'SELECT "select" AS """", "Zeit "" ü" AS "$$ ä""" FROM "Odd ""1"""';
    const flow = await createFlow(query, options);
    await flow.run();
    expect(await rowsOf(`SELECT """", "$$ ä""" FROM ${flow.draft.sink.table}`)).toEqual(await rowsOf(query));
  });

  it('refuses to write two rows of one key', async () => {
    const flow = await createFlow(QUERY, OPTIONS);
    await database.session.query('UPDATE visits SET id = 2 WHERE id = 0');
    await expect(flow.run()).rejects.toMatchObject({ code: 'duplicate_sink_key' });
    expect(await flow.sink()).toEqual([]);
  });

  it('takes the key that is given where tables are joined to grouped rows, and warns where none is', async () => {
    const query =
      'SELECT g.ts, g.path, v.id FROM (SELECT ts, path FROM visits GROUP BY 1, 2) AS g JOIN visits AS v USING (path)';
    const { draft } = await compile(query, { ...OPTIONS, key: ['id', 'path', 'ts'] });
    expect(draft.compiled.keys).toEqual(['ts', 'id', 'path']);
    const { draft: told, warnings } = await compile(query, { window: '1 hour', time_column: 'ts' });
    expect(told.compiled.keys).toEqual(['ts', 'path']);
    expect(warnings.join()).toMatch(/should one group meet two of their rows/);
  });

  it('warns where the key alone does not tell the window', async () => {
    const { warnings } = await compile(QUERY, OPTIONS);
    expect(warnings).toEqual([expect.stringMatching(/^A row is known by \(id\) alone/)]);
  });
});

describe('Options that cannot cut the query', () => {
  it.each<[string, object, RegExp, string?]>([
    [QUERY, { window: '1 hour' }, /window = '1 hour' needs time_column/],
    [QUERY, { time_column: 'ts' }, /time_column needs window/],
    [QUERY, { window: '1 hour', time_column: 'ts' }, /need key, the columns that identify a row/],
    [QUERY, { key: ['id'] }, /no window/, 'invalid_query'],
    [
      QUERY,
      { ...OPTIONS, time_column: 'tz' },
      /"tz", which is no column of the query. Did you mean ts\? Its columns: id, ts, path/,
    ],
    [QUERY, { ...OPTIONS, key: ['di'] }, /"di", which is no column of the query. Did you mean id\?/],
    [QUERY, { ...OPTIONS, time_column: 'id' }, /"id" is of type numeric; it must be timestamptz/, 'invalid_query'],
    ['SELECT took, ts FROM visits', { ...OPTIONS, key: ['took'] }, /"took" of type json, which an index cannot hold/],
    [
      "SELECT id, ts + interval '1 hour' AS ts FROM visits",
      OPTIONS,
      /must be a plain column of a table/,
      'invalid_query',
    ],
    ['SELECT id, ts::timestamp AS ts FROM visits', OPTIONS, /must be a plain column of a table/, 'invalid_query'],
    [`${QUERY} ORDER BY id LIMIT 3`, OPTIONS, /LIMIT/, 'invalid_query'],
    ['SELECT DISTINCT ON (path) path, id, ts FROM visits ORDER BY path, ts', OPTIONS, /DISTINCT ON/, 'invalid_query'],
    ['SELECT id, ts, row_number() OVER (ORDER BY ts) AS n FROM visits', OPTIONS, /OVER/, 'invalid_query'],
    [
      'SELECT id, max(ts) AS ts FROM visits GROUP BY id',
      OPTIONS,
      /must be a plain column|not among the group keys/,
      'invalid_query',
    ],
    [
      'SELECT ts, count(*) AS n FROM visits GROUP BY ts, path',
      { window: '1 hour', time_column: 'ts' },
      /group key "path"/,
      'invalid_query',
    ],
    [
      'SELECT ts, path, count(*) AS n FROM visits GROUP BY ts, path',
      { ...OPTIONS, key: ['ts'] },
      /group keys identify its rows already/,
    ],
    [
      'SELECT * FROM visits, json_to_record(took) AS more (x int)',
      OPTIONS,
      /the star stands for columns/,
      'invalid_query',
    ],
    ['SELECT id, day FROM visits', { ...OPTIONS, time_column: 'day', window: '36 hours' }, /whole days/],
    [
      "SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM visits GROUP BY 1",
      { ...OPTIONS, time_column: 'h' },
      /computes its windows itself, in column "h"/,
    ],
    [
      "SELECT date_trunc('fortnight', ts) AS ts, count(*) AS id FROM visits GROUP BY 1",
      OPTIONS,
      /fortnight/,
      'invalid_query',
    ],
    [
      'SELECT ts, id FROM visits UNION ALL SELECT day, id FROM visits',
      OPTIONS,
      /one type in all tables/,
      'invalid_query',
    ],
  ])('%s with %j', async (query, options, message, code = 'invalid_option') => {
    const error = await refusal(compile(query, options));
    expect(error.message).toMatch(message);
    expect(error.code).toBe(code);
  });

  it('are refused with an eval interval as well', async () => {
    const error = await refusal(compile(`${QUERY} LIMIT 3`, OPTIONS, { eval_interval: '1 hour' }));
    expect(error.details.hint).toMatch(/Without these options, and with an EVAL INTERVAL/);
  });

  it('are what a query without aggregates is told of', async () => {
    const hint = async (query: string) => (await refusal(compile(query, {}))).details.hint;
    expect(await hint(QUERY)).toMatch(/WITH \(window = '1 hour', time_column = time, key = \(id\)\)/);
    expect(await hint('SELECT n FROM (SELECT count(*) AS n FROM visits GROUP BY path) AS paths')).not.toMatch(/WITH/);
  });
});
