import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Frontend, PlanRequest } from '../../lib/frontend/frontend.ts';
import type { FlowDraft } from '../../lib/sql/compile-flow.ts';
import { ALL_TIME } from '../../lib/window/time-range.ts';
import { countsOf, type RowCounts } from '../support/definitions.ts';
import { type FrontendDatabase, openFrontendDatabase, planOf, sortedRows } from '../support/frontend-database.ts';

const QUERY = `SELECT date_trunc('hour', at) AS hour, kind, count(*) AS n, sum(size) AS total, max(price) AS top, min(code) AS code
FROM calls GROUP BY 1, 2`;
const KEY = (columns: string) => `UNIQUE NULLS NOT DISTINCT (${columns})`;

let database: FrontendDatabase;
let session: pg.Client;
let frontend: Frontend;

beforeAll(async () => {
  database = await openFrontendDatabase();
  ({ session, frontend } = database);
  await session.query(`SET TimeZone = 'UTC'; CREATE DOMAIN grade AS smallint`);
});
afterAll(() => database.close());
beforeEach(async () => {
  await session.query(`DROP TABLE IF EXISTS calls, sink; DROP TABLE IF EXISTS sluice.applied;
CREATE TABLE calls (at timestamptz, kind varchar(3), size int, price numeric(6,2), code char(3), grade grade);
INSERT INTO calls VALUES ('2024-05-01 10:10Z', 'a', 2147483647, 1.5, 'x', 1), ('2024-05-01 10:20Z', 'a', 2147483647, 9999.99, 'yy', 2),
  ('2024-05-01 11:20Z', NULL, NULL, NULL, NULL, NULL), ('2024-05-01 12:20Z', 'ü🌊c', 0, 0.10, 'zzz', 3)`);
});

async function create(query: string, options: Record<string, unknown> = {}): Promise<FlowDraft> {
  return (await database.compile('matched', { sink: 'sink', query, ...options })).draft;
}

const wholePlan = (draft: FlowDraft, epoch: bigint): PlanRequest =>
  planOf(draft, epoch, draft.compiled.window === null ? { coverage: 'unfiltered_full' } : { ranges: [ALL_TIME] });

async function run(draft: FlowDraft, epoch: bigint): Promise<RowCounts> {
  return countsOf(await frontend.run(wholePlan(draft, epoch)));
}

const rowsOf = (query: string) => sortedRows(session, query);

const NOTHING = { inserted: 0n, updated: 0n, deleted: 0n };

/** A flow over the sink is run, follows a change, and rewrites nothing that is equal. */
async function follows(draft: FlowDraft, shown: string, query: string): Promise<void> {
  expect(await run(draft, 1n)).toEqual({ inserted: 3n, updated: 0n, deleted: 0n });
  expect(await rowsOf(shown)).toEqual(await rowsOf(query));
  expect(await run(draft, 2n)).toEqual(NOTHING);
  await session.query(
    `DELETE FROM calls WHERE kind IS NULL; UPDATE calls SET price = price + 0.01, size = 1 WHERE code = 'x'`,
  );
  await session.query(`INSERT INTO calls VALUES ('2024-05-02 10:10Z', 'new', 5, 5, 'n')`);
  expect(await run(draft, 3n)).toEqual({ inserted: 1n, updated: 1n, deleted: 1n });
  expect(await rowsOf(shown)).toEqual(await rowsOf(query));
  expect(await run(draft, 4n)).toEqual(NOTHING);
}

it('wider types of every kind, with a longer scale and padding', async () => {
  await session.query(`CREATE TABLE sink (total numeric(22,2), n numeric(19,0), kind text, top numeric(12,4), hour timestamptz(6), code char(8),
update_at timestamp NOT NULL, __ts_placeholder timestamp(3) NOT NULL, note text DEFAULT 'new', twice numeric GENERATED ALWAYS AS (n * 2) STORED, ${KEY('hour, kind')})`);
  const given = QUERY.replace('max(price)', 'max(price)::numeric(6,2)').replace('min(code)', 'min(code)::char(3)');
  const draft = await create(given);
  expect(draft).toMatchObject({ updateAt: true, placeholder: true });
  expect(draft.sinkColumns.map(({ type }) => type)).toEqual([
    'timestamp(6) with time zone',
    'text',
    'numeric(19,0)',
    'numeric(22,2)',
    'numeric(12,4)',
    'character(8)',
  ]);
  // Compared as the sink shows them.
  const query = QUERY.replace('count(*)', 'count(*)::numeric(19,0)')
    .replace('sum(size)', 'sum(size)::numeric(22,2)')
    .replace('max(price)', 'max(price)::numeric(12,4)')
    .replace('min(code)', 'min(code)::char(8)');
  await follows(draft, 'SELECT hour, kind, n, total, top, code FROM sink', query);
  const filled = `SELECT bool_and(__ts_placeholder = 'epoch') AS p, bool_and(abs(extract(epoch FROM now() AT TIME ZONE 'UTC' - update_at)) < 60) AS u, bool_and(note = 'new') AS n, bool_and(twice = 2 * n) AS t FROM sink`;
  expect(await rowsOf(filled)).toEqual(['(t,t,t,t)']);
});

it('other names at the same places, of keys and label too, through everything that names the sink', async () => {
  await session.query(`CREATE TABLE sink ("Hour of day" timestamptz, kind varchar(3), n bigint, "Sum" bigint, top numeric, code bpchar,
${KEY('"Hour of day", kind')})`);
  await session.query(`INSERT INTO sink VALUES ('2020-01-01 00:00Z', 'old')`);
  const draft = await create(QUERY);
  expect(draft.sinkColumns.map(({ name }) => name)).toEqual(['Hour of day', 'kind', 'n', 'Sum', 'top', 'code']);
  expect(draft.compiled.keys).toEqual(['hour', 'kind']);
  const { sink } = await frontend.timeRange(draft, ALL_TIME, 5_000);
  expect(sink?.first).toBe(sink?.last);
  expect(await frontend.surplusRows(wholePlan(draft, 1n), 5, 5_000)).toEqual({
    count: 1n,
    keys: [['2020-01-01 00:00:00+00', 'old']],
  });
  await session.query('DELETE FROM sink');
  await follows(draft, 'SELECT "Hour of day", kind, n, "Sum", top, code FROM sink', QUERY);
  await session.query('ALTER TABLE sink RENAME "Sum" TO total');
  await expect(run(draft, 5n)).rejects.toMatchObject({
    code: 'sink_drifted',
    details: { diff: ['column "Sum" of type bigint is gone; it may be "total" now'] },
  });
});

it('a whole query that keeps what it no longer gives, by a key with another name', async () => {
  await session.query('CREATE TABLE sink (which text PRIMARY KEY, n bigint)');
  const query = 'SELECT kind, count(*) AS n FROM calls WHERE kind IS NOT NULL GROUP BY 1';
  const draft = await create(query, { eval_interval: '1 hour', options: { on_delete: 'keep' } });
  expect(await run(draft, 1n)).toEqual({ inserted: 2n, updated: 0n, deleted: 0n });
  await session.query(`DELETE FROM calls WHERE kind = 'a'; INSERT INTO calls VALUES ('2024-05-02', 'new')`);
  expect(await run(draft, 2n)).toEqual({ inserted: 1n, updated: 0n, deleted: 0n });
  expect(await rowsOf('SELECT which, n FROM sink')).toEqual(['(a,2)', '(new,1)', '(ü🌊c,1)']);
});

it('a domain is stored as what it is made of', async () => {
  await session.query(`CREATE TABLE sink (hour timestamptz, grade int, ${KEY('hour, grade')})`);
  const draft = await create(`SELECT date_trunc('hour', at) AS hour, grade FROM calls GROUP BY 1, 2`);
  expect(await run(draft, 1n)).toEqual({ inserted: 4n, updated: 0n, deleted: 0n });
  expect(await run(draft, 2n)).toEqual(NOTHING);
});

it('a source whose type has become wider than the sink cuts nothing', async () => {
  await session.query(`CREATE TABLE sink (hour timestamptz, top smallint, ${KEY('hour')})`);
  await session.query('ALTER TABLE calls ALTER price TYPE smallint USING 1');
  const draft = await create(`SELECT date_trunc('hour', at) AS hour, max(price) AS top FROM calls GROUP BY 1`);
  await run(draft, 1n);
  const before = await rowsOf('SELECT hour, top FROM sink');
  await session.query('ALTER TABLE calls ALTER price TYPE numeric USING 1.5');
  await expect(run(draft, 2n)).rejects.toMatchObject({ code: 'query_failed' });
  expect(await rowsOf('SELECT hour, top FROM sink')).toEqual(before);
});
