import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiHarness, type CallOptions, openApiHarness } from '../support/api-harness.ts';
import { OpenApiChecker } from '../support/openapi-checker.ts';

const QUERY = `SELECT date_trunc('hour', at) AS hour, city, count(*) AS trips, sum(fare) AS fares FROM trips GROUP BY 1, 2`;
const CREATE = `CREATE FLOW hourly SINK TO hourly_trips COMMENT 'by hour' AS ${QUERY}`;

describe('the API over PostgreSQL and DynamoDB', () => {
  const checker = new OpenApiChecker();
  let api: ApiHarness;
  beforeAll(async () => {
    api = await openApiHarness();
    await api.database.query(
      'CREATE TABLE trips (at timestamptz NOT NULL, city text, fare numeric(10,2)); CREATE INDEX ON trips (at)',
    );
  });
  afterAll(() => api.close());

  const call = (method: string, target: string, options?: CallOptions) => checker.call(api, method, target, options);
  const sql = (statement: string) => call('POST', '/sql', { body: { sql: statement } });
  const rowsOf = async (table: string) => (await api.database.query(`SELECT * FROM ${table} ORDER BY 1, 2`)).rows;

  beforeEach(async () => {
    await api.quiet();
    await api.dropFlows();
    await api.database.query('TRUNCATE trips');
    await api.database.query(
      `INSERT INTO trips VALUES ('2024-02-29 10:15Z', 'Ulm', 1.50), ('2024-02-29 10:45Z', 'Ulm', 2.25), ('2024-02-29 11:00Z', 'Bonn', 9)`,
    );
  });

  describe('POST /sql', () => {
    it('creates a flow, and answers with the flow and its warnings', async () => {
      const { status, body } = await sql(CREATE);
      expect(status).toBe(201);
      expect(body.outcome).toBe('created');
      expect(body.flow).toMatchObject({
        name: 'hourly',
        sink: { schema: 'public', table: 'hourly_trips' },
        query: QUERY,
        comment: 'by hour',
        expire_after: null,
        window: { column: 'hour', unit: '1 hour', zone: null },
        sources: [{ schema: 'public', table: 'trips', time_column: 'at' }],
        keys: ['hour', 'city'],
      });
      expect(body.warnings).toEqual(expect.any(Array));
      await api.quiet();
      expect(await rowsOf('hourly_trips')).toMatchObject([
        { city: 'Ulm', trips: '2', fares: '3.75' },
        { city: 'Bonn', trips: '1', fares: '9.00' },
      ]);
    });

    it('tells of each input whether it is filtered, once before and once after the flow is there', async () => {
      const query =
        "SELECT date_trunc('hour', t.at) AS hour, count(*) AS n FROM trips t WHERE t.city IN (SELECT city FROM trips) GROUP BY 1";
      const statement = `CREATE FLOW hourly SINK TO hourly_trips AS ${query}`;
      const trips = { schema: 'public', table: 'trips' };
      const inputs = [
        { ...trips, alias: 't', filtered: true, time_column: 'at' },
        { ...trips, alias: null, filtered: false, time_column: null },
      ];
      const dry = await api.call('POST', '/sql', { body: { sql: statement, dryRun: true } });
      expect(dry.body.flows[0].inputs).toEqual(inputs);
      const { body } = await sql(statement);
      expect(body.inputs).toEqual(inputs);
      expect(body.warnings).toEqual([expect.stringMatching(/^public\.trips is read whole at every plan/)]);
      const again = await sql(statement.replace('FLOW', 'FLOW IF NOT EXISTS'));
      expect(again.body.inputs).toEqual([{ ...trips, alias: null, filtered: true, time_column: 'at' }]);
    });

    it('knows IF NOT EXISTS, OR REPLACE, and that a flow exists', async () => {
      expect((await sql(CREATE)).status).toBe(201);
      expect(await sql(CREATE)).toMatchObject({ status: 409, body: { error: { code: 'flow_exists' } } });
      const again = await sql(CREATE.replace('CREATE FLOW', 'CREATE FLOW IF NOT EXISTS').replace('by hour', 'other'));
      expect(again).toMatchObject({ status: 200, body: { outcome: 'exists', flow: { comment: 'by hour' } } });
      const replaced = await sql(CREATE.replace('CREATE FLOW', 'CREATE OR REPLACE FLOW').replace('by hour', 'other'));
      expect(replaced).toMatchObject({ status: 200, body: { outcome: 'replaced', flow: { comment: 'other' } } });
    });

    it('does not look at what IF NOT EXISTS says of a flow that exists', async () => {
      await sql(CREATE);
      const answer = await sql('CREATE FLOW IF NOT EXISTS hourly SINK TO x AS SELECT nonsense FROM nowhere');
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'exists' } });
    });

    it('shows flows', async () => {
      expect((await sql('SHOW FLOWS')).body).toEqual({ columns: ['flow', 'sink', 'connection', 'comment'], rows: [] });
      await sql(CREATE);
      expect((await sql('show flows;')).body.rows).toEqual([['hourly', 'public.hourly_trips', 'default', 'by hour']]);
    });

    it('shows a statement that creates the same flow', async () => {
      const created = await sql(
        CREATE.replace('COMMENT', "EXPIRE AFTER '2 days' COMMENT").replace(
          'AS SELECT',
          'WITH (max_windows = 7) AS SELECT',
        ),
      );
      const { body } = await sql('SHOW CREATE FLOW hourly');
      expect(body.columns).toEqual(['flow', 'create_flow']);
      expect(body.rows[0][0]).toBe('hourly');
      await sql('DROP FLOW hourly');
      const recreated = await sql(body.rows[0][1]);
      const { generation: _, ...flow } = created.body.flow;
      expect(recreated.body.flow).toMatchObject(flow);
      expect(recreated.body.flow.options.max_windows).toBe(7);
    });

    it('drops a flow and keeps its sink', async () => {
      await sql(CREATE);
      await api.quiet();
      expect((await sql('DROP FLOW hourly')).body).toEqual({ outcome: 'dropped', name: 'hourly', sink: 'kept' });
      expect(await rowsOf('hourly_trips')).toHaveLength(2);
      expect((await sql('DROP FLOW hourly')).status).toBe(404);
      expect((await sql('DROP FLOW IF EXISTS hourly')).body).toEqual({ outcome: 'absent', name: 'hourly', sink: null });
      await api.database.query('DROP TABLE hourly_trips');
    });

    it('gives the position of an error within the statement that was sent', async () => {
      const statement = `CREATE FLOW hourly SINK TO hourly_trips AS SELECT date_trunc('hour', at) AS hour, count(*) AS n, max(colour) FROM trips GROUP BY 1`;
      const { status, body } = await sql(statement);
      expect(status).toBe(422);
      expect(statement.slice(body.error.position - 1)).toMatch(/^colour/);
    });
  });

  describe('PUT, GET, DELETE /flows/{name}', () => {
    it('creates and replaces from JSON', async () => {
      const body = {
        sink: 'public.hourly_trips',
        query: QUERY,
        expire_after: '30 days',
        options: { order: 'oldest', merge_distance: 0 },
      };
      const created = await call('PUT', '/flows/hourly', { body });
      expect(created.status).toBe(201);
      expect(created.body.flow).toMatchObject({
        expire_after: '30 days',
        options: { order: 'oldest', merge_distance: 0, max_ranges: 20 },
      });
      const replaced = await call('PUT', '/flows/hourly', { body: { ...body, sink: { table: 'hourly_trips' } } });
      expect(replaced).toMatchObject({ status: 200, body: { outcome: 'replaced' } });
    });

    it('creates what it shows', async () => {
      await sql(CREATE);
      const { body: shown } = await call('GET', '/flows/hourly');
      const { sink, query, expire_after, eval_interval, comment, options } = shown;
      const again = await call('PUT', '/flows/hourly', {
        body: { sink, query, expire_after, eval_interval, comment, options },
      });
      const { generation: _, ...rest } = shown;
      expect(again.body.flow).toMatchObject(rest);
    });

    it('lists flows by pages', async () => {
      for (const n of [3, 1, 2]) {
        await call('PUT', `/flows/f${n}`, { body: { sink: `s${n}`, query: QUERY } });
      }
      const first = await call('GET', '/flows?limit=2');
      expect(first.body.flows.map(({ name }: { name: string }) => name)).toEqual(['f1', 'f2']);
      const second = await call('GET', `/flows?limit=2&cursor=${encodeURIComponent(first.body.cursor)}`);
      expect(second.body.flows).toEqual([
        { name: 'f3', sink: { schema: 'public', table: 's3' }, comment: null, connection: 'default' },
      ]);
      expect(second.body.cursor).toBeUndefined();
    });

    it('drops the sink where it is asked to', async () => {
      await sql(CREATE);
      await api.quiet();
      expect((await call('DELETE', '/flows/hourly?sink=drop')).body).toEqual({
        outcome: 'dropped',
        name: 'hourly',
        sink: 'dropped',
      });
      expect(await api.relations()).not.toContainEqual(expect.stringContaining('hourly_trips'));
    });

    it.each([
      'a b',
      'a/b',
      '100%',
      'a%20b',
      '"quoted"',
      "o'neil; --",
      'имя',
      '🌊',
      'Sluice',
      '..',
      'x'.repeat(63),
      '\u0001',
      'a+b&c=d#e',
    ])('takes the name %j, percent-encoded once', async (name) => {
      const target = `/flows/${encodeURIComponent(name)}`;
      const created = await api.call('PUT', target, {
        body: { sink: { table: `s ${name}`.slice(0, 20) }, query: QUERY },
      });
      expect(created.body.flow?.name, created.text).toBe(name);
      expect((await api.call('GET', target)).body.name).toBe(name);
      expect((await api.call('GET', `${target}/state`)).body.name).toBe(name);
      expect((await api.call('POST', `${target}/flush`)).status).toBe(200);
      expect((await sql(`SHOW CREATE FLOW "${name.replaceAll('"', '""')}"`)).body.rows[0][0]).toBe(name);
      expect((await api.call('DELETE', `${target}?sink=drop`)).body.name).toBe(name);
    });
  });

  describe('marks', () => {
    beforeEach(async () => {
      await sql(CREATE);
      await api.quiet();
    });

    const late = async () => {
      await api.database.query(`INSERT INTO trips VALUES ('2024-02-29 10:59:59.999999Z', 'Ulm', 5)`);
    };

    it('of a flow make its windows dirty, and the next tick brings them up to date', async () => {
      await late();
      const marked = await call('POST', '/flows/hourly/dirty-windows', {
        body: { timestamps: ['2024-02-29T10:59:59.999999Z'] },
      });
      const range = ['2024-02-29T10:00:00.000000Z', '2024-02-29T11:00:00.000000Z'];
      expect(marked).toMatchObject({
        status: 200,
        body: { flows: [{ name: 'hourly', marked: 1, ranges: [range], more: false }] },
      });
      expect((await call('GET', '/flows/hourly/state')).body.dirty).toEqual({ ranges: [range], more: false });
      await api.engine.schedule.requestTick('hourly', 'continue');
      await api.quiet();
      expect((await call('GET', '/flows/hourly/state')).body.dirty).toEqual({ ranges: [], more: false });
      expect(await rowsOf('hourly_trips')).toMatchObject([
        { city: 'Ulm', trips: '3', fares: '8.75' },
        { city: 'Bonn' },
      ]);
    });

    it.each(['trips', 'public.trips', 'TRIPS', '"trips"', '"public"."trips"', 'trips?connection=default'])(
      'of the table %s reach every flow that reads it',
      async (table) => {
        await call('PUT', '/flows/daily', { body: { sink: 'daily', query: QUERY.replace("'hour'", "'day'") } });
        await api.quiet();
        const body = { ranges: [['2024-02-29T10:30:00Z', '2024-02-29T12:30:00+01:00']] };
        const [name = '', query] = table.split('?');
        const { status, body: marked } = await call(
          'POST',
          `/tables/${encodeURIComponent(name)}/dirty-windows${query === undefined ? '' : `?${query}`}`,
          { body },
        );
        expect(status).toBe(200);
        expect(marked.flows).toEqual([
          {
            name: 'daily',
            marked: 1,
            ranges: [['2024-02-29T00:00:00.000000Z', '2024-03-01T00:00:00.000000Z']],
            more: false,
          },
          {
            name: 'hourly',
            marked: 1,
            ranges: [['2024-02-29T10:00:00.000000Z', '2024-02-29T12:00:00.000000Z']],
            more: false,
          },
        ]);
      },
    );

    it('of a table that no flow reads are refused, not lost', async () => {
      const body = { timestamps: ['2024-02-29T10:00:00Z'] };
      expect(await call('POST', '/tables/nothing/dirty-windows', { body })).toMatchObject({
        status: 404,
        body: { error: { code: 'table_not_found' } },
      });
      expect((await call('POST', '/tables/trips/dirty-windows?connection=other', { body })).status).toBe(404);
    });

    it('may come as an event', async () => {
      await late();
      await api.ingest(
        { id: 'e', detail: { table: 'trips', timestamps: ['2024-02-29T10:59:59.999999Z'] } },
        {} as never,
      );
      await api.engine.schedule.requestTick('hourly', 'continue');
      await api.quiet();
      expect(await rowsOf('hourly_trips')).toMatchObject([{ city: 'Ulm', trips: '3' }, { city: 'Bonn' }]);
    });

    it('by thousands are joined where they touch', async () => {
      const timestamps = Array.from({ length: 5000 }, (_, n) =>
        new Date(Date.UTC(2024, 0, 1) + n * 60_000).toISOString(),
      );
      const { body } = await call('POST', '/flows/hourly/dirty-windows', { body: { timestamps } });
      expect(body.flows).toMatchObject([
        { marked: 1, ranges: [['2024-01-01T00:00:00.000000Z', '2024-01-04T12:00:00.000000Z']] },
      ]);
    });
  });

  describe('flush, pause, resume, state, runs', () => {
    beforeEach(async () => {
      await sql(CREATE);
      await api.quiet();
    });

    it('flush brings everything up to date, unmarked changes too, and tells the rows', async () => {
      await api.database.query(`DELETE FROM trips WHERE city = 'Bonn'`);
      await api.database.query('UPDATE trips SET fare = 0');
      expect(await call('POST', '/flows/hourly/flush')).toMatchObject({ status: 200, body: { affected_rows: '2' } });
      expect(await rowsOf('hourly_trips')).toMatchObject([{ city: 'Ulm', fares: '0.00' }]);
      expect((await call('POST', '/flows/hourly/flush', { body: {} })).body).toEqual({ affected_rows: '0' });
    });

    it('flush that does not get done in time says where to look', async () => {
      api.hold();
      const answer = await call('POST', '/flows/hourly/flush', { timeoutMs: 3_200 });
      api.release();
      expect(answer).toMatchObject({
        status: 202,
        headers: { location: '/flows/hourly/state' },
        body: { state: '/flows/hourly/state' },
      });
      await api.quiet();
    });

    it('pause keeps marks and stops ticks; resume goes on', async () => {
      expect((await call('POST', '/flows/hourly/pause')).body).toEqual({ name: 'hourly', status: 'paused' });
      expect((await call('POST', '/flows/hourly/pause')).status).toBe(200);
      await api.database.query(`DELETE FROM trips WHERE city = 'Bonn'`);
      await call('POST', '/flows/hourly/dirty-windows', { body: { timestamps: ['2024-02-29T11:00:00Z'] } });
      expect(await call('POST', '/flows/hourly/flush')).toMatchObject({
        status: 409,
        body: { error: { message: /paused.*resume/ } },
      });
      const paused = await call('GET', '/flows/hourly/state');
      expect(paused.body).toMatchObject({ status: 'paused', next_run: { at: null, reason: 'the flow is paused' } });
      expect(paused.body.dirty.ranges).toHaveLength(1);
      expect((await call('POST', '/flows/hourly/resume')).body).toEqual({ name: 'hourly', status: 'active' });
      await api.quiet();
      expect(await rowsOf('hourly_trips')).toMatchObject([{ city: 'Ulm' }]);
    });

    it('state tells everything of a quiet flow', async () => {
      const { body } = await call('GET', '/flows/hourly/state');
      expect(body).toMatchObject({
        name: 'hourly',
        status: 'active',
        mode: 'full_snapshot',
        checkpoints: {},
        lease: null,
        in_flight: null,
        dirty: { ranges: [], more: false },
        back_off: { window_limit: null, failures: 0 },
        blocked: null,
        last_error: null,
        last_run_at: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
        next_run: { at: null, reason: 'no dirty windows' },
        totals: { plans_committed: expect.stringMatching(/^[1-9]\d*$/), rows_written: '2', grid_times_skipped: '0' },
      });
    });

    it('state shows the failure of a plan, and the back-off after it', async () => {
      await api.database.query('ALTER TABLE trips RENAME TO gone');
      await call('POST', '/flows/hourly/dirty-windows', { body: { timestamps: ['2024-02-29T11:00:00Z'] } });
      await api.engine.schedule.requestTick('hourly', 'continue');
      await api.quiet();
      await api.database.query('ALTER TABLE gone RENAME TO trips');
      const { body } = await call('GET', '/flows/hourly/state');
      expect(body.last_error).toMatchObject({ code: expect.any(String), message: expect.stringMatching(/trips/) });
      expect(body.back_off).toEqual({ window_limit: 1, failures: 1 });
      expect(body.dirty.ranges).toHaveLength(1);
      const { body: history } = await call('GET', '/flows/hourly/runs?limit=1');
      expect(history.runs).toMatchObject([{ outcome: 'failed' }]);
    });

    it('runs lists history, newest first, by pages', async () => {
      for (let n = 0; n < 3; n += 1) await call('POST', '/flows/hourly/flush');
      const first = await call('GET', '/flows/hourly/runs?limit=2');
      expect(first.body.runs).toHaveLength(2);
      expect(first.body.runs[0]).toMatchObject({
        coverage: 'scoped_base_repair',
        outcome: 'committed',
        rows: { inserted: '0', updated: '0', deleted: '0' },
      });
      const all = [...first.body.runs];
      for (let cursor = first.body.cursor; cursor !== undefined; ) {
        const page = await call('GET', `/flows/hourly/runs?limit=2&cursor=${cursor}`);
        all.push(...page.body.runs);
        cursor = page.body.cursor;
      }
      expect(all.length).toBeGreaterThanOrEqual(4);
      expect(all.map(({ at }) => at)).toEqual(
        all
          .map(({ at }) => at)
          .sort()
          .reverse(),
      );
    });
  });

  it('answers 404 for a flow that is not there, by every call', async () => {
    const mark = { body: { timestamps: ['2024-01-01T00:00:00Z'] } };
    for (const [method, target, options] of [
      ['GET', '/flows/nobody'],
      ['DELETE', '/flows/nobody'],
      ['POST', '/flows/nobody/flush'],
      ['POST', '/flows/nobody/pause'],
      ['POST', '/flows/nobody/resume'],
      ['POST', '/flows/nobody/dirty-windows', mark],
      ['GET', '/flows/nobody/state'],
      ['GET', '/flows/nobody/runs'],
    ] as const) {
      const answer = await call(method, target, options);
      expect(answer, `${method} ${target}`).toMatchObject({ status: 404, body: { error: { code: 'flow_not_found' } } });
    }
    expect(await sql('SHOW CREATE FLOW nobody')).toMatchObject({ status: 404 });
  });

  it('serves its description, and HEAD and OPTIONS', async () => {
    const { status, body, headers } = await api.call('GET', '/openapi.json');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(body).toEqual(checker.document);
    expect(await api.call('HEAD', '/openapi.json')).toMatchObject({ status: 200, text: '' });
    expect(await api.call('HEAD', '/flows/nobody')).toMatchObject({ status: 404, text: '' });
    expect(await api.call('OPTIONS', '/flows/nobody')).toMatchObject({
      status: 204,
      headers: { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT' },
    });
    expect((await api.call('OPTIONS', '/nowhere')).status).toBe(404);
  });
});
