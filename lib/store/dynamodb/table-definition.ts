import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';

export const PARTITION_KEY = 'pk';
export const SORT_KEY = 'sk';
/** Epoch seconds, on lines of history only. DynamoDB deletes such an item some time later: readers filter. */
export const TTL_ATTRIBUTE = 'expiresAt';

/** The one table, for CreateTable. Point-in-time recovery and TTL are settings of a table that exists already. */
export function tableDefinition(tableName: string) {
  return {
    TableName: tableName,
    AttributeDefinitions: [
      { AttributeName: PARTITION_KEY, AttributeType: 'S' },
      { AttributeName: SORT_KEY, AttributeType: 'S' },
    ],
    KeySchema: [
      { AttributeName: PARTITION_KEY, KeyType: 'HASH' },
      { AttributeName: SORT_KEY, KeyType: 'RANGE' },
    ],
    BillingMode: 'PAY_PER_REQUEST',
  } satisfies CreateTableCommandInput;
}
