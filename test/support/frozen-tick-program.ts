import { writeSync } from 'node:fs';
import { tick } from '../../lib/engine/tick.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { createDynamoClient } from '../../lib/store/dynamodb/dynamo-client.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import { instant } from '../../lib/window/instant.ts';
import { StoppingSocket } from './stopping-socket.ts';

/**
 * A worker process that runs one tick and stops itself (SIGSTOP) right before the database message that begins with a given
 * text. Lines on its standard output: `stopping`, then, once continued, what became of the tick.
 */
const { databaseUrl, dynamoEndpoint, tableName, flow, now, stopAt } = JSON.parse(process.argv[2] ?? '{}');

const frontend = createPostgresFrontend({
  connection: { connectionString: databaseUrl, stream: () => new StoppingSocket(stopAt) },
  namespace: 'crash',
});
const client = createDynamoClient({
  endpoint: dynamoEndpoint,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
});
const nothing = () => Promise.resolve();
const outcome = await tick(
  {
    store: createDynamoStore({ client, tableName }),
    frontend: () => frontend,
    schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
    clock: () => instant(BigInt(now)),
    wait: nothing,
    log: () => undefined,
  },
  { flow, owner: 'frozen', deadline: instant(BigInt(now) + 4_500_000n), trigger: 'request' },
);
writeSync(1, `${outcome.action}\n`);
await frontend.close();
client.destroy();
