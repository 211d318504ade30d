import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { createFlow } from '../../lib/engine/lifecycle.ts';
import { markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import { HOUR, instant, SECOND } from '../../lib/window/instant.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { createTestTable, type TestTable } from '../support/dynamo-table.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { countRequests, type RequestCounter } from '../support/request-counter.ts';

/** 2023-11-14T22:00:00Z. */
const START = 1_699_999_200_000_000n;
const SOURCE = { schema: 'public', table: 'source' };

let database: TestDatabase;
let table: TestTable;
let requests: RequestCounter;
let proxy: PostgresProxy;
let sql: pg.Client;
let deps: EngineDeps;
let close: () => Promise<void>;

beforeAll(async () => {
  database = await createTestDatabase();
  table = await createTestTable();
  const client = table.client();
  requests = countRequests(client);
  proxy = await PostgresProxy.start(database.url);
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query('CREATE TABLE source ("time" timestamptz, key text, value bigint)');
  const frontend = createPostgresFrontend({ connection: proxy.url, namespace: 'count' });
  close = () => frontend.close();
  const nothing = () => Promise.resolve();
  deps = {
    store: createDynamoStore({ client, tableName: table.tableName }),
    frontend: () => frontend,
    schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
    clock: () => instant(START + 1_000n * HOUR),
    wait: nothing,
    log: () => undefined,
  };
  for (const name of ['first', 'second']) {
    const { generation: _, ...draft } = hourlyDefinition(name, SOURCE, { schema: 'public', table: `${name}_sink` });
    await createFlow(deps, { ...draft, options: { ...draft.options, mergeDistance: 0, maxWindows: 5 } }, 'create');
  }
});

afterAll(async () => {
  await close();
  await proxy.close();
  await sql.end();
  await database.drop();
  await table.drop();
});

async function tickOf(flow: string): Promise<string> {
  const deadline = instant(deps.clock() + 60n * SECOND);
  const { action } = await tick(deps, { flow, owner: 'w', deadline, trigger: 'request' });
  return action;
}

/** Requests of each kind to the store, and simple queries sent to the database. */
async function counted(work: () => Promise<unknown>): Promise<{ store: Record<string, number>; messages: string[] }> {
  requests.reset();
  const before = proxy.messages.length;
  await work();
  const messages = proxy.messages.slice(before).filter(({ type }) => type === 'Q');
  return { store: requests.counts(), messages: messages.map(({ text }) => /^\w+/.exec(text)?.[0] ?? '') };
}

const marks = (...hours: number[]) => ({
  timestamps: hours.map((hour) => instant(START + BigInt(hour) * HOUR + 60n * SECOND)),
  ranges: [],
});

describe('requests that each path costs', () => {
  beforeEach(async () => {
    for (const flow of ['first', 'second']) while ((await tickOf(flow)) !== 'idle');
  });

  it('an idle tick is one read', async () => {
    expect(await counted(() => tickOf('first'))).toEqual({ store: { Query: 1 }, messages: [] });
  });

  it('a busy tick is one read of the flow and one of who reads its sink, begin, commit, one line of history, a delete for each mark, and one transaction', async () => {
    await sql.query(`INSERT INTO source VALUES ('2023-11-14 22:01Z', 'a', 1), ('2023-11-15 01:01Z', 'a', 1)`);
    await markTable(deps, 'default', SOURCE, marks(0, 3, 6));
    const { store, messages } = await counted(async () => expect(await tickOf('first')).toBe('committed'));
    expect(store).toEqual({ Query: 2, PutItem: 3, DeleteItem: 3 });
    expect(messages).toEqual(['BEGIN', 'SET', 'COMMIT']);
  });

  it('a busy tick whose plan changes no row asks nobody who reads the sink', async () => {
    await markTable(deps, 'default', SOURCE, marks(3));
    const { store } = await counted(async () => expect(await tickOf('first')).toBe('committed'));
    expect(store).toEqual({ Query: 1, PutItem: 3, DeleteItem: 1 });
  });

  it('a range that is longer than one plan costs one more question to the database', async () => {
    await sql.query(
      `INSERT INTO source SELECT '2023-11-14 22:01Z'::timestamptz + n * interval '1 hour', 'b', 1 FROM generate_series(0, 7) AS n`,
    );
    await markTable(deps, 'default', SOURCE, marks(0, 1, 2, 3, 4, 5, 6, 7));
    const { store, messages } = await counted(async () => expect(await tickOf('first')).toBe('committed'));
    // One mark, of which a part is left and is marked anew before the old one goes.
    expect(store).toEqual({ Query: 2, PutItem: 3, UpdateItem: 1, DeleteItem: 1 });
    expect(messages.slice(-3)).toEqual(['BEGIN', 'SET', 'COMMIT']);
    expect(messages.filter((message) => message === 'BEGIN')).toHaveLength(2);
  });

  it('a mark of a table is one read and one write for each flow and window, coalesced within the request', async () => {
    const change = marks(0, 0, 1, 5, 5, 9);
    expect(await counted(() => markTable(deps, 'default', SOURCE, change))).toEqual({
      store: { Query: 1, UpdateItem: 2 * 3 },
      messages: [],
    });
  });
});
