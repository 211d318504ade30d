import { expect } from 'vitest';
import type { FlowDefinition } from '../../lib/flow/definition.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import { HOUR, instant } from '../../lib/window/instant.ts';
import { bareState, HOSTILE_NAMES, sampleDefinition, U64_MAX } from './store-samples.ts';
import type { StoreCheck } from './store-under-test.ts';

async function definitionOf(store: FlowStore, flow: string): Promise<FlowDefinition | null | undefined> {
  return (await store.load(flow, { limit: 1, order: 'newest' }))?.definition;
}

async function listed(store: FlowStore): Promise<string[]> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    names.push(...page.flows.map((flow) => flow.name));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return names;
}

/** Reads `tables` of schema `flow`, each by its column `at`. */
function reading(flow: string, tables: readonly string[], generation: bigint): FlowDefinition {
  const sample = sampleDefinition(flow, { generation });
  const sources = tables.map((table) => ({ schema: flow, table, timeColumn: 'at' }));
  return { ...sample, compiled: { ...sample.compiled, sources, beneath: [] } };
}

async function readers(store: FlowStore, flow: string, table: string): Promise<string[]> {
  return (await store.readersOf('default', { schema: flow, table })).map((reader) => reader.flow);
}

export const DEFINITION_CHECKS: Record<string, StoreCheck> = {
  'a definition comes back exactly, once its flow has a state': async ({ store, other }, flow) => {
    const definitions = [
      sampleDefinition(`${flow} a`, { generation: U64_MAX }),
      sampleDefinition(`${flow} b`, {
        comment: null,
        expireAfter: null,
        evalInterval: null,
        updateAt: false,
        compiled: { ...sampleDefinition(flow).compiled, window: null, keys: [], sources: [], holes: [] },
      }),
      sampleDefinition(`${flow} c`, {
        comment: '',
        compiled: {
          ...sampleDefinition(flow).compiled,
          window: {
            spec: { kind: 'calendar', unit: 'month', zone: 'Europe/Berlin' },
            column: 'month',
            expression: ['', ''],
            argumentType: 'timestamp',
          },
        },
      }),
    ];
    for (const definition of definitions) {
      await store.putDefinition(definition, null);
      expect(await definitionOf(store, definition.name)).toBeUndefined();
      await store.begin(definition.name, null, bareState());
      expect(await definitionOf(other, definition.name)).toEqual(definition);
    }
  },

  'a query of 64 KB beside a hundred dirty windows is one load': async ({ store }, flow) => {
    const query = `SELECT '${'x'.repeat(64 * 1024 - 9)}'`;
    const definition = sampleDefinition(flow, { query });
    const large = { ...definition, compiled: { ...definition.compiled, text: [query, query] } };
    await store.begin(flow, null, bareState());
    await store.putDefinition(large, null);
    await store.markDirty(
      Array.from({ length: 101 }, (_, i) => ({
        flow,
        range: { start: instant(BigInt(i) * HOUR), end: instant(BigInt(i + 1) * HOUR) },
      })),
    );
    const loaded = await store.load(flow, { limit: 100, order: 'newest' });
    expect(loaded?.definition).toEqual(large);
    expect(loaded?.dirty).toHaveLength(100);
    expect(loaded?.more).toBe(true);
  },

  'a query over 64 KB is refused and nothing is stored': async ({ store }, flow) => {
    await store.begin(flow, null, bareState());
    const definition = { ...reading(flow, ['t'], 1n), query: 'ü'.repeat(32 * 1024 + 1) };
    await expect(store.putDefinition(definition, null)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await definitionOf(store, flow)).toBeNull();
    expect(await readers(store, flow, 't')).toEqual([]);
    expect(await listed(store)).not.toContain(flow);
  },

  'a reader says by which windows its flow reads a table': async ({ store }, flow) => {
    const definition = sampleDefinition(flow);
    await store.putDefinition(definition, null);
    const [windowed, whole] = definition.compiled.sources;
    if (windowed === undefined || whole === undefined) throw new Error('the sample has two sources');
    expect(await store.readersOf('default', windowed)).toEqual([
      {
        flow,
        window: definition.compiled.window?.spec,
        timeColumn: windowed.timeColumn,
        refreshesWhole: false,
        expireAfter: definition.expireAfter,
      },
    ]);
    const unwindowed = { flow, window: null, timeColumn: null, expireAfter: definition.expireAfter };
    expect(await store.readersOf('default', whole)).toEqual([{ ...unwindowed, refreshesWhole: true }]);
    const ignoring = { ...definition, options: { ...definition.options, onDimensionChange: 'ignore' as const } };
    await store.putDefinition(ignoring, definition);
    expect(await store.readersOf('default', whole)).toEqual([{ ...unwindowed, refreshesWhole: false }]);
    expect(await store.readersOf('another', windowed)).toEqual([]);
  },

  'readers of tables with hostile names do not meet': async ({ store }, flow) => {
    const tables = [
      { schema: 'a/b', table: 'c' },
      { schema: 'a', table: 'b/c' },
      { schema: 'a%2Fb', table: 'c' },
      { schema: 'a', table: 'b' },
      { schema: 'a#FLOW', table: 'b' },
      { schema: 'a', table: 'b#FLOW' },
      { schema: '', table: 'ab' },
      ...HOSTILE_NAMES.map((table) => ({ schema: 'hostile', table })),
      ...HOSTILE_NAMES.map((schema) => ({ schema, table: 'hostile' })),
    ];
    for (const [i, table] of tables.entries()) {
      const definition = sampleDefinition(`${flow} ${i}`);
      const sources = [{ ...table, timeColumn: 'at' }];
      await store.putDefinition({ ...definition, compiled: { ...definition.compiled, sources } }, null);
    }
    for (const [i, table] of tables.entries()) {
      expect((await store.readersOf('default', table)).map((reader) => reader.flow)).toEqual([`${flow} ${i}`]);
    }
  },

  'many flows with hostile names read one table, and are listed once each': async ({ store }, flow) => {
    const names = HOSTILE_NAMES.map((name) => `${name.slice(0, 20)} r`);
    for (const name of names) {
      const { compiled, ...rest } = sampleDefinition(name);
      const sources = [{ schema: flow, table: 'shared', timeColumn: 'at' }];
      await store.putDefinition({ ...rest, compiled: { ...compiled, sources } }, null);
    }
    expect((await readers(store, flow, 'shared')).toSorted()).toEqual(names.toSorted());
    const all = await listed(store);
    for (const name of names) expect(all.filter((each) => each === name)).toHaveLength(1);
  },

  'a name or connection that cannot be a key is refused': async ({ store }, flow) => {
    for (const table of [
      { schema: 'half \ud83d', table: 't' },
      { schema: 's', table: 't'.repeat(3000) },
    ]) {
      await expect(store.readersOf('default', table)).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.claimSink('default', table, flow)).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.sinkHolder('default', table)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  },

  'a replaced definition is no reader of the tables that it no longer reads': async ({ store }, flow) => {
    await store.begin(flow, null, bareState());
    const first = reading(flow, ['a', 'b'], 1n);
    const second = reading(flow, ['b', 'c'], 2n);
    await store.putDefinition(first, null);
    await store.putDefinition(second, first);
    expect(await definitionOf(store, flow)).toEqual(second);
    expect(await readers(store, flow, 'a')).toEqual([]);
    expect(await readers(store, flow, 'b')).toEqual([flow]);
    expect(await readers(store, flow, 'c')).toEqual([flow]);
  },

  'a definition moved to another connection is a reader there only': async ({ store }, flow) => {
    const first = reading(flow, ['a'], 1n);
    await store.putDefinition(first, null);
    const second = { ...reading(flow, ['a'], 2n), options: { ...first.options, connection: 'other' } };
    await store.putDefinition(second, first);
    expect(await readers(store, flow, 'a')).toEqual([]);
    expect(await store.readersOf('other', { schema: flow, table: 'a' })).toHaveLength(1);
  },

  'a put that ends after any write is completed by repeating it': async ({ store, faults }, flow) => {
    await store.begin(flow, null, bareState());
    const first = reading(flow, ['a'], 1n);
    const second = { ...reading(flow, ['b'], 2n), comment: 'second' };
    await store.putDefinition(first, null);
    for (const [operation, earlier] of [
      ['PutItem', 0],
      ['PutItem', 1],
      ['PutItem', 2],
      ['DeleteItem', 0],
    ] as const) {
      faults.plan(operation, 'not_sent', 3, earlier);
      await expect(store.putDefinition(second, first)).rejects.toMatchObject({ code: 'store_unavailable' });
      // A table is marked for its flow before the definition that reads it can be in force.
      if ((await definitionOf(store, flow))?.comment === 'second')
        expect(await readers(store, flow, 'b')).toEqual([flow]);
      // Until the last step, a table that the former definition reads is marked too.
      expect(await readers(store, flow, 'a')).toEqual([flow]);
    }
    await store.putDefinition(second, first);
    await store.putDefinition(second, first);
    expect(await definitionOf(store, flow)).toEqual(second);
    expect(await readers(store, flow, 'a')).toEqual([]);
    expect(await readers(store, flow, 'b')).toEqual([flow]);
  },

  'a put whose answers are lost succeeds': async ({ store, faults }, flow) => {
    await store.begin(flow, null, bareState());
    const definition = reading(flow, ['a', 'b'], 1n);
    faults.plan('PutItem', 'answer_lost', 2);
    await store.putDefinition(definition, null);
    expect(await definitionOf(store, flow)).toEqual(definition);
  },

  'a definition of an earlier generation gives way to a later one and leaves no reader behind': async (
    { store, other },
    flow,
  ) => {
    await store.begin(flow, null, bareState());
    const early = reading(flow, ['a', 'b'], 9n);
    const late = { ...reading(flow, ['b', 'c'], 10n), expireAfter: null };
    await other.putDefinition(late, null);
    await expect(store.putDefinition(early, null)).rejects.toMatchObject({ code: 'conflict' });
    expect(await definitionOf(store, flow)).toEqual(late);
    expect(await readers(store, flow, 'a')).toEqual([]);
    expect(await store.readersOf('default', { schema: flow, table: 'b' })).toMatchObject([{ flow, expireAfter: null }]);
    expect(await readers(store, flow, 'c')).toEqual([flow]);
  },

  'a put that is overtaken between its writes gives way': async ({ store, other, faults }, flow) => {
    const early = reading(flow, ['a', 'b'], 9n);
    const late = { ...reading(flow, ['b', 'c'], 10n), comment: 'late' };
    for (const earlier of [0, 1, 2, 3]) {
      const name = `${flow} ${earlier}`;
      const as = (definition: FlowDefinition) => ({ ...definition, name });
      await store.begin(name, null, bareState());
      faults.before('PutItem', () => other.putDefinition(as(late), null), earlier);
      await expect(store.putDefinition(as(early), null)).rejects.toMatchObject({ code: 'conflict' });
      expect(await definitionOf(store, name)).toEqual(as(late));
      expect(await readers(store, flow, 'a')).not.toContain(name);
      expect(await readers(store, flow, 'b')).toContain(name);
      expect((await store.list({ limit: 1000 })).flows.find((each) => each.name === name)?.comment).toBe('late');
    }
  },

  'generations are compared as numbers': async ({ store }, flow) => {
    await store.begin(flow, null, bareState());
    for (const generation of [9n, 10n, 100n, 2n ** 53n, 2n ** 53n + 1n, U64_MAX]) {
      const definition = reading(flow, ['a'], generation);
      await store.putDefinition(definition, null);
      expect(await definitionOf(store, flow)).toEqual(definition);
    }
    await expect(store.putDefinition(reading(flow, ['a'], 99n), null)).rejects.toMatchObject({ code: 'conflict' });
  },

  'a removed definition is gone from everywhere, while the state stays as a tombstone': async ({ store }, flow) => {
    const state = bareState({ epoch: 5n });
    await store.begin(flow, null, state);
    const definition = reading(flow, ['a', 'b'], 5n);
    await store.putDefinition(definition, null);
    expect(await listed(store)).toContain(flow);
    await store.removeDefinition(definition);
    await store.removeDefinition(definition);
    expect(await store.load(flow, { limit: 1, order: 'newest' })).toEqual({
      state,
      definition: null,
      dirty: [],
      more: false,
    });
    expect(await readers(store, flow, 'a')).toEqual([]);
    expect(await readers(store, flow, 'b')).toEqual([]);
    expect(await listed(store)).not.toContain(flow);
  },

  'a removal that comes late spares the definition of a successor of the same name': async ({ store, other }, flow) => {
    await store.begin(flow, null, bareState());
    const first = reading(flow, ['a'], 1n);
    const second = reading(flow, ['a'], 4n);
    await store.putDefinition(first, null);
    await other.removeDefinition(first);
    await other.putDefinition(second, null);
    await store.removeDefinition(first);
    expect(await definitionOf(store, flow)).toEqual(second);
    expect(await readers(store, flow, 'a')).toEqual([flow]);
    expect(await listed(store)).toContain(flow);
  },

  'a removal that ends after any request still has the definition to be repeated by': async (
    { store, faults },
    flow,
  ) => {
    await store.begin(flow, null, bareState());
    const definition = reading(flow, ['a'], 1n);
    await store.putDefinition(definition, null);
    for (const earlier of [0, 1, 2]) {
      faults.plan('DeleteItem', 'not_sent', 3, earlier);
      await expect(store.removeDefinition(definition)).rejects.toMatchObject({ retryable: true });
      expect(await definitionOf(store, flow)).toEqual(definition);
    }
    await store.removeDefinition(definition);
    expect(await definitionOf(store, flow)).toBeNull();
  },

  'flows are listed by name in pages, each once, and the last page says so': async ({ store }, flow) => {
    const names = Array.from({ length: 7 }, (_, i) => `${flow} ${i}`);
    for (const name of names.toReversed()) await store.putDefinition(sampleDefinition(name), null);
    const all = await listed(store);
    expect(all.filter((name) => names.includes(name))).toEqual(names);
    for (const limit of [1, 2, all.length - 1, all.length, all.length + 1].filter((n) => n <= 1000)) {
      const paged: string[] = [];
      let pages = 0;
      let cursor: string | undefined;
      do {
        const page = await store.list({ limit, ...(cursor === undefined ? {} : { cursor }) });
        expect(page.flows.length).toBeGreaterThan(0);
        expect(page.flows.length).toBeLessThanOrEqual(limit);
        paged.push(...page.flows.map((each) => each.name));
        cursor = page.cursor;
        pages++;
      } while (cursor !== undefined);
      expect(paged).toEqual(all);
      expect(pages).toBe(Math.ceil(all.length / limit));
    }
    const { name, sink, query, comment, options } = sampleDefinition(names[0] ?? '');
    expect((await store.list({ limit: 1000 })).flows).toContainEqual({
      name,
      sink,
      query,
      comment,
      connection: options.connection,
    });
  },

  'names are listed in the order of their UTF-8 bytes': async ({ store }, flow) => {
    const names = [`${flow} 😀`, `${flow} \uffee`, `${flow} Z`, `${flow} a`];
    for (const name of names) await store.putDefinition(sampleDefinition(name), null);
    const all = await listed(store);
    expect(all.filter((name) => names.includes(name))).toEqual([
      `${flow} Z`,
      `${flow} a`,
      `${flow} \uffee`,
      `${flow} 😀`,
    ]);
  },

  'a bad cursor or page size is refused': async ({ store }, flow) => {
    await store.appendRun(flow, {
      at: instant(0n),
      epoch: 1n,
      coverage: 'unfiltered_full',
      ranges: [],
      outcome: 'failed',
      reason: '',
      rows: null,
      queryMs: 0,
      tickMs: 0,
      gridTime: null,
    });
    const foreign = Buffer.from('runs:plain').toString('base64url');
    const long = Buffer.from(`flows:${'x'.repeat(2000)}`).toString('base64url');
    for (const cursor of ['', 'x', 'not a cursor', '*'.repeat(5000), foreign, `${foreign}=`, long]) {
      await expect(store.list({ limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.runs(flow, { limit: 1, cursor })).rejects.toMatchObject({ code: 'invalid_request' });
    }
    for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
      await expect(store.list({ limit })).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(store.runs(flow, { limit })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  },
};
