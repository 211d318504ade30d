import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import type { Instant } from '../../lib/window/instant.ts';
import { createTestTable } from '../support/dynamo-table.ts';
import { attachFaults } from '../support/faulty-dynamo.ts';
import { StoreFaults } from '../support/store-faults.ts';
import { NOON } from './store-samples.ts';
import type { StoreUnderTest } from './store-under-test.ts';

/** `sabotage` and `random` are for controls: a store that is wrong on purpose. */
export async function dynamoUnderTest(
  options: {
    readonly endpoint?: string;
    readonly sabotage?: (client: DynamoDBClient) => void;
    readonly random?: () => string;
  } = {},
): Promise<StoreUnderTest> {
  const table = await createTestTable(options.endpoint);
  const faults = new StoreFaults();
  let now = NOON;
  const client = table.client();
  const otherClient = table.client();
  for (const each of [client, otherClient]) options.sabotage?.(each);
  attachFaults(client, faults);
  const common = {
    tableName: table.tableName,
    clock: () => now,
    ...(options.random === undefined ? {} : { random: options.random }),
  };
  return {
    store: createDynamoStore({ ...common, client }),
    other: createDynamoStore({ ...common, client: otherClient }),
    faults,
    setNow: (next: Instant) => {
      now = next;
    },
    close: () => table.drop(),
  };
}
