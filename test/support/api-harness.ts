import { setTimeout as wait } from 'node:timers/promises';
import { type DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import pg from 'pg';
import { createApiHandler } from '../../functions/api.ts';
import { createIngestHandler, type IngestHandler } from '../../functions/ingest.ts';
import { createTickHandler, type TickAnswer } from '../../functions/tick.ts';
import type { EngineDeps } from '../../lib/engine/deps.ts';
import { SluiceError } from '../../lib/errors.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { httpApiEvent } from '../../lib/local/http-event.ts';
import { lambdaContext } from '../../lib/local/lambda-context.ts';
import { createLocalClock } from '../../lib/schedule/local-clock.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import { engineLog } from '../../lib/telemetry/engine-log.ts';
import { createLogger, type Logger } from '../../lib/telemetry/logger.ts';
import { fromEpochMillis, type Instant } from '../../lib/window/instant.ts';
import { createTestDatabase } from './database.ts';
import { createTestTable } from './dynamo-table.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests look at
  readonly body: any;
  readonly text: string;
}

export interface CallOptions {
  readonly body?: unknown;
  /** In place of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export interface ApiHarness {
  /** `target` as in a request line: percent-encoded, with a query string if any. */
  call(method: string, target: string, options?: CallOptions): Promise<ApiAnswer>;
  readonly ingest: IngestHandler;
  /** One tick, as the clock's own. */
  tick(flow: string): Promise<TickAnswer>;
  readonly engine: EngineDeps;
  readonly database: pg.Client;
  /** Until every tick that was asked for is over, and those that these ask for. */
  quiet(): Promise<void>;
  /** Drops every flow with its sink. */
  dropFlows(): Promise<void>;
  /** Lets ticks come, `rest` before each, until the flow has nothing left to do. Throws where it never has, or fails. */
  settle(flow: string, rest: () => void | Promise<void>): Promise<void>;
  /** Ticks are kept back until the harness is let go again. */
  hold(): void;
  release(): void;
  /** Every item of the state table, in key order. */
  stored(): Promise<readonly string[]>;
  /** Every table of the database, with its columns. */
  relations(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * The handlers that are deployed, over a real PostgreSQL and dynalite. Ticks come when somebody asks for one, and never by
 * themselves. The clock stands still unless it is moved.
 */
export async function openApiHarness(
  now: () => Instant = () => fromEpochMillis(Date.now()),
  log: Logger = createLogger({ level: 'silent' }),
): Promise<ApiHarness> {
  const [table, testDatabase] = await Promise.all([createTestTable(), createTestDatabase()]);
  const database = new pg.Client({ connectionString: testDatabase.url });
  await database.connect();
  const frontend = createPostgresFrontend({ connection: testDatabase.url, namespace: table.tableName });
  let running = 0;
  let held = Promise.withResolvers<void>();
  held.resolve();
  const idle: (() => void)[] = [];
  const clock = createLocalClock({
    tickSeconds: 3600,
    deliver: async (flow, { reason }) => {
      running += 1;
      try {
        await held.promise;
        await tick({ detail: { flow, reason } }, contextOf(30_000));
      } finally {
        running -= 1;
        // A tick that asks for another has done so before it is over.
        setImmediate(() => {
          if (running === 0) for (const tell of idle.splice(0)) tell();
        });
      }
    },
    onError: () => undefined,
    now,
    setTimer: () => () => undefined,
  });
  const engine: EngineDeps = {
    store: createDynamoStore({ client: table.client(), tableName: table.tableName, clock: now }),
    frontend: (connection) => {
      if (connection === 'default') return frontend;
      throw new SluiceError('invalid_option', `there is no connection ${JSON.stringify(connection)}; there is default`);
    },
    schedule: clock,
    clock: now,
    wait: (ms) => wait(ms),
    log: engineLog(log),
  };
  const tick = createTickHandler({ engine, log });
  const api = createApiHandler({ engine, log });

  const harness: ApiHarness = {
    engine,
    tick: (flow) => tick({ detail: { flow, reason: 'schedule' } }, contextOf(30_000)),
    database,
    ingest: createIngestHandler({ engine, log }),
    async call(method, target, { body, raw, headers = {}, timeoutMs = 29_000 } = {}) {
      const bytes = Buffer.from(raw ?? (body === undefined ? '' : JSON.stringify(body)));
      const event = httpApiEvent({
        method,
        target,
        headers: {
          host: 'api.test',
          ...(bytes.length === 0 ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: bytes,
        sourceIp: '127.0.0.1',
        requestId: 'request-1',
        epochMs: 0,
      });
      if (event === null) throw new Error(`an HTTP API would not take ${target}`);
      const answer = await api(event, contextOf(timeoutMs));
      const text = answer.body ?? '';
      return {
        status: answer.statusCode ?? 0,
        headers: answer.headers as Record<string, string>,
        text,
        body: text === '' ? null : JSON.parse(text),
      };
    },
    quiet: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => idle.push(resolve))),
    async dropFlows() {
      for (const { name } of (await harness.call('GET', '/flows')).body.flows) {
        await harness.call('DELETE', `/flows/${encodeURIComponent(name)}?sink=drop`);
      }
    },
    async settle(flow, rest) {
      for (let ticks = 0; ticks < 200; ticks++) {
        await rest();
        await clock.requestTick(flow, 'continue');
        await harness.quiet();
        const { body } = await harness.call('GET', `/flows/${flow}/state`);
        if (body.last_error !== null) throw new Error(`${flow}: ${body.last_error.message}`);
        if (body.dirty.ranges.length === 0) return;
      }
      throw new Error(`${flow} was never quiet`);
    },
    hold() {
      held = Promise.withResolvers();
    },
    release: () => held.resolve(),
    stored: () => scanAll(table.client(), table.tableName),
    async relations() {
      const { rows } = await database.query<{ relation: string }>(
        `SELECT format('%I.%I(%s)', c.table_schema, c.table_name, string_agg(c.column_name, ',' ORDER BY c.ordinal_position)) AS relation
         FROM information_schema.columns AS c WHERE c.table_schema NOT IN ('pg_catalog', 'information_schema') AND c.table_schema NOT LIKE 'sluice%'
         GROUP BY c.table_schema, c.table_name ORDER BY 1`,
      );
      return rows.map(({ relation }) => relation);
    },
    async close() {
      held.resolve();
      await clock.stop();
      await frontend.close();
      await database.end();
      await Promise.all([table.drop(), testDatabase.drop()]);
    },
  };
  return harness;
}

function contextOf(timeoutMs: number) {
  return lambdaContext({
    functionName: 'test',
    requestId: 'request-1',
    timeoutMs,
    elapsed: () => performance.now(),
  });
}

async function scanAll(client: DynamoDBClient, tableName: string): Promise<string[]> {
  const items: string[] = [];
  let from: Record<string, never> | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: tableName,
        ConsistentRead: true,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      }),
    );
    items.push(...(page.Items ?? []).map((item) => JSON.stringify(Object.entries(item).sort())));
    from = page.LastEvaluatedKey as typeof from;
  } while (from !== undefined);
  return items.sort();
}
