import { randomUUID } from 'node:crypto';
import { DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { createStateTable } from '../../lib/store/dynamodb/create-state-table.ts';
import { createDynamoClient } from '../../lib/store/dynamodb/dynamo-client.ts';

export interface TestTable {
  readonly tableName: string;
  /** Each call another client, with a middleware stack of its own. */
  client(): DynamoDBClient;
  drop(): Promise<void>;
}

/** A state table of one's own on the run's dynalite. */
export async function createTestTable(): Promise<TestTable> {
  const tableName = `test-${randomUUID()}`;
  const clients: DynamoDBClient[] = [];
  const client = () => {
    const made = createDynamoClient({
      endpoint: inject('dynamoEndpoint'),
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });
    clients.push(made);
    return made;
  };
  await createStateTable(client(), tableName);
  return {
    tableName,
    client,
    async drop() {
      await client().send(new DeleteTableCommand({ TableName: tableName }));
      for (const each of clients) each.destroy();
    },
  };
}
