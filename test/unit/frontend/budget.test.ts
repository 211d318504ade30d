import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitBudget } from '../../../lib/frontend/postgres/budget.ts';

describe('splitBudget', () => {
  it('gives parts that together end before the whole, none of them zero', () => {
    fc.assert(
      fc.property(fc.double({ min: 500, max: 900_000, noNaN: true }), (total) => {
        const { fence, idle, writing, commit } = splitBudget(total);
        expect(fence + idle + writing + idle + commit).toBeLessThan(total);
        for (const part of [fence, idle, writing, commit]) {
          expect(part).toBeGreaterThanOrEqual(1);
          expect(Number.isInteger(part)).toBe(true);
        }
      }),
    );
  });

  it('leaves nearly all of a large budget to the writing statement', () => {
    expect(splitBudget(60_000)).toEqual({ total: 60_000, fence: 2000, idle: 2000, writing: 51_900, commit: 2000 });
  });

  it.each([499.9, 0, -1, Number.NaN, Number.NEGATIVE_INFINITY])('refuses %s ms as a passing fault', (total) => {
    expect(() => splitBudget(total)).toThrow(expect.objectContaining({ code: 'statement_timeout', retryable: true }));
  });
});
