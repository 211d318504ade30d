import { connect } from 'node:net';
import { CreateTableCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type DynaliteServer, startDynalite } from '../../lib/local/dynalite-server.ts';
import { createDynamoClient } from '../../lib/store/dynamodb/dynamo-client.ts';
import { tableDefinition } from '../../lib/store/dynamodb/table-definition.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const KEY = { pk: { S: 'p' }, sk: { S: 's' } };

function clientOf(server: DynaliteServer) {
  const client = createDynamoClient({
    endpoint: server.endpoint,
    region: 'local',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  onTestFinished(() => client.destroy());
  return client;
}

describe('dynalite server', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = await temporaryFolder();
  });

  it('keeps its items in a data folder', async () => {
    const first = await startDynalite({ dataDir });
    const writer = clientOf(first);
    await writer.send(new CreateTableCommand(tableDefinition('kept')));
    await writer.send(new PutItemCommand({ TableName: 'kept', Item: { ...KEY, n: { N: '42' } } }));
    await first.stop();

    const second = await startDynalite({ dataDir });
    onTestFinished(() => second.stop());
    const { Item } = await clientOf(second).send(
      new GetItemCommand({ TableName: 'kept', Key: KEY, ConsistentRead: true }),
    );
    expect(Item?.n).toEqual({ N: '42' });
  });

  it('survives clients that hang up in the middle of a request', async () => {
    const server = await startDynalite();
    onTestFinished(() => server.stop());
    const { port } = new URL(server.endpoint);
    for (let i = 0; i < 3; i++) {
      const socket = connect(Number(port), '127.0.0.1');
      await new Promise((resolve) =>
        socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"half', resolve),
      );
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.resetAndDestroy();
      await closed;
    }
    const answer = await fetch(server.endpoint);
    expect(await answer.text()).toContain('healthy');
  });
});
