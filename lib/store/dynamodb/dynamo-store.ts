import { randomUUID } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { fromEpochMillis, type Instant } from '../../window/instant.ts';
import type { FlowStore } from '../flow-store.ts';
import { createClaimItems } from './claim-items.ts';
import { createDefinitionItems } from './definition-items.ts';
import { createDirtyItems } from './dirty-items.ts';
import { createItemTable } from './item-table.ts';
import { createRunItems } from './run-items.ts';
import { createStateItems } from './state-items.ts';

export interface DynamoStoreOptions {
  /** With bounded retries and a request timeout: see `createDynamoClient`. */
  readonly client: DynamoDBClient;
  readonly tableName: string;
  /** Never the same text twice, anywhere: versions of marks and ids of writes. */
  readonly random?: () => string;
  /** Only tells which lines of history have expired. */
  readonly clock?: () => Instant;
}

/** All state of all flows in one DynamoDB table: see `keys.ts` for its layout. */
export function createDynamoStore({
  client,
  tableName,
  random = randomUUID,
  clock = () => fromEpochMillis(Date.now()),
}: DynamoStoreOptions): FlowStore {
  const table = createItemTable(client, tableName);
  return {
    ...createStateItems(table, random),
    ...createDirtyItems(table, random),
    ...createDefinitionItems(table),
    ...createClaimItems(table),
    ...createRunItems(table, clock),
  };
}
