import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeKey } from '../../lib/store/dynamodb/codec.ts';
import { createDynamoClient } from '../../lib/store/dynamodb/dynamo-client.ts';
import { createDynamoStore } from '../../lib/store/dynamodb/dynamo-store.ts';
import { flowPk, runsPk, stateKey } from '../../lib/store/dynamodb/keys.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import { instant } from '../../lib/window/instant.ts';
import { createTestTable, type TestTable, testDynamoServers } from '../support/dynamo-table.ts';
import { countRequests, type RequestCounter } from '../support/request-counter.ts';
import { bareState, hours, NOON, sampleDefinition, sampleRun } from './store-samples.ts';

const NEWEST = { limit: 100, order: 'newest' } as const;

describe.each(testDynamoServers())('on $name', ({ endpoint }) => {
  let table: TestTable;
  let client: DynamoDBClient;
  let store: FlowStore;
  let requests: RequestCounter;
  let flows = 0;
  let flow = '';

  beforeAll(async () => {
    table = await createTestTable(endpoint);
    client = table.client();
    const counted = table.client();
    requests = countRequests(counted);
    store = createDynamoStore({ client: counted, tableName: table.tableName, clock: () => NOON });
  });
  afterAll(() => table.drop());
  beforeEach(() => {
    flow = `flow ${++flows}`;
    requests.reset();
  });

  function many(count: number): { flow: string; range: ReturnType<typeof hours> }[] {
    return Array.from({ length: count }, (_, i) => ({ flow, range: hours(BigInt(i)) }));
  }

  describe('requests', () => {
    it('a load is one Query, with a definition of 64 KB and 100 dirty windows too', async () => {
      const query = 'x'.repeat(64 * 1024);
      const definition = sampleDefinition(flow, { query });
      await store.begin(flow, null, bareState());
      await store.putDefinition({ ...definition, compiled: { ...definition.compiled, text: [query] } }, null);
      requests.reset();
      await store.load(flow, NEWEST);
      expect(requests.counts()).toEqual({ Query: 1 });
      await store.markDirty(many(100));
      requests.reset();
      await store.load(flow, NEWEST);
      expect(requests.counts()).toEqual({ Query: 1 });
    });

    it('a load of the oldest is a second Query only where more are waiting', async () => {
      await store.begin(flow, null, bareState());
      await store.markDirty(many(5));
      requests.reset();
      await store.load(flow, { limit: 5, order: 'oldest' });
      expect(requests.counts()).toEqual({ Query: 1 });
      requests.reset();
      await store.load(flow, { limit: 4, order: 'oldest' });
      expect(requests.counts()).toEqual({ Query: 2 });
    });

    it('begin, commit and a line of history are one write each; settle is one delete for each window', async () => {
      const state = bareState();
      await store.begin(flow, null, state);
      await store.commit(flow, state, { ...state, version: 2n });
      await store.appendRun(flow, sampleRun(NOON, 1n));
      expect(requests.counts()).toEqual({ PutItem: 3 });
      await store.markDirty(many(3));
      expect(requests.counts()).toEqual({ PutItem: 3, UpdateItem: 3 });
      const loaded = await store.load(flow, NEWEST);
      requests.reset();
      await store.settle(
        flow,
        (loaded?.dirty ?? []).map((window) => ({ ...window, left: [] })),
      );
      expect(requests.counts()).toEqual({ DeleteItem: 3 });
    });

    it('a mark of a table is one read and one write for each flow and window', async () => {
      const definition = sampleDefinition(flow);
      await store.putDefinition(definition, null);
      requests.reset();
      const [source] = definition.compiled.sources;
      if (source === undefined) throw new Error('the sample has a source');
      await store.readersOf('default', source);
      await store.markDirty([...many(2), ...many(2)]);
      expect(requests.counts()).toEqual({ Query: 1, UpdateItem: 2 });
    });

    it('marks and settles of one call are at most 16 at a time', async () => {
      const watched = table.client();
      let running = 0;
      let most = 0;
      watched.middlewareStack.add(
        (next) => async (args) => {
          most = Math.max(most, ++running);
          const result = await next(args);
          running -= 1;
          return result;
        },
        { step: 'initialize' },
      );
      const wide = createDynamoStore({ client: watched, tableName: table.tableName });
      await wide.begin(flow, null, bareState());
      await wide.markDirty(many(60));
      expect(most).toBe(16);
      const loaded = await wide.load(flow, NEWEST);
      most = 0;
      await wide.settle(
        flow,
        (loaded?.dirty ?? []).map((window) => ({ ...window, left: [] })),
      );
      expect(most).toBe(16);
      expect((await wide.load(flow, NEWEST))?.dirty).toEqual([]);
    });

    it('every read is strongly consistent', async () => {
      const watched = table.client();
      const reads: unknown[] = [];
      watched.middlewareStack.add(
        (next, context) => (args) => {
          if (/^(Query|GetItem)Command$/.test(String(context.commandName))) {
            reads.push((args.input as { ConsistentRead?: boolean }).ConsistentRead);
          }
          return next(args);
        },
        { step: 'initialize' },
      );
      const reading = createDynamoStore({ client: watched, tableName: table.tableName, clock: () => NOON });
      await reading.load(flow, { limit: 1, order: 'oldest' });
      await reading.sinkHolder('default', { schema: 's', table: flow });
      await reading.readersOf('default', { schema: 's', table: flow });
      await reading.list({ limit: 1 });
      await reading.runs(flow, { limit: 1 });
      await reading.clearDirty(flow);
      await reading.begin(flow, bareState(), bareState()).catch(() => undefined);
      expect(reads).toEqual(Array.from({ length: 7 }, () => true));
    });
  });

  describe('pages of 1 MB', () => {
    it('a load goes on where DynamoDB cuts a page short, until it has the dirty windows that it may have', async () => {
      await store.begin(flow, null, bareState());
      const definition = sampleDefinition(flow);
      await store.putDefinition(definition, null);
      await store.markDirty(many(20));
      // Parts of something that this release knows nothing of, larger together than a page.
      for (let part = 0; part < 5; part++) {
        const Item = { ...encodeKey({ pk: flowPk(flow), sk: `FILL#1#${part}` }), data: { S: 'x'.repeat(350 * 1024) } };
        await client.send(new PutItemCommand({ TableName: table.tableName, Item }));
      }
      requests.reset();
      const some = await store.load(flow, { limit: 10, order: 'newest' });
      expect(some?.definition).toEqual(definition);
      expect(some?.dirty.map((window) => window.start)).toEqual(
        Array.from({ length: 10 }, (_, i) => hours(BigInt(19 - i)).start),
      );
      expect(some?.more).toBe(true);
      expect(requests.total(), 'the pages were cut').toBeGreaterThan(1);
      const all = await store.load(flow, { limit: 20, order: 'newest' });
      expect(all?.dirty).toHaveLength(20);
      expect(all?.more).toBe(false);
      const oldest = await store.load(flow, { limit: 10, order: 'oldest' });
      expect(oldest?.dirty[0]?.start).toBe(hours(0n).start);
      expect(oldest?.dirty).toHaveLength(10);
    });

    it('readers, listings, history and a dropped flow are read to their end', async () => {
      const shared = [{ schema: flow, table: 'shared', timeColumn: 'at' }];
      const names = Array.from({ length: 22 }, (_, i) => `${flow} ${String(i).padStart(2, '0')}`);
      for (const name of names) {
        const definition = sampleDefinition(name, { query: 'x'.repeat(64 * 1024) });
        await store.putDefinition({ ...definition, compiled: { ...definition.compiled, sources: shared } }, null);
        await grow({ pk: `TABLE#default/${flow}/shared`, sk: `FLOW#${name}` }, 60);
      }
      requests.reset();
      const readers = await store.readersOf('default', { schema: flow, table: 'shared' });
      expect(readers.map((reader) => reader.flow)).toEqual(names);
      expect(requests.total()).toBeGreaterThan(1);
      requests.reset();
      const { flows: listed } = await store.list({ limit: 1000 });
      expect(listed.map((each) => each.name)).toEqual(expect.arrayContaining(names));
      expect(requests.total()).toBeGreaterThan(1);

      await store.begin(flow, null, bareState({ status: 'dropped' }));
      await store.markDirty(many(4));
      const dirty = await store.load(flow, NEWEST);
      for (const window of dirty?.dirty ?? []) {
        await grow({ pk: flowPk(flow), sk: `DIRTY#${key(window.start)}#${key(window.end)}` }, 350);
      }
      requests.reset();
      await store.clearDirty(flow);
      expect(requests.counts()['Query']).toBeGreaterThan(1);
      expect((await store.load(flow, NEWEST))?.dirty).toEqual([]);

      for (let epoch = 1n; epoch <= 4n; epoch++) {
        await store.appendRun(flow, sampleRun(NOON, epoch));
        await grow({ pk: runsPk(flow), sk: `${key(NOON)}#${String(epoch).padStart(20, '0')}` }, 350);
      }
      requests.reset();
      expect((await store.runs(flow, { limit: 10 })).runs.map((run) => run.epoch)).toEqual([4n, 3n, 2n, 1n]);
      expect(requests.total()).toBeGreaterThan(1);
    });

    const key = (t: bigint) => (t + 2n ** 63n).toString().padStart(20, '0');

    async function grow(where: { pk: string; sk: string }, kilobytes: number): Promise<void> {
      await client.send(
        new UpdateItemCommand({
          TableName: table.tableName,
          Key: encodeKey(where),
          UpdateExpression: 'SET later = :later',
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':later': { S: 'x'.repeat(kilobytes * 1024) } },
        }),
      );
    }
  });

  describe('items', () => {
    it('a line of history carries its expiry in seconds, 30 days after its time', async () => {
      await store.appendRun(flow, sampleRun(instant(NOON + 1n), 1n));
      const found = await client.send(
        new QueryCommand({
          TableName: table.tableName,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': { S: runsPk(flow) } },
        }),
      );
      const seconds = Number(found.Items?.[0]?.['expiresAt']?.N);
      expect(seconds).toBe(Number(NOON / 1_000_000n) + 30 * 24 * 3600);
    });

    it('a mark keeps attributes of a later release', async () => {
      await store.begin(flow, null, bareState());
      const range = hours(1n);
      await store.markDirty([{ flow, range }]);
      const Key = encodeKey({ pk: flowPk(flow), sk: 'DIRTY#09223372040454775808#09223372044054775808' });
      const TableName = table.tableName;
      await client.send(
        new UpdateItemCommand({
          TableName,
          Key,
          UpdateExpression: 'SET origin = :o',
          ExpressionAttributeValues: { ':o': { S: 'cdc' } },
        }),
      );
      await store.markDirty([{ flow, range }]);
      const { Item } = await client.send(new GetItemCommand({ TableName, Key }));
      expect(Item).toMatchObject({ origin: { S: 'cdc' }, schema: { N: '1' } });
      expect((await store.load(flow, NEWEST))?.dirty).toMatchObject([{ ...range, version: Item?.['v']?.S }]);
    });

    it('a state over 400 KB is refused with the bound, and the stored one stays', async () => {
      const state = bareState();
      await store.begin(flow, null, state);
      const checkpoints = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`region ${i}`, 'x'.repeat(90_000)]));
      await expect(store.commit(flow, state, { ...state, version: 2n, checkpoints })).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('400 KB'),
      });
      expect((await store.load(flow, NEWEST))?.state).toEqual(state);
    });

    it('an error message of any length is stored, cut off where nobody reads on', async () => {
      const state = bareState();
      await store.begin(flow, null, state);
      const lastError = { code: 'query_failed', message: `${'x'.repeat(1_999)}😀${'y'.repeat(500_000)}`, at: NOON };
      await store.commit(flow, state, { ...state, version: 2n, lastError });
      const message = (await store.load(flow, NEWEST))?.state.lastError?.message;
      expect(message).toBe(`${'x'.repeat(1_999)}\ufffd…`);
      await store.appendRun(flow, sampleRun(NOON, 1n, { reason: 'z'.repeat(500_000) }));
      expect((await store.runs(flow, { limit: 1 })).runs[0]?.reason).toBe(`${'z'.repeat(2_000)}…`);
    });

    it('a state that is unreadable is an error that names the item', async () => {
      const Item = { ...encodeKey(stateKey(flow)), schema: { N: '1' }, epoch: { S: 'many' } };
      await client.send(new PutItemCommand({ TableName: table.tableName, Item }));
      await expect(store.load(flow, NEWEST)).rejects.toMatchObject({
        code: 'internal',
        message: expect.stringContaining(`FLOW#${flow}/STATE.epoch`),
      });
    });
  });

  describe('a store that cannot be reached', () => {
    it('without the table is store_unavailable and says what to check', async () => {
      const lost = createDynamoStore({ client: table.client(), tableName: 'no-such-table' });
      await expect(lost.load(flow, NEWEST)).rejects.toMatchObject({
        code: 'store_unavailable',
        retryable: true,
        details: { hint: expect.stringContaining('table name') },
      });
    });

    it('without a server is store_unavailable', async () => {
      const nowhere = createDynamoClient({
        endpoint: 'http://127.0.0.1:1',
        region: 'us-east-1',
        credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      });
      const lost = createDynamoStore({ client: nowhere, tableName: table.tableName });
      await expect(lost.markDirty([{ flow, range: hours(1n) }])).rejects.toMatchObject({
        code: 'store_unavailable',
        retryable: true,
      });
      nowhere.destroy();
    });

    it('on a server that takes requests and never answers is store_unavailable after three attempts', async () => {
      let taken = 0;
      const server = createServer(() => {
        taken += 1;
      });
      const listening = Promise.withResolvers<void>();
      server.listen(0, '127.0.0.1', listening.resolve);
      await listening.promise;
      const silent = createDynamoClient(
        {
          endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          region: 'us-east-1',
          credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        },
        { attemptMs: 50 },
      );
      const lost = createDynamoStore({ client: silent, tableName: table.tableName });
      await expect(lost.load(flow, NEWEST)).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
      expect(taken).toBe(3);
      silent.destroy();
      server.closeAllConnections();
      server.close();
    });
  });
});
