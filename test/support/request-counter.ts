import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

export interface RequestCounter {
  /** Requests sent since the last reset, retries included, by operation: `Query`, `PutItem`, … */
  counts(): Readonly<Record<string, number>>;
  total(): number;
  reset(): void;
}

/** Counts the DynamoDB requests that leave a client. */
export function countRequests(client: DynamoDBClient): RequestCounter {
  const counts = new Map<string, number>();
  client.middlewareStack.add(
    (next, context) => (args) => {
      const operation = String(context.commandName).replace(/Command$/, '');
      counts.set(operation, (counts.get(operation) ?? 0) + 1);
      return next(args);
    },
    { step: 'finalizeRequest', name: 'requestCounter', priority: 'low' },
  );
  return {
    counts: () => Object.fromEntries(counts),
    total: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
    reset: () => counts.clear(),
  };
}
