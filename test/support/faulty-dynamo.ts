import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { StoreOperation } from './memory-store.ts';
import type { StoreFaults } from './store-faults.ts';

/** Between the SDK's retries and the wire: every attempt passes here, and a fault is met by the SDK as a real one would be. */
export function attachFaults(client: DynamoDBClient, faults: StoreFaults): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const operation = operationOf(context.commandName);
      if (operation === null) return next(args);
      const fault = await faults.onAttempt(operation);
      switch (fault) {
        case null:
          return next(args);
        case 'answer_lost':
          await next(args);
          throw hangUp('the answer is lost');
        case 'not_sent':
          throw hangUp('the request is lost');
        case 'throttled':
          return answer(400, 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException');
        case 'server_error':
          return answer(500, 'com.amazonaws.dynamodb.v20120810#InternalServerError');
        default:
          return fault satisfies never;
      }
    },
    { step: 'deserialize', name: 'faults', priority: 'low' },
  );
}

const OPERATIONS: readonly StoreOperation[] = ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'];

function operationOf(commandName: string | undefined): StoreOperation | null {
  return OPERATIONS.find((operation) => `${operation}Command` === commandName) ?? null;
}

function hangUp(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNRESET' });
}

/** As `HttpResponse` of the SDK, which looks at the shape only. */
function answer(statusCode: number, type: string): never {
  const body = new TextEncoder().encode(JSON.stringify({ __type: type, message: 'injected' }));
  return { response: { statusCode, headers: { 'content-type': 'application/x-amz-json-1.0' }, body } } as never;
}
