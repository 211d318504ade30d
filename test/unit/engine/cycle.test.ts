import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineDeps } from '../../../lib/engine/deps.ts';
import { createFlow, type FlowDraft } from '../../../lib/engine/lifecycle.ts';
import { instant, SECOND } from '../../../lib/window/instant.ts';
import { createMemoryEngine } from '../../support/memory-engine.ts';
import { flow } from './flows.ts';

let deps: EngineDeps;

beforeEach(() => {
  ({ deps } = createMemoryEngine());
});

function reading(name: string, sink: string, ...sources: string[]): FlowDraft {
  const { generation: _, ...draft } = flow();
  const tables = sources.map((table) => ({ schema: 'public', table, timeColumn: 'w' }));
  return {
    ...draft,
    name,
    sink: { schema: 'public', table: sink },
    query: 'values >= 0',
    compiled: { ...draft.compiled, sources: tables },
  };
}

const create = (draft: FlowDraft) => createFlow(deps, draft, 'or_replace');

describe('a flow that would read its own sink', () => {
  it('is refused, with the way from table to table, and leaves nothing behind', async () => {
    await expect(create(reading('f', 'a', 'x', 'a'))).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringContaining('"public"."a" reads "public"."a"'),
    });
    expect(await deps.store.load('f', { limit: 1, order: 'newest' })).toBeNull();
  });

  it('is refused through other flows', async () => {
    await create(reading('one', 'a', 'x'));
    await create(reading('two', 'b', 'y', 'a'));
    await create(reading('three', 'c', 'b', 'a'));
    await expect(create(reading('one', 'a', 'x', 'c'))).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringMatching(
        /"a" reads "public"\."c" reads "public"\."b" reads "public"\."a"|"a" reads "public"\."c" reads "public"\."a"/,
      ),
    });
    expect((await create(reading('four', 'd', 'a', 'b', 'c', 'x'))).outcome).toBe('created');
  });

  it('is refused when two changes close the cycle between them at once', async () => {
    await create(reading('one', 'a', 'x'));
    await create(reading('two', 'b', 'y'));
    const both = await Promise.allSettled([create(reading('one', 'a', 'b')), create(reading('two', 'b', 'a'))]);
    expect(both.filter(({ status }) => status === 'fulfilled').length).toBeLessThan(2);
    const sources = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const loaded = await deps.store.load(name, { limit: 1, order: 'newest' });
        return loaded?.definition?.compiled.sources.map(({ table }) => table);
      }),
    );
    expect(sources).not.toEqual([['b'], ['a']]);
  });

  it('may take the sink of a flow that reads it no more', async () => {
    await create(reading('one', 'a', 'x'));
    await create(reading('two', 'b', 'a'));
    await create(reading('two', 'b', 'x'));
    expect((await create(reading('one', 'a', 'b'))).outcome).toBe('replaced');
    expect(deps.clock()).toBeGreaterThan(instant(SECOND));
  });
});
