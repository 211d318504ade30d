import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import type { Instant } from '../../lib/window/instant.ts';
import { createTestTable } from '../support/dynamo-table.ts';
import { attachFaults } from '../support/faulty-dynamo.ts';
import { StoreFaults } from '../support/store-faults.ts';
import { flowStoreContract, type StoreUnderTest } from './flow-store-suite.ts';
import { NOON } from './store-samples.ts';

async function dynamoUnderTest(): Promise<StoreUnderTest> {
  const table = await createTestTable();
  const faults = new StoreFaults();
  let now = NOON;
  const client = table.client();
  attachFaults(client, faults);
  const options = { tableName: table.tableName, clock: () => now };
  return {
    store: createDynamoStore({ ...options, client }),
    other: createDynamoStore({ ...options, client: table.client() }),
    faults,
    setNow: (next: Instant) => {
      now = next;
    },
    close: () => table.drop(),
  };
}

flowStoreContract('DynamoDB on dynalite', dynamoUnderTest);
