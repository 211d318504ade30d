import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiHarness, type CallOptions, openApiHarness } from '../support/api-harness.ts';

const QUERY = `SELECT date_trunc('hour', at) AS hour, city, count(*) AS trips FROM trips GROUP BY 1, 2`;
const t = '2024-02-29T10:00:00Z';

type Case = readonly [what: string, method: string, target: string, options: CallOptions, status: number, says: RegExp];

function sql(what: string, statement: string, status: number, says: RegExp): Case {
  return [what, 'POST', '/sql', { body: { sql: statement } }, status, says];
}

function create(what: string, query: string, status: number, says: RegExp): Case {
  return sql(what, `CREATE FLOW bad SINK TO bad_sink AS ${query}`, status, says);
}

const hourly = (from: string) => `SELECT date_trunc('hour', at) AS hour, count(*) AS n FROM ${from} GROUP BY 1`;

const STATEMENTS: readonly Case[] = [
  sql('no statement', '', 400, /CREATE FLOW/),
  sql('a statement of something else', 'SELECT 1', 400, /CREATE FLOW/),
  sql('an unfinished statement', 'CREATE FLOW', 400, /name/i),
  sql('two statements', 'SHOW FLOWS; SHOW FLOWS', 400, /SHOW FLOWS/),
  sql('a misspelt option', `CREATE FLOW bad SINK TO s WITH (max_window = 3) AS ${QUERY}`, 422, /max_windows/),
  sql(
    'an option of the wrong type',
    `CREATE FLOW bad SINK TO s WITH (max_windows = 'three') AS ${QUERY}`,
    422,
    /whole number/,
  ),
  sql('an unknown connection', `CREATE FLOW bad SINK TO s WITH (connection = 'mars') AS ${QUERY}`, 422, /mars/),
  sql('an unknown zone', `CREATE FLOW bad SINK TO s WITH (time_zone = 'Mars/Olympus') AS ${QUERY}`, 422, /Mars/),
  sql('a month to expire after', `CREATE FLOW bad SINK TO s EXPIRE AFTER '1 month' AS ${QUERY}`, 400, /month/i),
  sql('an unterminated string', `CREATE FLOW bad SINK TO s COMMENT 'x AS ${QUERY}`, 400, /./),
  sql('a name of 64 bytes', `CREATE FLOW ${'x'.repeat(64)} SINK TO s AS ${QUERY}`, 400, /63/),
  sql('NUL', `CREATE FLOW bad SINK TO s AS ${QUERY.replace('city', "'a\0b'")}`, 400, /NUL/),
  sql('half a surrogate pair', `CREATE FLOW "\ud800" SINK TO s AS ${QUERY}`, 400, /surrogate/),
  sql('a system table as sink', `CREATE FLOW bad SINK TO pg_catalog.pg_class AS ${QUERY}`, 400, /pg_catalog/),
  sql('the source as sink', `CREATE FLOW bad SINK TO trips AS ${QUERY}`, 422, /./),
  sql('a sink that does not fit', `CREATE FLOW bad SINK TO misfit AS ${QUERY}`, 422, /hour/),
  sql('the sink of another flow', `CREATE FLOW bad SINK TO good_sink AS ${QUERY}`, 409, /good/),
  sql('a sink in a schema that is not there', `CREATE FLOW bad SINK TO nowhere.s AS ${QUERY}`, 422, /nowhere/),
  sql('dropping what is not there', 'DROP FLOW nobody', 404, /nobody/),
];

const QUERIES: readonly Case[] = [
  create('nothing', '', 422, /SELECT|empty/i),
  create('a syntax error', 'SELECT FROM WHERE', 422, /syntax/i),
  create('an unknown table', hourly('nowhere'), 422, /nowhere/),
  create('an unknown column', hourly('trips').replace('at)', 'att)'), 422, /att/),
  create('an unknown function', hourly('trips').replace('count(*)', 'kount(*)'), 422, /kount/),
  create('a non-SELECT', 'DELETE FROM trips', 422, /SELECT/),
  create('a SELECT that writes', `WITH gone AS (DELETE FROM trips RETURNING *) ${hourly('gone')}`, 422, /./),
  create('SELECT INTO', hourly('trips').replace('FROM', 'INTO made FROM'), 422, /./),
  create('two queries', `${QUERY}; DROP TABLE trips`, 422, /./),
  create('a parameter', `${QUERY} HAVING count(*) > $1`, 422, /\$1|parameter/),
  create('no window expression', 'SELECT city, count(*) FROM trips GROUP BY 1', 422, /date_trunc|EVAL INTERVAL/),
  create(
    'a window of zero length',
    QUERY.replace("date_trunc('hour', at)", "date_bin('0 hours', at, '2000-01-01')"),
    422,
    /./,
  ),
  create(
    'a window of negative length',
    QUERY.replace("date_trunc('hour', at)", "date_bin('-1 hour', at, '2000-01-01')"),
    422,
    /./,
  ),
  create(
    'a window of months by date_bin',
    QUERY.replace("date_trunc('hour', at)", "date_bin('1 month', at, '2000-01-01')"),
    422,
    /./,
  ),
  create(
    '20,000 parentheses',
    `SELECT date_trunc('hour', at) AS h, ${'('.repeat(20_000)}1${')'.repeat(20_000)} AS n FROM trips GROUP BY 1`,
    422,
    /./,
  ),
  create('20,000 parentheses that stay open', `SELECT ${'('.repeat(20_000)}`, 422, /./),
  create('a query over 64 KB', `${QUERY} -- ${'x'.repeat(65 * 1024)}`, 422, /65536|64/),
  create('a hostile table name', hourly('"trips""; DROP TABLE trips; --"'), 422, /./),
  create('a volatile function', hourly('trips').replace('count(*)', 'count(*) + random()'), 422, /random/),
  create('LIMIT', `${QUERY} LIMIT 5`, 422, /LIMIT/),
];

const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const BODIES: readonly Case[] = [
  ['no body', 'POST', '/sql', {}, 400, /body\.sql/],
  ['a body that is no JSON', 'POST', '/sql', { raw: 'SHOW FLOWS' }, 400, /not JSON/],
  ['an unfinished body', 'POST', '/sql', { raw: '{"sql": "SHOW' }, 400, /not JSON/],
  ['an array', 'POST', '/sql', { body: [] }, 400, /expected object/],
  ['a number for a text', 'POST', '/sql', { body: { sql: 7 } }, 400, /body\.sql: expected string, received number/],
  ['an unknown field', 'POST', '/sql', { body: { sql: 'SHOW FLOWS', dry_run: true } }, 400, /dry_run/],
  [
    'a form',
    'POST',
    '/sql',
    { raw: 'sql=SHOW+FLOWS', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    /application\/json/,
  ],
  [
    'JSON as plain text',
    'POST',
    '/sql',
    { raw: '{"sql":"SHOW FLOWS"}', headers: { 'content-type': 'text/plain' } },
    415,
    /application\/json/,
  ],
  ['a body over its limit', 'POST', '/sql', { raw: JSON.stringify({ sql: 'x'.repeat(300_000) }) }, 413, /262144/],
  ['a statement over its limit', 'POST', '/sql', { body: { sql: `SHOW FLOWS ${' '.repeat(100_000)}` } }, 400, /98304/],
  ['an array in an array in an array …', 'POST', '/sql', { raw: deep }, 400, /expected object/],
  ['such an array within a field', 'POST', '/sql', { raw: `{"sql":${deep}}` }, 400, /expected string/],
  ['a flow without a sink', 'PUT', '/flows/bad', { body: { query: QUERY } }, 400, /body\.sink/],
  ['a flow without a query', 'PUT', '/flows/bad', { body: { sink: 's' } }, 400, /body\.query/],
  [
    'a misspelt field',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, expire_aftr: '1 day' } },
    400,
    /did you mean "expire_after"/,
  ],
  [
    'a field within the sink',
    'PUT',
    '/flows/bad',
    { body: { sink: { table: 's', database: 'd' }, query: QUERY } },
    400,
    /body\.sink.*database/,
  ],
  ['a name that is not the path’s', 'PUT', '/flows/bad', { body: { name: 'x', sink: 's', query: QUERY } }, 400, /name/],
  [
    'an interval as a number',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, expire_after: 3600 } },
    400,
    /body\.expire_after/,
  ],
  [
    'an unknown option',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, options: { maxWindows: 5 } } },
    422,
    /max_windows/,
  ],
  [
    'an option of the wrong type',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, options: { max_windows: '5' } } },
    422,
    /whole number/,
  ],
  [
    'an option that is an object',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, options: { order: {} } } },
    400,
    /body\.options\.order/,
  ],
  [
    'seconds to run every so often',
    'PUT',
    '/flows/bad',
    { body: { sink: 's', query: QUERY, eval_interval: '30 seconds' } },
    400,
    /minute/,
  ],
  ['a name of 64 bytes', 'PUT', `/flows/${'%C3%A4'.repeat(32)}`, { body: { sink: 's', query: QUERY } }, 400, /63/],
  ['NUL in a name', 'PUT', '/flows/a%00b', { body: { sink: 's', query: QUERY } }, 400, /NUL/],
  ['a body where none belongs', 'POST', '/flows/good/pause', { body: { now: true } }, 400, /now/],
  ['nothing to mark', 'POST', '/flows/good/dirty-windows', { body: {} }, 400, /nothing to mark/],
  [
    'a time without an offset',
    'POST',
    '/flows/good/dirty-windows',
    { body: { timestamps: ['2024-02-29T10:00:00'] } },
    400,
    /timestamps\[0\].*offset/,
  ],
  [
    'a time that is not there',
    'POST',
    '/flows/good/dirty-windows',
    { body: { timestamps: [t, '2023-02-29T10:00:00Z'] } },
    400,
    /timestamps\[1\]/,
  ],
  [
    'a time past the end of time',
    'POST',
    '/flows/good/dirty-windows',
    { body: { timestamps: ['+294277-01-02T00:00:00Z'] } },
    400,
    /timestamps\[0\]/,
  ],
  [
    'milliseconds',
    'POST',
    '/flows/good/dirty-windows',
    { body: { timestamps: [1_709_200_800_000] } },
    400,
    /expected string/,
  ],
  ['a range of zero length', 'POST', '/flows/good/dirty-windows', { body: { ranges: [[t, t]] } }, 400, /zero length/],
  [
    'a range of negative length',
    'POST',
    '/tables/trips/dirty-windows',
    { body: { ranges: [[t, '2024-02-29T09:00:00Z']] } },
    400,
    /negative length/,
  ],
  [
    'one good time and one bad',
    'POST',
    '/tables/trips/dirty-windows',
    { body: { timestamps: [t, 'x'] } },
    400,
    /timestamps\[1\]/,
  ],
  [
    '5,001 times',
    'POST',
    '/flows/good/dirty-windows',
    { body: { timestamps: Array.from({ length: 5_001 }, () => '2024-02-29T10:00Z') } },
    400,
    /split/,
  ],
  [
    'a table that no flow reads',
    'POST',
    '/tables/nothing/dirty-windows',
    { body: { timestamps: [t] } },
    404,
    /nothing/,
  ],
  [
    'a table of three parts',
    'POST',
    '/tables/a.b.c/dirty-windows',
    { body: { timestamps: [t] } },
    400,
    /schema\.table/,
  ],
  [
    'a hostile table',
    'POST',
    `/tables/${encodeURIComponent('trips"; DROP TABLE trips; --')}/dirty-windows`,
    { body: { timestamps: [t] } },
    400,
    /table name/,
  ],
  ['a page of none', 'GET', '/flows?limit=0', {}, 400, /limit/],
  ['a page of a million', 'GET', '/flows?limit=1000000', {}, 400, /1 to 100/],
  ['a cursor that was never given', 'GET', '/flows?cursor=abc', {}, 400, /cursor/],
  ['a cursor of another list', 'GET', '/flows/good/runs?cursor=Zmxvd3M6YQ', {}, 400, /cursor/],
  ['an unknown query parameter', 'GET', '/flows?page=2', {}, 400, /page/],
  ['a query parameter twice', 'GET', '/flows?limit=1&limit=2', {}, 400, /twice/],
  ['a sink that is neither kept nor dropped', 'DELETE', '/flows/good?sink=maybe', {}, 400, /query\.sink/],
  ['an unknown path', 'GET', '/flow', {}, 404, /\/flows\/\{name\}/],
  ['a wrong method', 'POST', '/flows/good', {}, 405, /GET/],
];

describe('bad input', () => {
  let api: ApiHarness;
  const seen = async () => ({ stored: await api.stored(), relations: await api.relations() });
  beforeAll(async () => {
    api = await openApiHarness();
    await api.database.query('CREATE TABLE trips (at timestamptz NOT NULL, city text)');
    await api.database.query(`INSERT INTO trips VALUES ('2024-02-29 10:15Z', 'Ulm')`);
    await api.database.query('CREATE TABLE misfit (hour text, city integer)');
    expect((await api.call('PUT', '/flows/good', { body: { sink: 'good_sink', query: QUERY } })).status).toBe(201);
    await api.quiet();
  });
  afterAll(() => api.close());

  it('would be seen if it stored anything', async () => {
    const before = await seen();
    const body = { timestamps: [t] };
    expect((await api.call('POST', '/flows/good/dirty-windows', { body })).status).toBe(200);
    expect(await seen()).not.toEqual(before);
    await api.engine.schedule.requestTick('good', 'continue');
    await api.quiet();
  });

  it.each([...STATEMENTS, ...QUERIES, ...BODIES])('%s: %s %s', async (_what, method, target, options, status, says) => {
    const before = await seen();
    const answer = await api.call(method, target, options);
    expect([answer.status, answer.body.error.message]).toEqual([status, expect.stringMatching(says)]);
    expect(answer.text.length).toBeLessThan(10_000);
    expect(answer.headers['content-type']).toBe('application/json');
    await api.quiet();
    expect(await seen()).toEqual(before);
  });

  it('keeps a hostile name apart from SQL, and takes it', async () => {
    const name = `x"; DROP TABLE trips; --`;
    const before = await seen();
    const sink = `s"); DROP TABLE trips; --`;
    const created = await api.call('PUT', `/flows/${encodeURIComponent(name)}`, {
      body: { sink: { table: sink }, query: QUERY },
    });
    expect(created.status, created.text).toBe(201);
    await api.quiet();
    const { rows } = await api.database.query(`SELECT * FROM "${sink.replaceAll('"', '""')}"`);
    expect(rows).toMatchObject([{ city: 'Ulm', trips: '1' }]);
    expect((await api.call('DELETE', `/flows/${encodeURIComponent(name)}?sink=drop`)).status).toBe(200);
    expect(await api.relations()).toEqual(before.relations);
  });
});
