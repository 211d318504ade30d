import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ApiHarness, type CallOptions, openApiHarness } from '../support/api-harness.ts';
import { OpenApiChecker } from '../support/openapi-checker.ts';

const QUERY = `SELECT date_trunc('day', at) AS day, city, count(*) AS trips FROM trips GROUP BY 1, 2`;
const CREATE = `CREATE FLOW daily SINK TO daily_trips AS ${QUERY}`;

type Calling = readonly [what: string, method: string, target: string, options: CallOptions, touched: object];

function sql(statement: string, touched: object): Calling {
  return [statement.slice(0, 48), 'POST', '/sql', { body: { sql: statement } }, touched];
}

const ALL = { ranges: [['2024-02-28T00:00:00.000000Z', '2024-03-02T00:00:00.000000Z']], more: false, count: '3' };
// On the side of the sink a survey reaches one window further, since a label may lie outside of its own.
const ALL_AND_NEAR = {
  ranges: [['2024-02-27T00:00:00.000000Z', '2024-03-03T00:00:00.000000Z']],
  more: false,
  count: '5',
};
const NONE = { ranges: [], more: false, count: '0' };
const DROPPED = { outcome: 'dropped', sink: { becomes: 'dropped' } };
const OTHER = CREATE.replaceAll('daily', 'other');

const CALLS: readonly Calling[] = [
  sql(OTHER, { outcome: 'created', rebuild: true, windows: ALL, sink: { becomes: 'created' } }),
  sql(OTHER.replace('other_trips', 'filled'), { outcome: 'created', windows: ALL, sink: { becomes: 'kept' } }),
  sql(CREATE.replace('FLOW', 'FLOW IF NOT EXISTS'), { outcome: 'exists', rebuild: false, windows: NONE }),
  sql(CREATE.replace('CREATE', 'CREATE OR REPLACE').replace('count(*)', 'count(city)'), {
    outcome: 'replaced',
    rebuild: true,
    rebuild_reason: 'the query computes something else',
    windows: ALL_AND_NEAR,
  }),
  [
    'PUT',
    'PUT',
    '/flows/daily',
    { body: { sink: 'daily_trips', query: QUERY, comment: 'new' } },
    { outcome: 'replaced', rebuild: false, windows: NONE, sink: { becomes: 'kept' } },
  ],
  sql('ALTER FLOW daily SET (max_windows = 3)', { outcome: 'altered', rebuild: false, windows: NONE }),
  sql("ALTER FLOW daily SET (time_zone = 'Asia/Tokyo')", { outcome: 'altered', rebuild: true }),
  ['PATCH', 'PATCH', '/flows/daily', { body: { comment: 'new' } }, { outcome: 'altered', rebuild: false }],
  sql("COMMENT ON FLOW daily IS 'new'", { outcome: 'altered', rebuild: false }),
  sql('FLUSH FLOW daily', { outcome: 'flushed' }),
  ['flush', 'POST', '/flows/daily/flush', {}, { outcome: 'flushed' }],
  [
    'marks of a flow',
    'POST',
    '/flows/daily/dirty-windows',
    { body: { timestamps: ['2024-02-29T12:00:00Z', '2024-02-29T13:00:00Z', '2024-06-01T00:00:00Z'] } },
    {
      outcome: 'marked',
      windows: {
        ranges: [
          ['2024-02-29T00:00:00.000000Z', '2024-03-01T00:00:00.000000Z'],
          ['2024-06-01T00:00:00.000000Z', '2024-06-02T00:00:00.000000Z'],
        ],
        more: false,
        count: '2',
      },
    },
  ],
  sql("REFRESH FLOW daily FROM '2024-02-29T12:00:00Z' TO '2024-02-29T13:00:00Z'", {
    outcome: 'refreshed',
    windows: { ranges: [['2024-02-29T00:00:00.000000Z', '2024-03-01T00:00:00.000000Z']], more: false, count: '1' },
  }),
  [
    'refresh',
    'POST',
    '/flows/daily/refresh',
    { body: { ranges: [['2024-02-29T12:00:00Z', '2024-03-02T00:00:00Z']] } },
    { outcome: 'refreshed', windows: { count: '2' } },
  ],
  [
    'marks of a table',
    'POST',
    '/tables/trips/dirty-windows',
    { body: { ranges: [['2024-01-01T12:00:00Z', '2024-01-11T00:00:00Z']] } },
    { outcome: 'marked', windows: { count: '10' } },
  ],
  sql('PAUSE FLOW daily', { outcome: 'paused', windows: NONE }),
  ['pause', 'POST', '/flows/daily/pause', {}, { outcome: 'paused' }],
  sql('RESUME FLOW daily', { outcome: 'resumed', windows: NONE }),
  ['resume', 'POST', '/flows/daily/resume', {}, { outcome: 'resumed' }],
  sql('DROP FLOW daily', {
    outcome: 'dropped',
    sink: { schema: 'public', table: 'daily_trips', becomes: 'kept' },
    statements: [],
  }),
  sql('DROP FLOW daily WITH SINK', { ...DROPPED, statements: ['DROP TABLE IF EXISTS "public"."daily_trips"'] }),
  ['DELETE', 'DELETE', '/flows/daily?sink=drop', {}, DROPPED],
];

describe('dry runs', () => {
  const checker = new OpenApiChecker();
  let api: ApiHarness;
  beforeAll(async () => {
    api = await openApiHarness();
    await api.database.query(`CREATE TABLE trips (at timestamptz NOT NULL, city text, fare numeric(10,2));
      CREATE INDEX ON trips (at);
      INSERT INTO trips VALUES ('2024-02-28 23:15Z', 'Ulm', 1.50), ('2024-03-01 01:00Z', 'Bonn', 2);
      CREATE TABLE filled (day timestamptz, city text, trips bigint, UNIQUE NULLS NOT DISTINCT (day, city));
      INSERT INTO filled VALUES ('2024-02-29Z', 'Ulm', 7)`);
  });
  afterAll(() => api.close());

  beforeEach(async () => {
    api.release();
    await api.quiet();
    for (const name of ['daily', 'other']) await api.call('DELETE', `/flows/${name}?sink=drop`);
    await api.database.query(`DROP TABLE IF EXISTS filled;
      CREATE TABLE filled (day timestamptz, city text, trips bigint, UNIQUE NULLS NOT DISTINCT (day, city));
      INSERT INTO filled VALUES ('2024-02-29Z', 'Ulm', 7)`);
    await api.call('POST', '/sql', { body: { sql: CREATE } });
    await api.quiet();
    api.hold();
  });

  /** Every item of the state table, and every table of the database with its rows, those of Sluice too. */
  async function everything(): Promise<unknown> {
    const tables = await api.database.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
    );
    const rows: Record<string, unknown> = {};
    for (const { name } of tables.rows) {
      rows[name] = (await api.database.query(`SELECT ctid, xmin, t.* FROM ${name} AS t ORDER BY ctid`)).rows;
    }
    return { items: await api.stored(), rows, relations: await api.relations() };
  }

  const asDryRun = (target: string, { body }: CallOptions): [string, CallOptions] =>
    target === '/sql'
      ? [target, { body: { ...(body as object), dryRun: true } }]
      : [`${target}${target.includes('?') ? '&' : '?'}dryRun=true`, body === undefined ? {} : { body }];

  it.each(CALLS)(
    '%s (%s %s) shows what it would touch, and touches nothing',
    async (_, method, target, options, touched) => {
      const before = await everything();
      const answer = await api.call(method, ...asDryRun(target, options));
      expect(answer, answer.text).toMatchObject({
        status: 200,
        body: { dry_run: true, flows: [touched], warnings: [] },
      });
      const path = target.replace(/\?.*/, '').replace('/daily', '/{name}').replace('/trips', '/{table}');
      expect(checker.problemOf(path, method, 200, answer.body)).toBeNull();
      expect(await everything()).toEqual(before);
    },
  );

  it.each(CALLS.filter(([, , , , touched]) => !('outcome' in touched && touched.outcome === 'exists')))(
    'control: %s (%s %s) without it is seen',
    async (_, method, target, options) => {
      const before = await everything();
      const answer = await api.call(method, target, { ...options, timeoutMs: 3_100 });
      expect(answer.status, answer.text).toBeLessThan(300);
      expect(await everything()).not.toEqual(before);
    },
  );

  it('shows the statements, what they are expected to give, and the rows that would be deleted', async () => {
    const dryRun = async (statement: string) =>
      (await api.call('POST', '/sql', { body: { sql: statement, dryRun: true } })).body.flows[0];
    const created = await dryRun(OTHER);
    expect(created.statements[0]).toMatch(/^CREATE TABLE "public"\."other_trips" \("day", "city", "trips"\)/);
    expect(created.statements[1]).toMatch(/^ALTER TABLE/);
    expect(created.statements.at(-1)).toMatch(/INSERT INTO "public"\."other_trips"/);
    expect(Number(created.rows_estimate)).toBeGreaterThan(0);
    expect(created.would_delete).toBeNull();

    await api.database.query(`INSERT INTO filled VALUES ('2024-02-28Z', 'Ulm', 99), ('2024-03-01Z', NULL, 1)`);
    const filled = await dryRun(OTHER.replace('other_trips', 'filled'));
    expect(filled.would_delete).toEqual({
      count: '2',
      columns: ['day', 'city'],
      keys: expect.arrayContaining([
        ['2024-02-29 00:00:00+00', 'Ulm'],
        ['2024-03-01 00:00:00+00', null],
      ]),
    });
    await api.call('POST', '/sql', { body: { sql: OTHER.replace('other_trips', 'filled') } });
    api.release();
    await api.quiet();
    const { rows } = await api.database.query('SELECT trips::int FROM filled ORDER BY day');
    expect(rows).toEqual([{ trips: 1 }, { trips: 1 }]);

    const whole = `CREATE FLOW whole SINK TO plain EVAL INTERVAL '1 hour' AS SELECT city FROM trips`;
    await api.database.query(`CREATE TABLE plain (city text); INSERT INTO plain VALUES ('Ulm'), (NULL)`);
    expect((await dryRun(whole)).would_delete).toEqual({ count: '2', columns: [], keys: [] });
    await api.database.query('DROP TABLE plain');
    const kept =
      "CREATE FLOW whole SINK TO filled2 EVAL INTERVAL '1 hour' WITH (on_delete = 'keep') AS SELECT city, count(*) AS n FROM trips GROUP BY 1";
    await api.database.query(
      `CREATE TABLE filled2 (city text, n bigint, UNIQUE NULLS NOT DISTINCT (city)); INSERT INTO filled2 VALUES ('Rom', 1)`,
    );
    expect((await dryRun(kept)).would_delete).toEqual({ count: '0', columns: ['city'], keys: [] });
    expect((await dryRun(kept.replace("WITH (on_delete = 'keep') ", ''))).would_delete).toMatchObject({
      keys: [['Rom']],
    });
    await api.database.query('DROP TABLE filled2');
  });

  it('shows the statement that drops the sink as it would be sent', async () => {
    const sink = 'odd "sink"; --';
    const quoted = '"odd ""sink""; --"';
    await api.call('POST', '/sql', { body: { sql: OTHER.replace('other_trips', quoted) } });
    const drop = (await api.call('DELETE', '/flows/other?sink=drop&dryRun=true')).body.flows[0];
    expect(drop).toMatchObject({ sink: { table: sink }, statements: [`DROP TABLE IF EXISTS "public".${quoted}`] });
    const before = await api.relations();
    await api.database.query(drop.statements.join(';'));
    const gone = `public.${quoted}(day,city,trips,update_at)`;
    expect(await api.relations()).toEqual(before.filter((relation) => relation !== gone));
    expect(before).toContain(gone);
    await api.call('DELETE', '/flows/other');
  });

  it('shows what waits for a flow that is paused, resumed or dropped', async () => {
    await api.call('POST', '/flows/daily/dirty-windows', { body: { timestamps: ['2024-02-29T12:00:00Z'] } });
    for (const statement of ['PAUSE FLOW daily', 'RESUME FLOW daily', 'DROP FLOW daily']) {
      const { body } = await api.call('POST', '/sql', { body: { sql: statement, dryRun: true } });
      expect(body.flows[0].windows.count).toBe('1');
    }
  });

  it('has no windows to count for a flow that runs whole', async () => {
    const whole = `CREATE FLOW other SINK TO other_trips EVAL INTERVAL '1 hour' AS SELECT city, count(*) AS n FROM trips GROUP BY 1`;
    const { body } = await api.call('POST', '/sql', { body: { sql: whole, dryRun: true } });
    expect(body.flows[0]).toMatchObject({ outcome: 'created', windows: { count: null } });
    expect(body.warnings).toEqual([expect.stringContaining('whole query')]);
  });

  it('refuses what the call would refuse', async () => {
    const refused: [string, string, CallOptions, number][] = [
      ['POST', '/sql', { body: { sql: CREATE } }, 409],
      ['POST', '/sql', { body: { sql: OTHER.replace('other_trips', 'daily_trips') } }, 409],
      ['POST', '/sql', { body: { sql: OTHER.replace('count(*)', 'kount(*)') } }, 422],
      ['POST', '/sql', { body: { sql: 'ALTER FLOW nobody RESET COMMENT' } }, 404],
      ['POST', '/sql', { body: { sql: 'DROP FLOW nobody' } }, 404],
      ['POST', '/flows/nobody/flush', {}, 404],
      ['POST', '/flows/nobody/pause', {}, 404],
      ['POST', '/flows/nobody/resume', {}, 404],
      ['POST', '/tables/nothing/dirty-windows', { body: { timestamps: ['2024-02-29T12:00:00Z'] } }, 404],
    ];
    for (const [method, target, options, status] of refused) {
      const answer = await api.call(method, ...asDryRun(target, options));
      expect(answer.status, answer.text).toBe(status);
    }
  });

  it('takes the word in one spelling', async () => {
    for (const [method, target, options] of [
      ['POST', '/flows/daily/flush?dry_run=true', {}],
      ['POST', '/flows/daily/flush?dryRun=1', {}],
      ['POST', '/flows/daily/flush', { body: { dryRun: true } }],
      ['POST', '/sql', { body: { sql: 'FLUSH FLOW daily', dry_run: true } }],
      ['POST', '/sql?dryRun=true', { body: { sql: 'FLUSH FLOW daily' } }],
    ] as [string, string, CallOptions][]) {
      expect((await api.call(method, target, options)).status).toBe(400);
    }
  });
});
