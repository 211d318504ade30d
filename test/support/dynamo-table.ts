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

/** The run's dynalite, and the server named by SLUICE_TEST_DYNAMODB_URL if set: the contract suite runs over each. */
export function testDynamoServers(): { readonly name: string; readonly endpoint: string }[] {
  const other = process.env['SLUICE_TEST_DYNAMODB_URL'];
  return [
    { name: 'dynalite', endpoint: inject('dynamoEndpoint') },
    ...(other ? [{ name: 'SLUICE_TEST_DYNAMODB_URL', endpoint: other }] : []),
  ];
}

/** A state table of one's own on `endpoint` (default: the run's dynalite). */
export async function createTestTable(endpoint: string = inject('dynamoEndpoint')): Promise<TestTable> {
  const tableName = `test-${randomUUID()}`;
  const clients: DynamoDBClient[] = [];
  const client = () => {
    const made = createDynamoClient({
      endpoint,
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
