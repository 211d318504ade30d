import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inParallel } from '../../../lib/store/dynamodb/in-parallel.ts';

describe('inParallel', () => {
  it('works on every item once, at most so many at a time', async () => {
    const done: number[] = [];
    let running = 0;
    let most = 0;
    await inParallel(
      Array.from({ length: 50 }, (_, i) => i),
      7,
      async (item) => {
        most = Math.max(most, ++running);
        await nextTurn();
        running -= 1;
        done.push(item);
      },
    );
    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(most).toBe(7);
  });

  it('after a failure begins nothing new, waits for what is under way, then throws it', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const work = inParallel([1, 2, 3, 4, 5, 6], 3, async (item) => {
      begun.push(item);
      await nextTurn();
      if (item === 2) throw new Error('two');
      await nextTurn();
      ended.push(item);
    });
    await expect(work).rejects.toThrow('two');
    expect(begun).toEqual([1, 2, 3]);
    expect(ended).toEqual([1, 3]);
  });

  it('of nothing is done at once', async () => {
    await expect(inParallel([], 4, () => Promise.reject(new Error('never')))).resolves.toBeUndefined();
  });
});
