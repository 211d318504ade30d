import pg from 'pg';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { createFlow } from '../../lib/engine/lifecycle.ts';
import { markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import { flowInputFromJson } from '../../lib/flow/flow-input.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { startDynalite } from '../../lib/local/dynalite-server.ts';
import { startPostgres } from '../../lib/local/postgres-server.ts';
import { compileFlow } from '../../lib/sql/compile-flow.ts';
import { createStateTable } from '../../lib/store/dynamodb/create-state-table.ts';
import { createDynamoClient } from '../../lib/store/dynamodb/dynamo-client.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import { fromEpochMillis, type Instant, plus, SECOND } from '../../lib/window/instant.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import { median, milliseconds, print, row } from './ratio.ts';

const ROWS = 5_000_000;
const HOSTS = 100;
const MINUTES = 10;
const LATE_ROWS = 1_000;
const ROUNDS = 7;
const REFRESHES = 2;

const QUERY = `SELECT date_bin('1 minute', ts, TIMESTAMPTZ '2000-01-01 00:00:00+00') AS minute, host,
  avg(value) AS mean, max(value) AS highest, count(*) AS samples FROM public.metrics GROUP BY 1, 2`;

/**
 * 1,000 late rows in 10 scattered minutes of 5 million: one tick, from reading the state to the settled marks, beside
 * REFRESH MATERIALIZED VIEW CONCURRENTLY and a full recompute of the same query on the same server.
 */
export async function benchLateRows(): Promise<void> {
  const postgres = await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '8GB', work_mem: '64MB' } });
  const dynamo = await startDynalite();
  const client = createDynamoClient({
    endpoint: dynamo.endpoint,
    region: 'local',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const frontend = createPostgresFrontend({ connection: postgres.url, namespace: 'bench' });
  const sql = new pg.Client({ connectionString: postgres.url });
  try {
    await createStateTable(client, 'bench');
    await sql.connect();
    await load(sql);
    const deps = engineDeps(createDynamoStore({ client, tableName: 'bench' }), frontend);
    const options = { max_windows: 10_000, merge_distance: 0 };
    const input = flowInputFromJson('per_minute', { sink: 'public.per_minute', query: QUERY, options });
    const { draft } = await compileFlow(input, frontend);
    await createFlow(deps, draft, 'create');
    const fill = await milliseconds(() => ticksUntilQuiet(deps));
    await sql.query('ANALYZE per_minute');
    await sql.query(`CREATE MATERIALIZED VIEW minutes AS ${QUERY}`);
    await sql.query('CREATE UNIQUE INDEX ON minutes (minute, host)');
    await sql.query('VACUUM ANALYZE');

    const ticks: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const timestamps = await insertLateRows(sql, round);
      await markTable(deps, 'default', { schema: 'public', table: 'metrics' }, { timestamps, ranges: [] });
      ticks.push(await milliseconds(() => oneTick(deps)));
    }
    const refreshes: number[] = [];
    for (let round = 0; round < REFRESHES; round++) {
      await insertLateRows(sql, ROUNDS + round);
      refreshes.push(await milliseconds(() => sql.query('REFRESH MATERIALIZED VIEW CONCURRENTLY minutes')));
    }
    const recompute = await milliseconds(() => sql.query(`CREATE TABLE recomputed AS ${QUERY}`));
    await ticksAndCompare(deps, sql);

    const one = { ms: median(ticks) };
    print(
      `${LATE_ROWS} late rows in ${MINUTES} scattered minutes of ${ROWS} rows, ${HOSTS} hosts, windows of 1 minute`,
    );
    row(`one tick of Sluice (median of ${ROUNDS})`, one.ms);
    row('REFRESH MATERIALIZED VIEW CONCURRENTLY', median(refreshes), one);
    row('full recompute into a new table', recompute, one);
    print(
      `  the first fill of the sink took ${fill.toFixed(0)} ms; the sink equals the query (aim: 200 times faster than the refresh)`,
    );
  } finally {
    await sql.end();
    await frontend.close();
    client.destroy();
    await dynamo.stop();
    await postgres.stop();
  }
}

function engineDeps(store: EngineDeps['store'], frontend: ReturnType<typeof createPostgresFrontend>): EngineDeps {
  const nothing = () => Promise.resolve();
  return {
    store,
    frontend: () => frontend,
    schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
    clock: now,
    wait: nothing,
    log: () => undefined,
  };
}

async function load(sql: pg.Client): Promise<void> {
  await sql.query(
    'CREATE TABLE metrics (ts timestamptz NOT NULL, host text NOT NULL, value double precision NOT NULL)',
  );
  await sql.query(`INSERT INTO metrics SELECT TIMESTAMPTZ '2024-01-01 00:00:00+00' + (n / ${HOSTS}) * interval '10 seconds',
    'host-' || n % ${HOSTS}, 100 * abs(sin(n)) FROM generate_series(0, ${ROWS - 1}) AS n`);
  await sql.query('CREATE INDEX ON metrics (ts)');
  await sql.query('ANALYZE metrics');
}

/** Spread over the whole range, other minutes in each round. Returns the time of one row of each minute. */
async function insertLateRows(sql: pg.Client, round: number): Promise<Instant[]> {
  const { rows } = await sql.query<{ at: string }>(`
    WITH late AS (
      INSERT INTO metrics SELECT TIMESTAMPTZ '2024-01-01 00:00:30+00' + ((n % ${MINUTES}) * 800 + ${round} * 37) * interval '1 minute',
        'host-' || (n / ${MINUTES}) % ${HOSTS}, n FROM generate_series(0, ${LATE_ROWS - 1}) AS n RETURNING ts
    ) SELECT DISTINCT to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at FROM late`);
  return rows.map(({ at }) => parseInstant(at));
}

async function oneTick(deps: EngineDeps): Promise<void> {
  const outcome = await tick(deps, {
    flow: 'per_minute',
    owner: 'bench',
    deadline: plus(now(), 600n * SECOND),
    trigger: 'request',
  });
  if (outcome.action !== 'committed' || outcome.more)
    throw new Error(`not one whole tick: ${outcome.action}, ${outcome.reason}`);
}

async function ticksUntilQuiet(deps: EngineDeps): Promise<void> {
  for (;;) {
    const deadline = plus(now(), 600n * SECOND);
    const outcome = await tick(deps, { flow: 'per_minute', owner: 'bench', deadline, trigger: 'request' });
    if (outcome.action === 'idle') return;
    if (outcome.action !== 'committed') throw new Error(`${outcome.action}: ${outcome.reason}`);
  }
}

/** A fast wrong answer is no answer. The rows inserted for the materialized view were never marked, so all of them are now. */
async function ticksAndCompare(deps: EngineDeps, sql: pg.Client): Promise<void> {
  const ranges = [{ start: parseInstant('2024-01-01T00:00:00Z'), end: parseInstant('2024-01-09T00:00:00Z') }];
  await markTable(deps, 'default', { schema: 'public', table: 'metrics' }, { timestamps: [], ranges });
  await ticksUntilQuiet(deps);
  const { rows } = await sql.query<{ differing: string }>(`SELECT count(*) AS differing FROM (${QUERY}) AS q
    FULL JOIN per_minute AS s ON s.minute = q.minute AND s.host = q.host
    WHERE s.samples IS DISTINCT FROM q.samples OR s.highest IS DISTINCT FROM q.highest
      OR abs(s.mean - q.mean) > 1e-9 * abs(q.mean)`);
  if (rows[0]?.differing !== '0') throw new Error(`${rows[0]?.differing} rows of the sink differ from the query`);
}

const now = (): Instant => fromEpochMillis(Date.now());
