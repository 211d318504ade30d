import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiHarness, type CallOptions, openApiHarness } from '../support/api-harness.ts';
import { OpenApiChecker } from '../support/openapi-checker.ts';

const QUERY = `SELECT date_trunc('day', at) AS day, city, count(*) AS trips FROM trips GROUP BY 1, 2`;
const CREATE = `CREATE FLOW daily SINK TO daily_trips EXPIRE AFTER '20000 days' COMMENT 'by day' WITH (max_windows = 7) AS ${QUERY}`;
const KEPT = { rebuild: false, rebuild_reason: 'the change does not touch the rows of the sink' };

describe('changing flows over PostgreSQL and DynamoDB', () => {
  const checker = new OpenApiChecker();
  let api: ApiHarness;
  beforeAll(async () => {
    api = await openApiHarness();
    await api.database.query(
      'CREATE TABLE trips (at timestamptz NOT NULL, city text, fare numeric(10,2)); CREATE INDEX ON trips (at)',
    );
    await api.database.query(`INSERT INTO trips VALUES ('2024-02-29 23:15Z', 'Ulm', 1.50)`);
  });
  afterAll(() => api.close());

  const call = (method: string, target: string, options?: CallOptions) => checker.call(api, method, target, options);
  const sql = (statement: string) => call('POST', '/sql', { body: { sql: statement } });
  const state = async () => (await call('GET', '/flows/daily/state')).body;
  const sinkRows = async () =>
    (await api.database.query('SELECT day, city, trips, update_at FROM daily_trips ORDER BY 1, 2')).rows;

  beforeEach(async () => {
    api.release();
    await api.quiet();
    await api.dropFlows();
    expect((await sql(CREATE)).status).toBe(201);
    await api.quiet();
    expect(await sinkRows()).toHaveLength(1);
  });

  it('tells of a new flow that it is built, and why', async () => {
    const create = CREATE.replaceAll('daily', 'other');
    expect((await sql(create)).body).toMatchObject({ rebuild: true, rebuild_reason: 'the flow is new' });
    expect((await sql(create.replace('FLOW', 'FLOW IF NOT EXISTS'))).body).toMatchObject({ rebuild: false });
    const replaced = await sql(create.replace('CREATE', 'CREATE OR REPLACE').replace('count(*)', 'count(city)'));
    expect(replaced.body).toMatchObject({ rebuild: true, rebuild_reason: 'the query computes something else' });
  });

  it('keeps the rows of a sink whose column holds more than it did, as long as the query gives the same', async () => {
    await api.database.query('ALTER TABLE daily_trips ALTER trips TYPE numeric');
    const before = await sinkRows();
    const replace = CREATE.replace('CREATE', 'CREATE OR REPLACE');
    expect((await sql(replace.replace('by day', 'new'))).body).toMatchObject({ outcome: 'replaced', ...KEPT });
    await api.quiet();
    expect(await sinkRows()).toEqual(before);
    const other = await sql(replace.replace('count(*)', 'count(*)::numeric'));
    expect(other.body).toMatchObject({ rebuild: true, rebuild_reason: 'the query computes something else' });
    await api.quiet();
    expect((await state()).last_error).toBeNull();
  });

  describe('ALTER FLOW', () => {
    it.each([
      ["SET (max_windows = 9, order = 'oldest')", { options: { max_windows: 9, order: 'oldest' } }],
      ['RESET (max_windows)', { options: { max_windows: 20 } }],
      ["SET COMMENT 'other'", { comment: 'other' }],
      ['SET COMMENT NULL', { comment: null }],
      ["SET EXPIRE AFTER '10000 days'", { expire_after: '10000 days' }],
      ["SET EVAL INTERVAL '5 minutes'", { eval_interval: '5 minutes' }],
    ])('%s keeps the rows', async (change, expected) => {
      const before = await sinkRows();
      api.hold();
      const { status, body } = await sql(`ALTER FLOW daily ${change}`);
      expect({ status, body }).toMatchObject({ status: 200, body: { outcome: 'altered', flow: expected, ...KEPT } });
      expect((await state()).dirty).toEqual({ ranges: [], more: false });
      api.release();
      await api.quiet();
      expect(await sinkRows()).toEqual(before);
      expect((await call('GET', '/flows/daily')).body).toMatchObject({ query: QUERY, ...expected });
    });

    it.each([
      ["SET (time_zone = 'Asia/Tokyo')", 'time_zone is another one', '2024-02-29T15:00:00.000Z'],
      ['RESET EXPIRE AFTER', 'EXPIRE AFTER reaches further back', '2024-02-29T00:00:00.000Z'],
    ])('%s computes everything anew', async (change, reason, day) => {
      const { body } = await sql(`ALTER FLOW daily ${change}`);
      expect(body).toMatchObject({ outcome: 'altered', rebuild: true, rebuild_reason: reason });
      await api.quiet();
      expect((await sinkRows()).map((row) => row.day.toISOString())).toEqual([day]);
    });

    it('does the same by PATCH', async () => {
      const { body } = await call('PATCH', '/flows/daily', {
        body: { options: { max_windows: null, order: 'oldest' }, comment: null },
      });
      expect(body).toMatchObject({ flow: { comment: null, options: { max_windows: 20, order: 'oldest' } }, ...KEPT });
      expect((await sql('SHOW CREATE FLOW daily')).body.rows[0][1]).toMatch(/WITH \(order = 'oldest'\)/);
    });

    it('changes a comment where the query cannot be analysed any more', async () => {
      await api.database.query('ALTER TABLE trips RENAME TO trips_old');
      try {
        const { status, body } = await sql("COMMENT ON FLOW daily IS 'it''s $$ \\'");
        expect({ status, comment: body.flow?.comment }).toEqual({ status: 200, comment: "it's $$ \\" });
        const refused = await sql('ALTER FLOW daily SET (max_windows = 9)');
        expect(refused).toMatchObject({ status: 422, body: { error: { code: 'invalid_query' } } });
        expect(refused.body.error.position).toBeUndefined();
      } finally {
        await api.database.query('ALTER TABLE trips_old RENAME TO trips');
      }
    });

    it('keeps a paused flow paused', async () => {
      await sql('PAUSE FLOW daily');
      await sql('ALTER FLOW daily SET (max_windows = 9)');
      expect((await state()).status).toBe('paused');
    });

    it('refuses what it cannot do, and changes nothing', async () => {
      const before = await api.stored();
      const refused: [string, number, RegExp][] = [
        ["SET (connection = 'other')", 422, /CREATE OR REPLACE FLOW/],
        ["SET (time_zone = 'Mars/Olympus')", 422, /Mars/],
        ['SET (key = (nothing))', 422, /nothing/],
      ];
      for (const [change, status, message] of refused) {
        const answer = await sql(`ALTER FLOW daily ${change}`);
        expect(answer, answer.text).toMatchObject({
          status,
          body: { error: { message: expect.stringMatching(message) } },
        });
      }
      expect((await call('PATCH', '/flows/daily', { body: {} })).status).toBe(400);
      expect((await call('PATCH', '/flows/daily', { body: { query: 'SELECT 1' } })).status).toBe(400);
      expect((await sql('ALTER FLOW nobody RESET COMMENT')).status).toBe(404);
      expect((await call('PATCH', '/flows/nobody', { body: { comment: null } })).status).toBe(404);
      expect((await sql('ALTER FLOW IF EXISTS nobody RESET COMMENT')).body).toEqual({
        outcome: 'absent',
        name: 'nobody',
      });
      expect(await api.stored()).toEqual(before);
    });
  });

  it('pauses, resumes and flushes by statements', async () => {
    expect((await sql('PAUSE FLOW daily')).body).toEqual({ name: 'daily', status: 'paused' });
    expect((await sql('FLUSH FLOW daily')).status).toBe(409);
    expect((await sql('RESUME FLOW daily')).body).toEqual({ name: 'daily', status: 'active' });
    await api.quiet();
    await api.database.query('DELETE FROM daily_trips');
    expect((await sql('FLUSH FLOW daily')).body).toEqual({ affected_rows: '1' });
    expect((await sql("ADMIN FLUSH_FLOW('daily')")).body).toEqual({ affected_rows: '0' });
    for (const verb of ['PAUSE', 'RESUME', 'FLUSH']) expect((await sql(`${verb} FLOW nobody`)).status).toBe(404);
  });

  describe('refresh', () => {
    const february = ['2024-02-29T10:00:00Z', '2024-02-29T11:00:00Z'];

    it('computes clean windows anew, and only those of the range', async () => {
      await api.database.query(`INSERT INTO trips VALUES ('2024-03-05 12:00Z', 'Bonn', 2)`);
      await sql('FLUSH FLOW daily');
      await api.database.query('UPDATE daily_trips SET trips = 99');
      const { status, body } = await call('POST', '/flows/daily/refresh', { body: { ranges: [february] } });
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          flows: [
            {
              name: 'daily',
              marked: 1,
              ranges: [['2024-02-29T00:00:00.000000Z', '2024-03-01T00:00:00.000000Z']],
              more: false,
            },
          ],
        },
      });
      await api.quiet();
      expect((await sinkRows()).map(({ trips }) => trips)).toEqual(['1', '99']);
      await sql("REFRESH FLOW daily FROM '2024-03-01T00:00:00Z' TO '2024-04-01T00:00:00Z'");
      await api.quiet();
      expect((await sinkRows()).map(({ trips }) => trips)).toEqual(['1', '1']);
      await api.database.query(`DELETE FROM trips WHERE at > '2024-03-01Z'`);
    });

    it('refuses what is expired, whole or in part, and marks nothing', async () => {
      await sql("ALTER FLOW daily SET EXPIRE AFTER '100 days'");
      await api.quiet();
      const before = await api.stored();
      const soon = '2099-01-01T00:00:00Z';
      for (const ranges of [[february], [[february[0], soon]], [[soon, '2099-01-02T00:00:00Z'], february]]) {
        const answer = await call('POST', '/flows/daily/refresh', { body: { ranges } });
        expect(answer).toMatchObject({
          status: 409,
          body: { error: { message: expect.stringMatching(/EXPIRE AFTER/) } },
        });
      }
      expect(await api.stored()).toEqual(before);
      await api.database.query('UPDATE daily_trips SET trips = 77');
      await sql("REFRESH FLOW daily FROM '2024-02-29T00:00:00Z' TO '2024-03-01T00:00:00Z' FORCE");
      await api.quiet();
      expect((await sinkRows()).map(({ trips }) => trips)).toEqual(['1']);
    });

    it('computes what is expired or not accepted where it is forced to', async () => {
      for (const bound of [
        "SET EXPIRE AFTER '100 days'",
        "SET EXPIRE AFTER '20000 days', SET (accept_past = '100 days')",
      ]) {
        await sql(`ALTER FLOW daily ${bound}`);
        await api.quiet();
        await api.database.query('UPDATE daily_trips SET trips = 99');
        const body = { ranges: [february] };
        const refused = await call('POST', '/flows/daily/refresh', { body });
        expect(refused).toMatchObject({
          status: 409,
          body: { error: { message: expect.stringMatching(/or force it/) } },
        });
        expect((await call('POST', '/flows/daily/refresh', { body: { ...body, force: true } })).status).toBe(200);
        await api.quiet();
        expect((await sinkRows()).map(({ trips }) => trips)).toEqual(['1']);
        await api.database.query('UPDATE daily_trips SET trips = 99');
        await sql(`REFRESH FLOW daily FROM '${february[0]}' TO '${february[1]}' FORCE`);
        await api.quiet();
        expect((await sinkRows()).map(({ trips }) => trips)).toEqual(['1']);
      }
    });

    it('refuses what is no range of a flow with windows', async () => {
      await sql(`CREATE FLOW whole SINK TO whole_trips EVAL INTERVAL '1 hour' AS SELECT city FROM trips`);
      const cases: [string, unknown, number][] = [
        ['/flows/whole/refresh', { ranges: [february] }, 400],
        ['/flows/nobody/refresh', { ranges: [february] }, 404],
        ['/flows/daily/refresh', { ranges: [] }, 400],
        ['/flows/daily/refresh', { ranges: [february.toReversed()] }, 400],
        ['/flows/daily/refresh', { ranges: [{ start: february[0], end: february[1] }] }, 400],
        ['/flows/daily/refresh', {}, 400],
      ];
      for (const [target, body, status] of cases) expect((await call('POST', target, { body })).status).toBe(status);
    });
  });

  it('answers 202 where a flush takes longer', async () => {
    api.hold();
    const answer = await api.call('POST', '/sql', { body: { sql: 'FLUSH FLOW daily' }, timeoutMs: 3_100 });
    expect(answer).toMatchObject({ status: 202, headers: { location: '/flows/daily/state' } });
    expect(checker.problemOf('/sql', 'POST', 202, answer.body)).toBeNull();
  });

  it('drops with the sink and without', async () => {
    expect((await sql('DROP FLOW daily KEEP SINK')).body).toEqual({ outcome: 'dropped', name: 'daily', sink: 'kept' });
    expect(await sinkRows()).toHaveLength(1);
    await sql(CREATE);
    expect((await sql('DROP FLOW daily WITH SINK')).body).toMatchObject({ outcome: 'dropped', sink: 'dropped' });
    expect(await api.relations()).not.toContainEqual(expect.stringContaining('daily_trips'));
  });

  describe('SHOW CREATE FLOW', () => {
    const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

    it.each([
      ['quotes', `a"b'c\\`, `S"q'`, `t"".""u`, `it's "quoted" \\ $$ -- /* ; */`],
      ['statements', '; DROP TABLE trips; --', 'public', '/* x', `'); DROP TABLE trips; --`],
      ['keywords', 'select', 'public', 'from', 'WITH (order = newest) AS SELECT 1'],
      ['characters beyond ASCII', 'имя 名 😀', 'ß ü', 'Ünïcode', '😀\u200b'],
      ['63 bytes', 'ä'.repeat(31), 'public', 'x'.repeat(63), 'c'.repeat(4096)],
      ['blanks and line breaks', ' \n\t', 'public', ' t ', '\r\n'],
    ])('gives a statement that creates the same flow again: %s', async (_, name, schema, table, comment) => {
      await api.database.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`);
      const target = `/flows/${encodeURIComponent(name)}`;
      const body = {
        sink: { schema, table },
        query: `SELECT date_trunc('day', at) AS "d""a'y", city AS "select", count(*) AS "n $$" FROM trips GROUP BY 1, 2 -- the end`,
        expire_after: '20000 days',
        comment,
        options: {
          key: [`d"a'y`, 'select'],
          lookback: '1 day 00:00:00.000001',
          schedule_start: '2020-01-01T00:00:00Z',
        },
      };
      const put = await call('PUT', target, { body });
      expect(put.status, put.text).toBe(201);
      const shown = await sql(`SHOW CREATE FLOW ${quoted(name)}`);
      expect(shown.body.rows[0][0]).toBe(name);
      await sql(`DROP FLOW ${quoted(name)} WITH SINK`);
      const again = await sql(shown.body.rows[0][1]);
      expect(again.status, again.text).toBe(201);
      const { generation: _before, ...before } = put.body.flow;
      const { generation: _after, ...after } = again.body.flow;
      expect(after).toEqual(before);
      expect((await sql(`SHOW CREATE FLOW ${quoted(name)}`)).body).toEqual(shown.body);
      await sql(`DROP FLOW ${quoted(name)} WITH SINK`);
      expect((await api.database.query('SELECT FROM trips')).rowCount).toBe(1);
    });
  });

  it('shows the flows that a filter names', async () => {
    for (const name of ['a%b', 'A_b', 'axb']) {
      await api.call('PUT', `/flows/${encodeURIComponent(name)}`, {
        body: { sink: { table: `s ${name}` }, query: QUERY },
      });
    }
    const names = async (filter: string) =>
      (await sql(`SHOW FLOWS ${filter}`)).body.rows.map(([name]: [string]) => name);
    expect(await names("LIKE 'a\\%%'")).toEqual(['a%b']);
    expect(await names("WHERE Flows NOT IN ('daily') AND (Flows = 'axb' OR Flows LIKE '_\\_b')")).toEqual([
      'A_b',
      'axb',
    ]);
    expect((await sql("SHOW FLOWS WHERE sink = 'x'")).status).toBe(400);
  });
});
