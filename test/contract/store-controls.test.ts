import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { STORE_CHECKS } from './flow-store-suite.ts';
import { dynamoUnderTest } from './store-dynamo-under-test.ts';

type Input = Record<string, unknown>;

/** Takes a guard away from an adapter on its way to the wire. */
interface Sabotage {
  readonly what: string;
  readonly apply: (client: DynamoDBClient) => void;
  readonly random?: () => string;
  /** Titles of promises that are then broken. */
  readonly breaks: readonly string[];
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'that does not recognise its own write',
    apply: (client) => {
      client.middlewareStack.add(
        (next) => async (args) => {
          const result = await next(args);
          const { Item } = result.output as { Item?: Input };
          if (Item?.['writeId'] !== undefined) Item['writeId'] = { S: 'of somebody' };
          return result;
        },
        { step: 'initialize' },
      );
    },
    breaks: [
      'a begin whose answer is lost succeeds when it is sent again',
      'commit and abort whose answers are lost twice succeed',
      'a caller that repeats a commit after every answer was lost is told that it succeeded',
    ],
  },
  {
    what: 'whose writes all have one id',
    apply: () => undefined,
    random: () => 'the same',
    breaks: [
      'two changes that write equal states are not taken for each other',
      'a commit after another worker took a new epoch is a conflict and changes nothing',
    ],
  },
  {
    what: 'whose marks all have one version',
    apply: () => undefined,
    random: () => 'the same',
    breaks: [
      'each mark has a version of its own, and a window marked again a new one',
      'a settle that is replayed spares a mark that was made after the first',
      'a mark between a delete whose answer is lost and its repetition stays',
    ],
  },
  {
    what: 'that writes the state without a condition',
    apply: (client) => unconditional(client, 'PutItemCommand'),
    breaks: [
      'of many begins on one state that run at once exactly one succeeds',
      'of two first writes one succeeds, and the other learns who holds the lease',
      'a commit after another worker took a new epoch is a conflict and changes nothing',
      'a lost answer does not hide that another worker wrote in between',
    ],
  },
  {
    what: 'that compares the version of the state and not its epoch',
    apply: (client) => condition(client, '#epoch = :epoch AND #version = :version', '#version = :version', 'epoch'),
    breaks: ['epochs are compared as numbers of 64 bits, not as floating point'],
  },
  {
    what: 'that compares the epoch of the state and not its version',
    apply: (client) => condition(client, '#epoch = :epoch AND #version = :version', '#epoch = :epoch', 'version'),
    breaks: [
      'a write under the same epoch and an older version is a conflict, without a holder if nobody holds the lease',
    ],
  },
  {
    what: 'that settles without a condition',
    apply: (client) => unconditional(client, 'DeleteItemCommand'),
    breaks: [
      'a window marked again after it was read is not settled',
      'a settle that is replayed spares a mark that was made after the first',
      'a mark that arrives during a settle, before the delete is sent, stays',
      'a mark made between the reading and the deleting of clearDirty stays',
      'nobody releases the claim of another flow',
      'a removal that comes late spares the definition of a successor of the same name',
    ],
  },
  {
    what: 'that writes definitions and claims without a condition',
    apply: (client) => unconditional(client, 'PutItemCommand'),
    breaks: [
      'a definition of an earlier generation gives way to a later one and leaves no reader behind',
      'of many claims at once exactly one succeeds, and the others name it',
    ],
  },
];

function edit(client: DynamoDBClient, commandName: string, change: (input: Input) => Input): void {
  client.middlewareStack.add(
    (next, context) => (args) =>
      context.commandName === commandName ? next({ ...args, input: change({ ...args.input }) as never }) : next(args),
    { step: 'initialize' },
  );
}

function unconditional(client: DynamoDBClient, commandName: string): void {
  edit(client, commandName, ({ TableName, Key, Item }) => ({ TableName, Key, Item }));
}

function condition(client: DynamoDBClient, from: string, to: string, dropped: string): void {
  edit(client, 'PutItemCommand', (input) => {
    if (input['ConditionExpression'] !== from) return input;
    const without = (map: unknown, key: string) =>
      Object.fromEntries(Object.entries(map as Input).filter(([name]) => name !== key));
    return {
      ...input,
      ConditionExpression: to,
      ExpressionAttributeNames: without(input['ExpressionAttributeNames'], `#${dropped}`),
      ExpressionAttributeValues: without(input['ExpressionAttributeValues'], `:${dropped}`),
    };
  });
}

describe.each(SABOTAGES)('control: an adapter $what', ({ apply, random, breaks }) => {
  it.each(breaks)('is noticed by "%s"', async (title) => {
    const check = STORE_CHECKS[title];
    if (check === undefined) throw new Error('there is no such promise');
    const sound = await dynamoUnderTest();
    const broken = await dynamoUnderTest({ sabotage: apply, ...(random === undefined ? {} : { random }) });
    try {
      await check(sound, 'sound');
      await expect(check(broken, 'broken')).rejects.toThrow();
    } finally {
      await sound.close();
      await broken.close();
    }
  });
});
