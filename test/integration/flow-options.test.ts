import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../lib/window/instant.ts';
import { type ApiHarness, openApiHarness } from '../support/api-harness.ts';
import { sortedRows } from '../support/frontend-database.ts';

const at = (text: string): Instant => instant(BigInt(Date.parse(text)) * 1000n);

let api: ApiHarness;
let now: Instant;

beforeAll(async () => {
  now = at('2024-03-01T12:30:00Z');
  api = await openApiHarness(() => now);
  await api.database.query(`
    CREATE TABLE sensors (sensor text PRIMARY KEY, room text);
    CREATE TABLE readings (ts timestamptz NOT NULL, sensor text, value int);
    CREATE INDEX ON readings (ts);`);
});
afterAll(() => api.close());

beforeEach(async () => {
  await api.quiet();
  now = at('2024-03-01T12:30:00Z');
  await api.dropFlows();
  await api.database.query(`
    TRUNCATE readings, sensors;
    INSERT INTO sensors VALUES ('a', 'attic'), ('b', 'bath');
    INSERT INTO readings
    SELECT '2024-01-30 00:10Z'::timestamptz + n * interval '3 hours', chr(97 + n % 2), n FROM generate_series(0, 251) AS n;`);
});

async function sql(statement: string) {
  const answer = await api.call('POST', '/sql', { body: { sql: statement } });
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  await api.quiet();
  return answer.body;
}

async function mark(table: string, start: string, end: string): Promise<void> {
  const path = `/tables/public.${table}/dirty-windows`;
  const answer = await api.call('POST', path, { body: { ranges: [[start, end]] } });
  if (answer.status >= 300) throw new Error(answer.text);
}

/** Ticks of the clock, a minute apart. */
async function ticks(count: number, ...flows: string[]): Promise<string[]> {
  const actions: string[] = [];
  for (let n = 0; n < count; n += 1) {
    now = instant(now + 60_000_000n);
    for (const flow of flows) actions.push((await api.tick(flow)).action);
    await api.quiet();
  }
  return actions;
}

const state = async (flow: string) => (await api.call('GET', `/flows/${flow}/state`)).body;

const rows = (query: string) => sortedRows(api.database, query);

const DAILY = `SELECT date_bin('1 day', ts, 'epoch') AS day, sensor, count(*) AS n, sum(value) AS total FROM readings GROUP BY 1, 2`;
const sink = (table: string) => rows(`SELECT day, sensor, n, total FROM ${table}`);

describe('a stack of flows', () => {
  const HOURLY = `SELECT date_bin('1 hour', ts, 'epoch') AS hour, sensor, count(*) AS n, max(value) AS peak FROM readings GROUP BY 1, 2`;
  const LOCAL = (from: string) =>
    `SELECT (date_trunc('day', hour AT TIME ZONE 'America/New_York'))::date AS day, sensor, sum(n) AS n, max(peak) AS peak FROM ${from} GROUP BY 1, 2`;
  const BY_MONTH = (from: string) =>
    `SELECT date_trunc('month', day) AS month, sum(n) AS n, max(peak) AS peak FROM ${from} GROUP BY 1`;
  const ROOMS = (from: string) =>
    `SELECT room, h.hour, sum(n) AS n FROM ${from} AS h JOIN sensors USING (sensor) GROUP BY 1, 2`;

  it('is quiet with what the direct queries give, whatever changes below it', async () => {
    await sql(`CREATE FLOW hourly SINK TO hourly AS ${HOURLY}`);
    await sql(`CREATE FLOW by_day SINK TO local_days AS ${LOCAL('hourly')}`);
    await sql(`CREATE FLOW by_month SINK TO months AS ${BY_MONTH('local_days')}`);
    await sql(
      `CREATE FLOW rooms SINK TO rooms WITH (time_zone = 'Asia/Kolkata') AS SELECT room, date_trunc('hour', hour) AS hour, sum(n) AS n FROM hourly JOIN sensors USING (sensor) GROUP BY 1, 2`,
    );
    const flows = ['hourly', 'by_day', 'by_month', 'rooms'];
    const same = async () => {
      const hourly = `(${HOURLY})`;
      const days = `(${LOCAL(`${hourly} AS h`)})`;
      expect(await rows('SELECT hour, sensor, n, peak FROM hourly')).toEqual(await rows(HOURLY));
      expect(await rows('SELECT day, sensor, n, peak FROM local_days')).toEqual(await rows(LOCAL(`${hourly} AS h`)));
      expect(await rows('SELECT month, n, peak FROM months')).toEqual(await rows(BY_MONTH(`${days} AS d`)));
      expect(await rows('SELECT room, sum(n) AS n FROM rooms GROUP BY 1')).toEqual(
        await rows(`SELECT room, sum(n) AS n FROM (${ROOMS(hourly)}) AS r GROUP BY 1`),
      );
    };
    await ticks(4, ...flows);
    await same();
    const changes = [
      [`INSERT INTO readings VALUES ('2024-02-10 04:59Z', 'a', 9999)`, '2024-02-10T04:59:00Z', '2024-02-10T05:00:00Z'],
      [`DELETE FROM readings WHERE ts < '2024-02-01Z'`, '2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z'],
      [`UPDATE readings SET sensor = 'b' WHERE ts >= '2024-02-29Z'`, '2024-02-29T00:00:00Z', '2024-03-02T00:00:00Z'],
      [`INSERT INTO readings VALUES ('2024-03-31 23:30Z', 'b', 1)`, '2024-03-31T23:00:00Z', '2024-04-01T00:00:00Z'],
    ] as const;
    for (const [change, start, end] of changes) {
      await api.database.query(change);
      await mark('readings', start, end);
      await ticks(4, ...flows);
      await same();
    }
    // A mark that changes nothing below changes nothing above.
    await mark('readings', '2024-02-10T00:00:00Z', '2024-02-11T00:00:00Z');
    await ticks(1, 'hourly');
    expect((await state('by_day')).dirty.ranges).toEqual([]);
    const cycle = await api.call('POST', '/sql', {
      body: {
        sql: `CREATE OR REPLACE FLOW hourly SINK TO hourly AS SELECT date_bin('1 hour', day::timestamptz, 'epoch') AS hour, sensor, sum(n)::bigint AS n, max(peak) AS peak FROM local_days GROUP BY 1, 2`,
      },
    });
    expect(cycle).toMatchObject({ status: 422, body: { error: { message: expect.stringContaining('own sink') } } });
  }, 60_000);
});

describe('on_delete', () => {
  const RETENTION = `DELETE FROM readings WHERE ts < '2024-02-15 12:00Z'`;

  it('keep: what the source has lost stays, and is not computed from what is left', async () => {
    await sql(`CREATE FLOW kept SINK TO kept WITH (on_delete = keep) AS ${DAILY}`);
    await ticks(4, 'kept');
    const before = await sink('kept');
    expect(before).toEqual(await rows(DAILY));
    await api.database.query(RETENTION);
    await mark('readings', '2024-01-01T00:00:00Z', '2024-02-16T00:00:00Z');
    await api.database.query(`INSERT INTO readings VALUES ('2024-02-20 01:00Z', 'a', 777)`);
    await mark('readings', '2024-02-20T00:00:00Z', '2024-02-21T00:00:00Z');
    await ticks(4, 'kept');
    const young = (list: string[]) => list.filter((row) => row >= '("2024-02-16');
    const old = (list: string[]) => list.filter((row) => row < '("2024-02-16');
    expect(old(await sink('kept'))).toEqual(old(before));
    expect(young(await sink('kept'))).toEqual(young(await rows(DAILY)));
    expect(await state('kept')).toMatchObject({
      dirty: { ranges: [] },
      set_aside: [{ reason: 'frozen', range: [expect.any(String), '2024-02-16T00:00:00.000000Z'] }],
      source: {
        oldest: '2024-02-15T12:10:00.000000Z',
        frozen_before: '2024-02-16T00:00:00.000000Z',
        shrunk: { from: '2024-01-30T00:10:00.000000Z', to: '2024-02-15T12:10:00.000000Z' },
      },
    });
    // Nothing that comes later thaws it: a flush, a replace of the comment, a mark.
    await sql('FLUSH FLOW kept');
    await sql(`CREATE OR REPLACE FLOW kept SINK TO kept COMMENT 'kept for years' WITH (on_delete = keep) AS ${DAILY}`);
    await ticks(3, 'kept');
    expect(old(await sink('kept'))).toEqual(old(before));
    const range = ['2024-02-14T00:00:00Z', '2024-02-15T00:00:00Z'];
    const refused = await api.call('POST', '/flows/kept/refresh', { body: { ranges: [range] } });
    expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('force') } } });
    await api.call('POST', '/flows/kept/refresh', { body: { ranges: [range], force: true } });
    await api.quiet();
    const thawed = old(before).filter((row) => !row.startsWith('("2024-02-14'));
    expect(thawed.length).toBe(old(before).length - 2);
    expect(await sink('kept')).toEqual([...thawed, ...young(await rows(DAILY))].sort());
  });

  it('keep, over a sink that holds more than the source has: nothing of it is deleted', async () => {
    await sql(`CREATE FLOW kept SINK TO kept WITH (on_delete = keep) AS ${DAILY}`);
    await ticks(4, 'kept');
    const before = await sink('kept');
    await sql('DROP FLOW kept');
    await api.database.query(RETENTION);
    const foreseen = async (option: string) => {
      const statement = `CREATE FLOW kept SINK TO kept WITH (on_delete = ${option}, max_windows = 100) AS ${DAILY}`;
      const { flows } = (await api.call('POST', '/sql', { body: { sql: statement, dryRun: true } })).body;
      return flows[0].would_delete.count;
    };
    expect(await foreseen('keep')).toBe('0');
    expect(Number(await foreseen('apply'))).toBeGreaterThan(20);
    await sql(`CREATE FLOW kept SINK TO kept WITH (on_delete = keep) AS ${DAILY}`);
    await ticks(4, 'kept');
    expect(await sink('kept')).toEqual(before);
    // Control: without it the sink is what the query gives.
    await sql('ALTER FLOW kept RESET (on_delete)');
    await ticks(6, 'kept');
    expect(await sink('kept')).toEqual(await rows(DAILY));
  });

  it('apply: a source that shrinks at its old end is reported before the sink follows', async () => {
    await sql(`CREATE FLOW applied SINK TO applied AS ${DAILY}`);
    await ticks(4, 'applied');
    const before = await sink('applied');
    await api.database.query(RETENTION);
    await mark('readings', '2024-01-01T00:00:00Z', '2024-02-16T00:00:00Z');
    expect(await ticks(1, 'applied')).toEqual(['failed']);
    const { source, dirty } = await state('applied');
    expect(source.shrunk).toMatchObject({ from: '2024-01-30T00:10:00.000000Z', to: '2024-02-15T12:10:00.000000Z' });
    expect(dirty.ranges).not.toEqual([]);
    expect(await sink('applied')).toEqual(before);
    await ticks(4, 'applied');
    expect(await sink('applied')).toEqual(await rows(DAILY));
    await api.database.query('DELETE FROM readings');
    await mark('readings', '2024-01-01T00:00:00Z', '2024-03-03T00:00:00Z');
    await ticks(6, 'applied');
    expect(await sink('applied')).toEqual([]);
    expect((await state('applied')).source.shrunk.to).toBeNull();
  });
});

describe('event times that are not accepted', () => {
  it('are set aside and listed, and taken up when the flow accepts them', async () => {
    await sql(
      `CREATE FLOW guarded SINK TO guarded WITH (accept_past = '20 days', accept_future = '1 hour') AS ${DAILY}`,
    );
    await ticks(3, 'guarded');
    const within = (list: string[]) => list.filter((row) => row >= '("2024-02-10');
    expect(await sink('guarded')).toEqual(within(await rows(DAILY)));
    await api.database.query(`INSERT INTO readings VALUES ('57167-01-01 00:00Z', 'a', 1)`);
    await api.call('POST', '/tables/public.readings/dirty-windows', { body: { timestamps: ['2024-03-05T00:00:00Z'] } });
    await ticks(2, 'guarded');
    expect(await state('guarded')).toMatchObject({
      dirty: { ranges: [] },
      set_aside: [
        { reason: 'too_old', range: ['2024-01-30T00:00:00.000000Z', '2024-02-10T00:00:00.000000Z'] },
        { reason: 'too_new', range: ['2024-03-05T00:00:00.000000Z', '2024-03-06T00:00:00.000000Z'] },
      ],
    });
    await sql('ALTER FLOW guarded RESET (accept_past)');
    await ticks(3, 'guarded');
    expect((await state('guarded')).set_aside).toHaveLength(1);
    expect(await sink('guarded')).toEqual((await rows(DAILY)).filter((row) => !row.includes('57167')));
    // Time itself makes a future time acceptable.
    await api.database.query(`INSERT INTO readings VALUES ('2024-03-05 00:00Z', 'b', 5)`);
    now = at('2024-03-05T01:00:00Z');
    await ticks(1, 'guarded');
    expect((await state('guarded')).set_aside).toEqual([]);
    expect(await rows(`SELECT day, total FROM guarded WHERE day > '2024-03-04Z'`)).toEqual([
      '("2024-03-05 00:00:00+00",5)',
    ]);
  });
});

describe('lookback and delay', () => {
  it('lookback refreshes the last windows at every run, marked or not', async () => {
    await sql(`CREATE FLOW looking SINK TO looking WITH (lookback = '2 days') AS ${DAILY}`);
    await ticks(4, 'looking');
    await api.database.query(
      `INSERT INTO readings VALUES ('2024-02-29 23:00Z', 'a', 5000), ('2024-02-10 23:00Z', 'a', 5000)`,
    );
    await ticks(2, 'looking');
    const differing = (await rows(DAILY)).filter((row) => row.startsWith('("2024-02-10'));
    const found = await sink('looking');
    expect(found.filter((row) => !row.startsWith('("2024-02-10'))).toEqual(
      (await rows(DAILY)).filter((row) => !row.startsWith('("2024-02-10')),
    );
    expect(found.filter((row) => row.startsWith('("2024-02-10'))).not.toEqual(differing);
    // Days without a tick leave no gap.
    await api.database.query(`INSERT INTO readings VALUES ('2024-03-01 23:00Z', 'a', 6000)`);
    now = at('2024-03-09T00:00:00Z');
    await ticks(2, 'looking');
    expect((await sink('looking')).filter((row) => row >= '("2024-02-29')).toEqual(
      (await rows(DAILY)).filter((row) => row >= '("2024-02-29'),
    );
  });

  it('delay leaves windows alone until they ended so long ago, and forgets none', async () => {
    await sql(`CREATE FLOW patient SINK TO patient WITH (delay = '6 hours') AS ${DAILY}`);
    await ticks(4, 'patient');
    const until = (day: string, list: string[]) => list.filter((row) => row < `("${day}`);
    expect(await sink('patient')).toEqual(until('2024-03-01', await rows(DAILY)));
    now = at('2024-03-02T05:58:00Z');
    await ticks(1, 'patient');
    expect(await sink('patient')).toEqual(until('2024-03-01', await rows(DAILY)));
    now = at('2024-03-02T06:00:00Z');
    await ticks(1, 'patient');
    expect(await sink('patient')).toEqual(await rows(DAILY));
  });
});

describe('on_dimension_change', () => {
  const ROOMS = `SELECT date_bin('1 day', ts, 'epoch') AS day, room, count(*) AS n FROM readings JOIN sensors USING (sensor) GROUP BY 1, 2`;

  it.each([
    ['refresh', true],
    ['ignore', false],
  ])('%s: a marked change of a table that is read whole', async (option, follows) => {
    await sql(`CREATE FLOW rooms SINK TO rooms WITH (on_dimension_change = ${option}) AS ${ROOMS}`);
    await ticks(4, 'rooms');
    await api.database.query(`UPDATE sensors SET room = 'cellar' WHERE sensor = 'a'`);
    await mark('sensors', '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z');
    await ticks(4, 'rooms');
    const same = JSON.stringify(await rows('SELECT day, room, n FROM rooms')) === JSON.stringify(await rows(ROOMS));
    expect(same).toBe(follows);
  });
});

describe('an eval interval', () => {
  const RECORDS = 'SELECT now() AS at, count(*) AS n FROM readings';
  const grid = () => rows(`SELECT to_char(at AT TIME ZONE 'UTC', 'HH24:MI') AS at FROM recorded`);

  it.each([
    ['latest', ['(12:15)', '(12:45)', '(16:15)'], '6'],
    ['catch_up', ['(12:15)', '(12:45)', '(15:15)', '(15:45)', '(16:15)'], '4'],
  ])('runs each grid time once, and missed ones as %s says', async (missed, expected, skipped) => {
    now = at('2024-03-01T12:20:00Z');
    await sql(
      `CREATE FLOW recorded SINK TO recorded EVAL INTERVAL '30 minutes' WITH (missed_ticks = ${missed}, schedule_anchor = '2024-01-01T00:15:00Z', catch_up_max_lag = '2 hours') AS ${RECORDS}`,
    );
    await ticks(3, 'recorded');
    expect(await grid()).toEqual(['(12:15)']);
    now = at('2024-03-01T12:45:30Z');
    await api.tick('recorded');
    await api.tick('recorded');
    expect(await grid()).toEqual(['(12:15)', '(12:45)']);
    now = at('2024-03-01T16:20:00Z');
    await ticks(2, 'recorded');
    expect(await grid()).toEqual(expected);
    expect((await state('recorded')).totals.grid_times_skipped).toBe(skipped);
    expect((await state('recorded')).next_run).toMatchObject({ at: '2024-03-01T16:45:00.000000Z' });
  });
});

describe('a sink that is changed behind the back of its flow', () => {
  const create = `CREATE FLOW daily SINK TO daily AS ${DAILY}`;
  const changed = async () => {
    await api.database.query(`INSERT INTO readings VALUES ('2024-02-20 01:00Z', 'a', 777)`);
    await mark('readings', '2024-02-20T00:00:00Z', '2024-02-21T00:00:00Z');
    await ticks(2, 'daily');
  };

  it.each([
    [
      'a dropped column',
      'ALTER TABLE daily DROP COLUMN total',
      'ALTER TABLE daily ADD COLUMN total bigint',
      /"total".* is gone/,
    ],
    [
      'a renamed column',
      'ALTER TABLE daily RENAME total TO sum',
      'ALTER TABLE daily RENAME sum TO total',
      /may be "sum" now/,
    ],
    [
      'another type',
      'ALTER TABLE daily ALTER n TYPE smallint',
      'ALTER TABLE daily ALTER n TYPE numeric',
      /"n" was of type bigint/,
    ],
    ['another name', 'ALTER TABLE daily RENAME TO weekly', 'ALTER TABLE weekly RENAME TO daily', /weekly/],
    [
      'a column that has to be filled',
      'ALTER TABLE daily ADD COLUMN x int NOT NULL DEFAULT 1; ALTER TABLE daily ALTER x DROP DEFAULT',
      'ALTER TABLE daily DROP COLUMN x',
      /"x"/,
    ],
  ])(
    '%s blocks the flow with the difference, keeps its marks, and is over once the sink fits again',
    async (_, spoil, mend, diff) => {
      await sql(create);
      await ticks(4, 'daily');
      await api.database.query(spoil);
      await changed();
      const { blocked, dirty } = await state('daily');
      expect(blocked).toMatchObject({ code: 'sink_drifted', message: expect.stringMatching(diff) });
      expect(dirty.ranges).toEqual([['2024-02-20T00:00:00.000000Z', '2024-02-21T00:00:00.000000Z']]);
      expect(await ticks(1, 'daily')).toEqual(['idle']);
      await api.database.query(mend);
      expect(await ticks(1, 'daily')).toEqual(['healed']);
      await ticks(4, 'daily');
      expect(await state('daily')).toMatchObject({ blocked: null, dirty: { ranges: [] } });
      expect(await sink('daily')).toEqual(await rows(DAILY));
    },
  );

  it('a table that was made anew is filled from the start, whether or not it was missed meanwhile', async () => {
    await sql(create);
    await ticks(4, 'daily');
    const anew = 'CREATE TABLE again (LIKE daily INCLUDING ALL); DROP TABLE daily; ALTER TABLE again RENAME TO daily';
    await api.database.query(anew);
    await changed();
    await ticks(4, 'daily');
    expect(await sink('daily')).toEqual(await rows(DAILY));
    await api.database.query(
      'ALTER TABLE daily RENAME TO kept; CREATE TABLE copy (LIKE kept INCLUDING ALL); DROP TABLE kept',
    );
    await changed();
    expect((await state('daily')).blocked.code).toBe('sink_drifted');
    await api.database.query('ALTER TABLE copy RENAME TO daily');
    await ticks(6, 'daily');
    expect(await sink('daily')).toEqual(await rows(DAILY));
  });
});
