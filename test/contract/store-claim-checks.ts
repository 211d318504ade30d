import { expect } from 'vitest';
import { HOSTILE_NAMES, sampleDefinition } from './store-samples.ts';
import type { StoreCheck } from './store-under-test.ts';

export const CLAIM_CHECKS: Record<string, StoreCheck> = {
  'a sink is claimed by one flow, again by the same, and free once it is released': async ({ store, other }, flow) => {
    const sink = { schema: flow, table: 'sink' };
    expect(await store.sinkHolder('default', sink)).toBeNull();
    await store.claimSink('default', sink, 'a');
    await other.claimSink('default', sink, 'a');
    expect(await other.sinkHolder('default', sink)).toBe('a');
    await expect(other.claimSink('default', sink, 'b')).rejects.toMatchObject({
      code: 'sink_taken',
      details: { holder: 'a' },
    });
    expect(await store.sinkHolder('default', sink)).toBe('a');
    await store.releaseSink('default', sink, 'a');
    await store.releaseSink('default', sink, 'a');
    expect(await store.sinkHolder('default', sink)).toBeNull();
    await other.claimSink('default', sink, 'b');
    expect(await store.sinkHolder('default', sink)).toBe('b');
  },

  'nobody releases the claim of another flow': async ({ store, other }, flow) => {
    const sink = { schema: flow, table: 'sink' };
    await store.claimSink('default', sink, 'a');
    await other.releaseSink('default', sink, 'b');
    expect(await store.sinkHolder('default', sink)).toBe('a');
  },

  'of many claims at once exactly one succeeds, and the others name it': async ({ store, other }, flow) => {
    const sink = { schema: flow, table: 'sink' };
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, i) => (i % 2 ? store : other).claimSink('default', sink, `flow ${i}`)),
    );
    const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [`flow ${i}`] : []));
    expect(winners).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') {
        expect(result.reason).toMatchObject({ code: 'sink_taken', details: { holder: winners[0] } });
      }
    }
    expect(await store.sinkHolder('default', sink)).toBe(winners[0]);
  },

  'a claim whose answer is lost succeeds, a release too': async ({ store, faults }, flow) => {
    const sink = { schema: flow, table: 'sink' };
    faults.plan('PutItem', 'answer_lost', 2);
    await store.claimSink('default', sink, 'a');
    expect(await store.sinkHolder('default', sink)).toBe('a');
    faults.plan('DeleteItem', 'answer_lost', 2);
    await store.releaseSink('default', sink, 'a');
    expect(await store.sinkHolder('default', sink)).toBeNull();
  },

  'a release whose answer is lost spares the claim that another flow makes before its repetition': async (
    { store, other, faults },
    flow,
  ) => {
    const sink = { schema: flow, table: 'sink' };
    await store.claimSink('default', sink, 'a');
    faults.before('DeleteItem', () => other.claimSink('default', sink, 'b'), 1);
    faults.plan('DeleteItem', 'answer_lost');
    await store.releaseSink('default', sink, 'a');
    expect(await store.sinkHolder('default', sink)).toBe('b');
  },

  'a claim that was refused succeeds if the holder releases it before it is asked for': async (
    { store, other, faults },
    flow,
  ) => {
    const sink = { schema: flow, table: 'sink' };
    await other.claimSink('default', sink, 'a');
    faults.before('GetItem', () => other.releaseSink('default', sink, 'a'));
    await store.claimSink('default', sink, 'b');
    expect(await store.sinkHolder('default', sink)).toBe('b');
  },

  'a claim is no reader, and sinks with hostile names do not meet': async ({ store }, flow) => {
    const sinks = [
      { schema: 'a/b', table: flow },
      { schema: 'a', table: `b/${flow}` },
      ...HOSTILE_NAMES.map((table) => ({ schema: flow, table })),
    ];
    for (const [i, sink] of sinks.entries()) await store.claimSink('default', sink, `flow ${i}`);
    for (const [i, sink] of sinks.entries()) {
      expect(await store.sinkHolder('default', sink)).toBe(`flow ${i}`);
      expect(await store.sinkHolder('another', sink)).toBeNull();
      expect(await store.readersOf('default', sink)).toEqual([]);
    }
  },

  'a table can be the sink of one flow and the source of another': async ({ store }, flow) => {
    const definition = sampleDefinition(flow);
    const [source] = definition.compiled.sources;
    if (source === undefined) throw new Error('the sample has a source');
    await store.claimSink('default', source, 'upstream');
    await store.putDefinition(definition, null);
    expect(await store.sinkHolder('default', source)).toBe('upstream');
    expect((await store.readersOf('default', source)).map((reader) => reader.flow)).toEqual([flow]);
    await store.releaseSink('default', source, 'upstream');
    expect(await store.readersOf('default', source)).toHaveLength(1);
  },
};
