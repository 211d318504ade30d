import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

/**
 * A client whose requests end: three attempts, each given up after `attemptMs`, so that a store which does not answer costs a tick
 * its turn and not its lease. The SDK's own default waits for ever.
 */
export function createDynamoClient(
  config: DynamoDBClientConfig = {},
  { attemptMs = 2_000 }: { readonly attemptMs?: number } = {},
): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: Math.min(attemptMs, 1_000),
      requestTimeout: attemptMs,
      throwOnRequestTimeout: true,
    },
    ...config,
  });
}
