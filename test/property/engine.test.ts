import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { effectiveDirty } from '../../lib/engine/effective-dirty.ts';
import { createFlow, dropFlow, type FlowDraft, pauseFlow, resumeFlow } from '../../lib/engine/lifecycle.ts';
import { markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import { HOUR, type Instant, instant, type Micros, SECOND } from '../../lib/window/instant.ts';
import { formatInstant } from '../../lib/window/rfc3339.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { createTestTable, type TestTable } from '../support/dynamo-table.ts';
import { type Mishap, Worker } from './worker.ts';

const RUNS = Number(process.env['SLUICE_PROPERTY_RUNS'] ?? 300);
/** Short, so that what a frozen worker holds on the server ends within a fifth of a second. */
const INVOCATION: Micros = 4_500_000n;
const WINDOWS = 8;

type Action =
  | {
      readonly do: 'insert' | 'update' | 'delete';
      readonly window: number;
      readonly key: string | null;
      readonly value: number;
    }
  | { readonly do: 'tick'; readonly worker: 0 | 1; readonly mishap: Mishap | null }
  | {
      readonly do: 'replace' | 'create';
      readonly worker: 0 | 1;
      readonly least: number;
      readonly mishap: Mishap | null;
    }
  | { readonly do: 'drop' | 'pause' | 'resume'; readonly worker: 0 | 1; readonly mishap: Mishap | null }
  | { readonly do: 'thaw' }
  | { readonly do: 'advance'; readonly seconds: number };

const worker = fc.constantFrom(0 as const, 1 as const);
const at = fc.integer({ min: 1, max: 8 });
const mishap: fc.Arbitrary<Mishap | null> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('dies' as const), at, sent: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('no answer' as const), at }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('freezes' as const), at: fc.integer({ min: 1, max: 4 }) }) },
);
const least = fc.integer({ min: 0, max: 3 });
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom('insert' as const, 'insert' as const, 'update' as const, 'delete' as const),
      window: fc.integer({ min: 0, max: WINDOWS - 1 }),
      key: fc.constantFrom('a', 'b', null),
      value: fc.integer({ min: 0, max: 4 }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('tick' as const), worker, mishap }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('replace' as const, 'create' as const), worker, least, mishap }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('drop' as const, 'pause' as const, 'resume' as const), worker, mishap }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('thaw' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 12 }) }),
  },
);

let database: TestDatabase;
let table: TestTable;
let store: FlowStore;
let sql: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  table = await createTestTable();
  store = createDynamoStore({ client: table.client(), tableName: table.tableName });
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
});

afterAll(async () => {
  await sql?.end();
  await database?.drop();
  await table?.drop();
});

let runs = 0;

/** One flow over one table, two workers, a clock that only moves when told. */
class Trial {
  readonly #id = ++runs;
  readonly #workers: readonly Worker[];
  readonly #flow = `flow ${this.#id}`;
  readonly #source = { schema: 'public', table: `source ${this.#id}` };
  readonly #sink = { schema: 'public', table: `sink ${this.#id}` };
  #now: Instant = instant(1_700_000_000_000_000n);

  constructor() {
    const clock = () => this.#now;
    this.#workers = [new Worker(store, database.url, clock), new Worker(store, database.url, clock)];
  }

  async prepare(): Promise<void> {
    const table = `"${this.#source.table}"`;
    await sql.query(`CREATE TABLE ${table} (id bigserial PRIMARY KEY, "time" timestamptz, key text, value bigint)`);
    await this.#create('create', 0, 0, null);
    await this.#on(1, (deps) => this.#tick(deps), null);
  }

  async act(action: Action): Promise<void> {
    switch (action.do) {
      case 'insert':
      case 'update':
      case 'delete':
        return this.#write(action);
      case 'tick':
        return this.#on(action.worker, (deps) => this.#tick(deps), action.mishap);
      case 'replace':
      case 'create':
        return this.#create(
          action.do === 'create' ? 'create' : 'or_replace',
          action.least,
          action.worker,
          action.mishap,
        );
      case 'drop':
        return this.#on(action.worker, (deps) => dropFlow(deps, this.#flow, { dropSink: false }), action.mishap);
      case 'pause':
        return this.#on(action.worker, (deps) => pauseFlow(deps, this.#flow), action.mishap);
      case 'resume':
        return this.#on(action.worker, (deps) => resumeFlow(deps, this.#flow), action.mishap);
      case 'thaw':
        for (const each of this.#workers) await each.thaw();
        return;
      case 'advance':
        this.#now = instant(this.#now + BigInt(action.seconds) * SECOND);
        return;
      default:
        return action satisfies never;
    }
  }

  #on(index: 0 | 1, work: (deps: EngineDeps) => Promise<unknown>, mishap: Mishap | null): Promise<void> {
    const chosen = this.#workers[index];
    if (chosen === undefined) throw new Error('no such worker');
    return chosen.run(work, mishap);
  }

  #tick(deps: EngineDeps): Promise<unknown> {
    const deadline = instant(this.#now + INVOCATION);
    return tick(deps, { flow: this.#flow, owner: `worker at ${this.#now}`, deadline, trigger: 'schedule' });
  }

  #create(mode: 'create' | 'or_replace', least: number, index: 0 | 1, mishap: Mishap | null): Promise<void> {
    return this.#on(index, (deps) => createFlow(deps, this.#draft(least), mode), mishap);
  }

  #draft(least: number): FlowDraft {
    const { generation: _, ...draft } = hourlyDefinition(this.#flow, this.#source, this.#sink);
    const [head = '', tail = ''] = draft.compiled.text;
    const text = [`${head}value >= ${least} AND `, tail];
    return {
      ...draft,
      options: { ...draft.options, maxRanges: 3, maxWindows: 3, mergeDistance: 1 },
      compiled: { ...draft.compiled, text },
    };
  }

  /** Commits one change, then marks what it touched: the duty of whoever writes. */
  async #write({ do: kind, window, key, value }: Extract<Action, { readonly window: number }>): Promise<void> {
    const time = formatInstant(instant(BigInt(window) * HOUR + 1_700_000_000_000_000n));
    const table = `"${this.#source.table}"`;
    const row = `(SELECT id FROM ${table} ORDER BY md5(id::text || '${window}') LIMIT 1)`;
    const epoch = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text AS "time"`;
    const keyText = key === null ? 'NULL' : `'${key}'`;
    const statement = {
      insert: `INSERT INTO ${table} ("time", key, value) VALUES ('${time}', ${keyText}, ${value}) RETURNING ${epoch('"time"')}`,
      update: `WITH old AS (SELECT id, "time" FROM ${table} WHERE id = ${row}), moved AS (UPDATE ${table} SET "time" = '${time}', value = ${value}
        WHERE id = ${row} RETURNING "time") SELECT ${epoch('"time"')} FROM (SELECT "time" FROM old UNION ALL SELECT "time" FROM moved) AS t`,
      delete: `DELETE FROM ${table} WHERE id = ${row} RETURNING ${epoch('"time"')}`,
    }[kind];
    const { rows } = await sql.query<{ time: string }>(statement);
    const timestamps = rows.map((changed) => instant(BigInt(changed.time)));
    const deps = this.#workers[0]?.deps;
    if (deps === undefined) throw new Error('no worker');
    await markTable({ ...deps, store }, 'default', this.#source, { timestamps, ranges: [] });
  }

  /** Ends everything under way and ticks until nothing is left; returns what is not as it should be. */
  async quiet(): Promise<string[]> {
    await this.act({ do: 'thaw' });
    for (let round = 0; round < 40; round++) {
      this.#now = instant(this.#now + 100n * SECOND);
      const loaded = await store.load(this.#flow, { limit: 100, order: 'newest' });
      const { state, definition } = loaded ?? {};
      if (state?.status === 'paused') await this.act({ do: 'resume', worker: 0, mishap: null });
      else if (state === undefined || !definition || state.status === 'dropping')
        await this.#create('or_replace', 1, 0, null);
      else {
        await this.#on(0, (deps) => this.#tick(deps), null);
        const after = await store.load(this.#flow, { limit: 100, order: 'newest' });
        const idle =
          after !== null && after.state.inFlight === null && after.state.lease === null && after.dirty.length === 0;
        if (idle && after.state.generation === after.definition?.generation)
          return this.#differences(after.definition.compiled.text[0] ?? '');
      }
    }
    const left = await store.load(this.#flow, { limit: 100, order: 'newest' });
    const refusals = this.#workers.flatMap((each) => each.refusals);
    return [
      `not quiet: ${JSON.stringify(left && { ...left.state, pending: effectiveDirty(left).pending }, (_, v) => String(v))}`,
      ...refusals,
    ];
  }

  async #differences(text: string): Promise<string[]> {
    const least = / WHERE value >= (\d)/.exec(text)?.[1] ?? '0';
    const query = `SELECT date_trunc('hour', "time") AS label, key, count(*) AS count, sum(value)::bigint AS sum FROM "${this.#source.table}" WHERE value >= ${least} GROUP BY 1, 2`;
    const sink = `SELECT label, key, count, sum FROM "${this.#sink.table}"`;
    const { rows } = await sql.query<{ row: string }>(
      `(SELECT 'missing ' || r::text AS row FROM ((${query}) EXCEPT ALL (${sink})) AS r) UNION ALL (SELECT 'extra ' || r::text FROM ((${sink}) EXCEPT ALL (${query})) AS r)`,
    );
    return rows.map(({ row }) => row);
  }

  async close(): Promise<void> {
    for (const each of this.#workers) await each.close();
    await sql.query(`DROP TABLE IF EXISTS "${this.#source.table}", "${this.#sink.table}"`);
  }
}

describe('rule 12: quiescent means equal', () => {
  it(`holds after ${RUNS} random histories of writers, workers, crashes and freezes`, {
    timeout: 1_500_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
        const trial = new Trial();
        try {
          await trial.prepare();
          for (const each of actions) await trial.act(each);
          expect(await trial.quiet()).toEqual([]);
        } finally {
          await trial.close();
        }
      }),
      { numRuns: RUNS, endOnFailure: false },
    );
  });
});
