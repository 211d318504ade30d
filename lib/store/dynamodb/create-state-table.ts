import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { translateStoreError } from './store-errors.ts';
import { tableDefinition } from './table-definition.ts';

/** Creates the table where no stack does it, and returns once it can be used. One that is there already is kept. */
export async function createStateTable(client: DynamoDBClient, tableName: string): Promise<void> {
  try {
    await client.send(new CreateTableCommand(tableDefinition(tableName)));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw translateStoreError(error, tableName);
  }
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 1 }, { TableName: tableName });
}
