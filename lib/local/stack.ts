import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  CreateTableCommand,
  DescribeTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
} from '@aws-sdk/client-dynamodb';
import { createApiHandler } from '../../functions/api.ts';
import type { HandlerDeps } from '../../functions/runtime.ts';
import { createTickHandler, type TickHandler } from '../../functions/tick.ts';
import type { EngineDeps } from '../engine/deps.ts';
import { SluiceError } from '../errors.ts';
import { createPostgresFrontend } from '../frontend/postgres/postgres-frontend.ts';
import { createLocalClock, type LocalClock } from '../schedule/local-clock.ts';
import { EVENT_SOURCE, TICK_DETAIL_TYPE, type TickReason } from '../schedule/tick-event.ts';
import { createDynamoClient } from '../store/dynamodb/dynamo-client.ts';
import { createDynamoStore } from '../store/dynamodb/dynamo-store.ts';
import { tableDefinition } from '../store/dynamodb/table-definition.ts';
import type { FlowStore } from '../store/flow-store.ts';
import { engineLog } from '../telemetry/engine-log.ts';
import type { Logger } from '../telemetry/logger.ts';
import { fromEpochMillis, type Instant, toEpochMillis } from '../window/instant.ts';
import { type DynaliteServer, startDynalite } from './dynalite-server.ts';
import type { PortWish } from './free-port.ts';
import { startHttpServer } from './http-server.ts';
import { lambdaContext } from './lambda-context.ts';
import { startPostgres } from './postgres-server.ts';

export interface StackOptions {
  readonly dataDir: string | null;
  readonly port: PortWish;
  readonly databasePort: PortWish;
  readonly tickSeconds: number;
  readonly log: Logger;
}

export interface Stack {
  readonly api: string;
  /** With the password. */
  readonly database: string;
  /** Settles when the database server ends without having been told to; with its last words. */
  readonly databaseEnded: Promise<string>;
  /** Lets what runs come to its end, within a few seconds, and leaves no process behind. */
  stop(): Promise<void>;
}

const TABLE = 'sluice';
/** Also how long a flow stands still after a crash, which leaves its lease behind. */
const TICK_TIMEOUT_MS = 30_000;
const LONGEST_FAREWELL_MS = 5_000;
const TABLE_POLL_MS = 10;
/** The demonstration is loaded into a new table in one transaction, which then needs no log of its rows. */
const SETTINGS = { wal_level: 'minimal', max_wal_senders: '0' };

/** Everything that AWS and a database are in a deployment, on this machine, around the handlers that are deployed. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { log } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const close of closers.splice(0).reverse()) await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    const folder = options.dataDir === null ? null : resolve(options.dataDir);
    if (folder !== null) await mkdir(folder, { recursive: true, mode: 0o700 });

    // Stopped last, started second: it is the other server that notices when somebody else uses the folder.
    let dynamo: DynaliteServer | null = null;
    closers.push(async () => dynamo?.stop());
    const clock = createLocalClock({
      tickSeconds: options.tickSeconds,
      deliver: async (flow, { reason, at }) => void (await tick(tickEvent(flow, reason, at), tickContext())),
      onError: (flow, error) => log.error({ flow, err: error }, 'the tick failed'),
      now,
      setTimer: (callback, milliseconds) => {
        const timer = setTimeout(callback, milliseconds);
        return () => clearTimeout(timer);
      },
    });
    // A tick whose database has gone away still writes to the store.
    closers.push(() => clock.stop());
    const postgres = await startPostgres({
      ...(folder === null ? {} : { dataDir: join(folder, 'postgres') }),
      port: options.databasePort,
      settings: SETTINGS,
    });
    closers.push(() => postgres.stop());
    dynamo = await startDynalite(folder === null ? {} : { dataDir: join(folder, 'dynamodb') });
    const client = createDynamoClient({
      endpoint: dynamo.endpoint,
      region: 'local',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    });
    const store = createDynamoStore({ client, tableName: TABLE });
    await createTable(client);
    const frontend = createPostgresFrontend({ connection: postgres.url, namespace: TABLE });
    closers.push(() => frontend.close());

    const engine: EngineDeps = {
      store,
      frontend: (connection) => {
        if (connection === 'default') return frontend;
        throw new SluiceError(
          'invalid_option',
          `There is no connection ${JSON.stringify(connection)}; there is default.`,
        );
      },
      schedule: clock,
      clock: now,
      wait: (ms) => delay(ms),
      log: engineLog(log),
    };
    closers.push(() => Promise.race([clock.stop(), delay(LONGEST_FAREWELL_MS, undefined, { ref: false })]));
    const deps: HandlerDeps = { engine, log };
    const tick: TickHandler = createTickHandler(deps);

    const http = await startHttpServer({
      handler: createApiHandler(deps),
      port: options.port,
      onError: (error) => log.error({ err: error }, 'the request failed'),
    });
    closers.push(() => http.stop());
    await startClocks(store, clock);

    let stopping = false;
    const unexpected = Promise.withResolvers<string>();
    postgres.ended.then((said) => {
      if (!stopping) unexpected.resolve(said);
    }, unexpected.reject);
    return {
      api: http.url,
      database: postgres.url,
      databaseEnded: unexpected.promise,
      stop() {
        stopping = true;
        // What is cut off now has nothing to tell that anybody could act on.
        log.level = 'silent';
        return stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const now = (): Instant => fromEpochMillis(Date.now());

async function createTable(client: DynamoDBClient): Promise<void> {
  try {
    await client.send(new CreateTableCommand(tableDefinition(TABLE)));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  while ((await client.send(new DescribeTableCommand({ TableName: TABLE }))).Table?.TableStatus !== 'ACTIVE') {
    await delay(TABLE_POLL_MS);
  }
}

/** The event that an EventBridge rule, or a request on the event bus, gives to the tick function. */
function tickEvent(flow: string, reason: TickReason, at: Instant) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': TICK_DETAIL_TYPE,
    source: EVENT_SOURCE,
    account: '000000000000',
    time: new Date(toEpochMillis(at)).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: 'local',
    resources: [],
    detail: { flow, reason },
  };
}

function tickContext() {
  const elapsed = () => performance.now();
  return lambdaContext({ functionName: 'sluice-tick', requestId: randomUUID(), timeoutMs: TICK_TIMEOUT_MS, elapsed });
}

/** Gives every flow its clock back after a restart. */
async function startClocks(store: FlowStore, clock: LocalClock): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 100, ...(cursor === undefined ? {} : { cursor }) });
    for (const { name } of page.flows) {
      const loaded = await store.load(name, { limit: 1, order: 'newest' });
      if (loaded === null || loaded.definition === null) continue;
      const { evalInterval } = loaded.definition;
      await clock.put(name, evalInterval === null ? Number.POSITIVE_INFINITY : Number(evalInterval) / 1_000_000);
      if (loaded.state.status === 'paused') await clock.disable(name);
      else await clock.requestTick(name, 'continue');
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}
