import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type Attributes, text } from './attribute-codec.ts';
import { encodeKey } from './codec.ts';
import type { Condition } from './conditions.ts';
import type { ItemKey } from './keys.ts';
import { isConditionFailure, translateStoreError } from './store-errors.ts';

/** A part of a partition, in key order or against it. */
export interface ItemQuery {
  readonly pk: string;
  /** Condition on the sort key `#sk`, with its values. */
  readonly sk?: { readonly condition: string; readonly values: Readonly<Record<string, string>> };
  readonly backwards?: boolean;
  /** Sort key of the item after which the query begins. */
  readonly after?: string;
  /** Most items of one page. */
  readonly pageSize?: number;
}

/** Single-item requests on the one table, with errors in the words of the port. Reads are strongly consistent. */
export interface ItemTable {
  get(key: ItemKey): Promise<Attributes | null>;
  /** False: the condition does not hold. */
  put(item: Attributes, condition?: Condition): Promise<boolean>;
  set(key: ItemKey, attributes: Attributes): Promise<void>;
  /** False: the condition does not hold. */
  remove(key: ItemKey, condition?: Condition): Promise<boolean>;
  /** Pages, each as DynamoDB cuts it (1 MB at most), until the end. */
  query(query: ItemQuery): AsyncGenerator<readonly Attributes[], void, undefined>;
}

export function createItemTable(client: DynamoDBClient, tableName: string): ItemTable {
  const TableName = tableName;

  async function translated<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw translateStoreError(error, tableName);
    }
  }

  async function conditionally(request: () => Promise<unknown>): Promise<boolean> {
    try {
      await request();
      return true;
    } catch (error) {
      if (isConditionFailure(error)) return false;
      throw translateStoreError(error, tableName);
    }
  }

  return {
    async get(key) {
      const command = new GetItemCommand({ TableName, Key: encodeKey(key), ConsistentRead: true });
      const { Item } = await translated(() => client.send(command));
      return Item ?? null;
    },

    put: (item, condition) =>
      conditionally(() => client.send(new PutItemCommand({ TableName, Item: item, ...condition }))),

    async set(key, attributes) {
      const names = Object.keys(attributes);
      const command = new UpdateItemCommand({
        TableName,
        Key: encodeKey(key),
        UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
        ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
        ExpressionAttributeValues: Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [`:${name}`, value]),
        ),
      });
      await translated(() => client.send(command));
    },

    remove: (key, condition) =>
      conditionally(() => client.send(new DeleteItemCommand({ TableName, Key: encodeKey(key), ...condition }))),

    async *query({ pk, sk, backwards = false, after, pageSize }) {
      let start: Record<string, AttributeValue> | undefined =
        after === undefined ? undefined : encodeKey({ pk, sk: after });
      do {
        const command: QueryCommand = new QueryCommand({
          TableName,
          ConsistentRead: true,
          ScanIndexForward: !backwards,
          KeyConditionExpression: sk === undefined ? '#pk = :pk' : `#pk = :pk AND ${sk.condition}`,
          ExpressionAttributeNames: { '#pk': 'pk', ...(sk === undefined ? {} : { '#sk': 'sk' }) },
          ExpressionAttributeValues: {
            ':pk': text.encode(pk),
            ...Object.fromEntries(Object.entries(sk?.values ?? {}).map(([name, value]) => [name, text.encode(value)])),
          },
          ...(pageSize === undefined ? {} : { Limit: pageSize }),
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        });
        const page = await translated(() => client.send(command));
        yield page.Items ?? [];
        start = page.LastEvaluatedKey;
      } while (start !== undefined);
    },
  };
}

/** The first `count` items of a query. */
export async function takeItems(
  table: ItemTable,
  query: Omit<ItemQuery, 'pageSize'>,
  count: number,
): Promise<Attributes[]> {
  const items: Attributes[] = [];
  for await (const page of table.query({ ...query, pageSize: count })) {
    items.push(...page);
    if (items.length >= count) break;
  }
  return items.slice(0, count);
}
