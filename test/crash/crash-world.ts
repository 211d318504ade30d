import pg from 'pg';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { createFlow, type FlowDraft } from '../../lib/engine/lifecycle.ts';
import { markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import { SluiceError } from '../../lib/errors.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import type { FlowStore, LoadedFlow } from '../../lib/store/flow-store.ts';
import { HOUR, type Instant, instant, MINUTE, SECOND } from '../../lib/window/instant.ts';
import { formatInstant } from '../../lib/window/rfc3339.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { createTestTable, type TestTable } from '../support/dynamo-table.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { Stop, type StopPoint } from './stop.ts';

/** 2023-11-14T22:00:00Z, the first of the hours that rows lie in. */
const FIRST_HOUR = 1_699_999_200_000_000n;

/** By which the store tells what history has expired: none of a trial's. */
const STORE_TIME = instant(FIRST_HOUR);

/** One server and one state table for all trials of a file. */
export class CrashWorld {
  readonly database: TestDatabase;
  readonly table: TestTable;
  readonly sql: pg.Client;
  readonly store: FlowStore;
  #trials = 0;

  private constructor(database: TestDatabase, table: TestTable, sql: pg.Client) {
    this.database = database;
    this.table = table;
    this.sql = sql;
    this.store = createDynamoStore({ client: table.client(), tableName: table.tableName, clock: () => STORE_TIME });
  }

  static async open(): Promise<CrashWorld> {
    const database = await createTestDatabase();
    const sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    return new CrashWorld(database, await createTestTable(), sql);
  }

  async close(): Promise<void> {
    await this.sql.end();
    await this.database.drop();
    await this.table.drop();
  }

  trial(): Promise<Trial> {
    this.#trials += 1;
    return Trial.open(this, this.#trials);
  }
}

/** One flow over one table; a worker that is going to be stopped, and one that is well; a clock that moves when told. */
export class Trial {
  readonly flow: string;
  readonly #world: CrashWorld;
  readonly #source: { readonly schema: string; readonly table: string };
  readonly #sink: { readonly schema: string; readonly table: string };
  readonly #frontend: Frontend & { close(): Promise<void> };
  readonly #closers: (() => Promise<unknown>)[] = [];
  #now: Instant = instant(FIRST_HOUR + 100n * HOUR);

  private constructor(world: CrashWorld, id: number) {
    this.#world = world;
    this.flow = `flow ${id}`;
    this.#source = { schema: 'public', table: `source ${id}` };
    this.#sink = { schema: 'public', table: `sink ${id}` };
    this.#frontend = createPostgresFrontend({ connection: world.database.url, namespace: 'crash' });
    this.#closers.push(() => this.#frontend.close());
  }

  static async open(world: CrashWorld, id: number): Promise<Trial> {
    const trial = new Trial(world, id);
    await world.sql.query(
      `CREATE TABLE "${trial.#source.table}" (id serial, "time" timestamptz, key text, value bigint)`,
    );
    return trial;
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
    await this.#world.sql.query(`DROP TABLE IF EXISTS "${this.#source.table}", "${this.#sink.table}"`);
  }

  get now(): Instant {
    return this.#now;
  }

  advance(seconds: bigint): void {
    this.#now = instant(this.#now + seconds * SECOND);
  }

  /** The worker that is well. */
  get well(): EngineDeps {
    return this.#deps(this.#world.store, this.#frontend);
  }

  /** Runs `work` on a worker that stops at `point`, until it ends or has died. Returns what was counted. */
  async stopped(work: (deps: EngineDeps) => Promise<unknown>, point: StopPoint | null): Promise<Stop> {
    const client = this.#world.table.client();
    const proxy = await PostgresProxy.start(this.#world.database.url);
    const frontend = createPostgresFrontend({ connection: proxy.url, namespace: 'crash' });
    await frontend.checkServer();
    const stop = new Stop(point, client, proxy);
    const store = createDynamoStore({ client, tableName: this.#world.table.tableName, clock: () => STORE_TIME });
    const ended = work(this.#deps(store, frontend)).catch((error: unknown) => {
      if (!(error instanceof SluiceError) || error.code === 'internal') throw error;
    });
    await Promise.race([ended, stop.died]);
    // The dead one's connection stays open until the trial is over, like that of a frozen process.
    this.#closers.push(() => proxy.close());
    return stop;
  }

  #deps(store: FlowStore, frontend: Frontend): EngineDeps {
    const nothing = () => Promise.resolve();
    return {
      store,
      frontend: () => frontend,
      schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
      clock: () => this.#now,
      wait: nothing,
      log: () => undefined,
    };
  }

  /** Short, so that what a dead worker holds on the server ends within a fifth of a second. */
  tick(deps: EngineDeps): Promise<unknown> {
    const deadline = instant(this.#now + 4_500_000n);
    return tick(deps, { flow: this.flow, owner: 'worker', deadline, trigger: 'request' });
  }

  draft(least: number, shape: 'windows' | 'whole' = 'windows'): FlowDraft {
    const { generation: _, ...draft } = hourlyDefinition(this.flow, this.#source, this.#sink);
    const { compiled } = draft;
    const [head = '', tail = ''] = compiled.text;
    const options = { ...draft.options, maxRanges: 3, maxWindows: 3, mergeDistance: 0 };
    if (shape === 'whole') {
      const whole = { ...compiled, text: [`${head}value >= ${least}${tail}`], holes: [], window: null };
      return { ...draft, options, evalInterval: MINUTE, compiled: whole };
    }
    return { ...draft, options, compiled: { ...compiled, text: [`${head}value >= ${least} AND `, tail] } };
  }

  async create(least = 0, shape: 'windows' | 'whole' = 'windows'): Promise<void> {
    await createFlow(this.well, this.draft(least, shape), 'create');
    await this.untilQuiet();
  }

  /** Rows at so many hours, committed and marked. */
  async insert(hours: readonly number[], value = 1): Promise<void> {
    const rows = hours.map((hour) => `('${timeOf(hour)}', ${hour % 3 === 0 ? 'NULL' : `'k${hour % 2}'`}, ${value})`);
    await this.#world.sql.query(`INSERT INTO "${this.#source.table}" ("time", key, value) VALUES ${rows.join(', ')}`);
    await this.#mark(hours);
  }

  async change(hour: number): Promise<void> {
    await this.#world.sql.query(
      `UPDATE "${this.#source.table}" SET value = value + 1 WHERE "time" = '${timeOf(hour)}'`,
    );
    await this.#mark([hour]);
  }

  async remove(hour: number): Promise<void> {
    await this.#world.sql.query(`DELETE FROM "${this.#source.table}" WHERE "time" = '${timeOf(hour)}'`);
    await this.#mark([hour]);
  }

  async #mark(hours: readonly number[]): Promise<void> {
    const timestamps = hours.map((hour) => instant(FIRST_HOUR + BigInt(hour) * HOUR));
    await markTable(this.well, 'default', this.#source, { timestamps, ranges: [] });
  }

  async load(): Promise<LoadedFlow> {
    const loaded = await this.#world.store.load(this.flow, { limit: 100, order: 'newest' });
    if (loaded === null) throw new Error('the flow has no state');
    return loaded;
  }

  /** Ticks of the worker that is well, past every lease, until nothing is left. Returns what is not as it should be. */
  async untilQuiet(): Promise<string[]> {
    for (let round = 0; round < 30; round++) {
      this.advance(100n);
      await this.tick(this.well);
      const { state, dirty, definition } = await this.load();
      const current = definition !== null && state.generation === definition.generation;
      if (current && dirty.length === 0 && state.lease === null && state.inFlight === null) return this.differences();
    }
    const { state, dirty } = await this.load();
    return [
      `not quiet: ${JSON.stringify({ state, dirty }, (_key, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    ];
  }

  /** The sink against the query of the definition in force. */
  async differences(): Promise<string[]> {
    const { definition } = await this.load();
    const least = /value >= (\d+)/.exec(definition?.compiled.text[0] ?? '')?.[1] ?? '0';
    const query = `SELECT date_trunc('hour', "time") AS label, key, count(*) AS count, sum(value)::bigint AS sum
      FROM "${this.#source.table}" WHERE value >= ${least} GROUP BY 1, 2`;
    const sink = `SELECT label, key, count, sum FROM "${this.#sink.table}"`;
    const { rows } = await this.#world.sql.query<{ row: string }>(`
      SELECT 'missing ' || r::text AS row FROM ((${query}) EXCEPT ALL (${sink})) AS r
      UNION ALL SELECT 'surplus ' || r::text FROM ((${sink}) EXCEPT ALL (${query})) AS r`);
    return rows.map(({ row }) => row);
  }

  async history(): Promise<readonly string[]> {
    const { runs } = await this.#world.store.runs(this.flow, { limit: 100 });
    return runs.map((run) => run.outcome);
  }
}

function timeOf(hour: number): string {
  return formatInstant(instant(FIRST_HOUR + BigInt(hour) * HOUR + 5n * MINUTE));
}
