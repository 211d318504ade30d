import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { instant } from '../../lib/window/instant.ts';
import { type ApiHarness, openApiHarness } from '../support/api-harness.ts';

let api: ApiHarness;
let now = instant(BigInt(Date.parse('2024-03-02T12:30:00Z')) * 1000n);

beforeAll(async () => {
  api = await openApiHarness(() => now);
  await api.database.query(`
    CREATE TABLE visits (ts timestamptz NOT NULL, page text, ms int);
    CREATE TABLE pages (page text PRIMARY KEY, section text);
    CREATE INDEX ON visits (ts);
    INSERT INTO pages VALUES ('a', 'x'), ('b', 'y');
    INSERT INTO visits
    SELECT '2024-03-01 00:10Z'::timestamptz + n * interval '40 minutes', chr(97 + n % 2), n FROM generate_series(0, 39) AS n;
    CREATE VIEW "Named Visits" AS SELECT ts AS at, page, section, ms FROM visits LEFT JOIN pages USING (page);
    CREATE VIEW slow AS SELECT * FROM "Named Visits" WHERE ms > 3;
    CREATE VIEW both_ways AS SELECT ts, page FROM visits UNION ALL SELECT at, section FROM "Named Visits";
    CREATE VIEW latest AS SELECT ts, page, rank() OVER (ORDER BY ts DESC) AS rank FROM visits;
    CREATE VIEW shifted AS SELECT ts + interval '1 hour' AS ts, page FROM visits;
    CREATE VIEW lucky AS SELECT ts, page FROM visits WHERE random() < 2;
    CREATE VIEW through_lucky AS SELECT * FROM lucky;
    CREATE VIEW recent AS SELECT ts, page FROM visits WHERE ts < now();
    CREATE MATERIALIZED VIEW stored AS SELECT ts, page FROM visits WHERE random() < 2;`);
});
afterAll(() => api.close());

beforeEach(async () => {
  await api.quiet();
  for (const { name } of (await api.call('GET', '/flows')).body.flows) {
    await api.call('DELETE', `/flows/${name}?sink=keep`);
  }
});

const send = (statement: string) => api.call('POST', '/sql', { body: { sql: statement } });

async function create(statement: string) {
  const answer = await send(statement);
  if (answer.status >= 300) throw new Error(answer.text);
  await settle();
  return answer.body.results?.[0] ?? answer.body;
}

/** Ticks until nothing asks for another. */
async function settle(): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    now = instant(now + 60_000_000n);
    for (const { name } of (await api.call('GET', '/flows')).body.flows) await api.tick(name);
    await api.quiet();
  }
}

async function change(statement: string, table: string, ...times: string[]) {
  await api.database.query(statement);
  const answer = await api.call('POST', `/tables/public.${table}/dirty-windows`, { body: { timestamps: times } });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body.flows;
}

async function rows(query: string): Promise<string[]> {
  const found = await api.database.query<{ r: string }>(`SELECT q::text AS r FROM (${query}) AS q`);
  return found.rows.map(({ r }) => r).sort();
}

describe('a flow that reads a view', () => {
  it('is marked by changes of the tables beneath, at their times', async () => {
    const query = (from: string) =>
      `SELECT date_bin('1 hour', at, 'epoch') AS hour, section, count(*) AS n FROM ${from} GROUP BY 1, 2`;
    await create(`CREATE FLOW slow_hours SINK TO slow_hours AS ${query('slow')}`);
    const before = await rows('SELECT hour, section, n FROM slow_hours');
    const marked = await change(
      `INSERT INTO visits VALUES ('2024-03-01 05:20Z', 'b', 77)`,
      'visits',
      '2024-03-01T05:20:00Z',
    );
    expect(marked).toEqual([
      {
        name: 'slow_hours',
        marked: 1,
        ranges: [['2024-03-01T05:00:00.000000Z', '2024-03-01T06:00:00.000000Z']],
        more: false,
      },
    ]);
    expect(await rows(query('slow'))).not.toEqual(before);
    await settle();
    expect(await rows('SELECT hour, section, n FROM slow_hours')).toEqual(await rows(query('slow')));
    const { sources } = (await api.call('GET', '/flows/slow_hours')).body;
    expect(sources).toEqual([
      { schema: 'public', table: 'slow', time_column: 'at' },
      { schema: 'public', table: 'Named Visits', time_column: 'at' },
      { schema: 'public', table: 'visits', time_column: 'ts' },
      { schema: 'public', table: 'pages', time_column: null },
    ]);
  });

  it('by each branch of a UNION ALL', async () => {
    await create(
      `CREATE FLOW both SINK TO both_hours AS SELECT date_bin('1 hour', ts, 'epoch') AS hour, count(*) AS n FROM both_ways GROUP BY 1`,
    );
    await change(
      `DELETE FROM visits WHERE ts < '2024-03-01 02:00Z'`,
      'visits',
      '2024-03-01T00:10:00Z',
      '2024-03-01T01:30:00Z',
    );
    await settle();
    expect(await rows('SELECT hour, n FROM both_hours')).toEqual(
      await rows(`SELECT date_bin('1 hour', ts, 'epoch') AS hour, count(*) AS n FROM both_ways GROUP BY 1`),
    );
  });

  it.each([
    ['latest', 'rank'],
    ['shifted', 'page'],
  ])('%s, whose rows of one time depend on other times, is told apart', async (view, column) => {
    const query = `SELECT date_bin('1 hour', ts, 'epoch') AS hour, min(${column}) AS first FROM ${view} GROUP BY 1`;
    const ignored = await create(`CREATE FLOW told SINK TO told_${view} AS ${query}`);
    const warning = 'public.visits is read through a view that does not pass its time up as it is';
    expect(ignored.warnings).toContainEqual(expect.stringContaining(`${warning}: a change of it dirties no window`));
    await create(`CREATE OR REPLACE FLOW told SINK TO told_${view} WITH (on_dimension_change = 'refresh') AS ${query}`);
    const marked = await change(
      `INSERT INTO visits VALUES ('2024-03-01 07:20Z', 'a', 1)`,
      'visits',
      '2024-03-01T07:20:00Z',
    );
    expect(marked[0].ranges).toEqual([['-004713-11-24T00:00:00.000000Z', '+294277-01-01T00:00:00.000000Z']]);
    await settle();
    expect(await rows(`SELECT hour, first FROM told_${view}`)).toEqual(await rows(query));
  });

  it('stands above the flow whose sink the view reads, and closes no circle', async () => {
    const HOURS = `SELECT date_bin('1 hour', ts, 'epoch') AS hour, count(*) AS n FROM visits GROUP BY 1`;
    const DAYS = `SELECT date_bin('1 day', hour, 'epoch') AS day, sum(n) AS n FROM busy GROUP BY 1`;
    await create(`CREATE FLOW hours SINK TO hours AS ${HOURS}`);
    await api.database.query('CREATE OR REPLACE VIEW busy AS SELECT hour, n FROM hours WHERE n > 1');
    await create(`CREATE FLOW days SINK TO days AS ${DAYS}`);
    await change(`INSERT INTO visits VALUES ('2024-03-01 09:20Z', 'a', 1)`, 'visits', '2024-03-01T09:20:00Z');
    await settle();
    expect(await rows('SELECT day, n FROM days')).toEqual(await rows(DAYS));

    await api.database.query('CREATE OR REPLACE VIEW days_again AS SELECT day AS ts, n FROM days');
    const circle = await send(
      `CREATE OR REPLACE FLOW hours SINK TO hours AS SELECT date_bin('1 hour', ts, 'epoch') AS hour, count(*) AS n FROM days_again GROUP BY 1`,
    );
    expect(circle).toMatchObject({ status: 422, body: { error: { message: expect.stringContaining('own sink') } } });
    const over = `CREATE OR REPLACE FLOW hours SINK TO hours AS SELECT date_bin('1 hour', hour, 'epoch') AS hour, count(*) AS n FROM busy GROUP BY 1`;
    const own = await send(over);
    expect(own).toMatchObject({
      status: 422,
      body: {
        error: {
          message: expect.stringContaining('the view "public.busy": it reads the sink'),
          position: over.indexOf('busy') + 1,
        },
      },
    });
  });
});

describe('a view that gives other rows each time', () => {
  const over = (view: string, interval = '') =>
    `CREATE FLOW chance SINK TO chance ${interval} AS SELECT date_bin('1 hour', ts, 'epoch') AS hour, count(*) AS n FROM ${view} GROUP BY 1`;

  it.each([
    ['lucky', '"public.lucky": random() may give another value'],
    ['through_lucky', '"public.lucky": random() may give another value'],
    ['recent', '"public.recent": it uses now()'],
  ])('%s is refused', async (view, message) => {
    for (const interval of ['', "EVAL INTERVAL '1 hour'"]) {
      const answer = await send(over(view, interval));
      expect(answer).toMatchObject({
        status: 422,
        body: { error: { code: 'invalid_query', message: expect.stringContaining(message) } },
      });
    }
    expect((await api.call('GET', '/flows')).body.flows).toEqual([]);
  });

  it('but not where its rows are stored', async () => {
    await create(over('stored'));
    expect((await api.call('GET', '/flows/chance')).body.sources).toEqual([
      { schema: 'public', table: 'stored', time_column: 'ts' },
    ]);
  });
});
