import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  claimKey,
  definitionKey,
  dirtyKey,
  type ItemKey,
  listingKey,
  parseDirtySk,
  readerKey,
  runKey,
  sortableInstant,
  stateKey,
} from '../../../lib/store/dynamodb/keys.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant } from '../../../lib/window/instant.ts';

const instants = fc.bigInt({ min: INSTANT_MIN, max: INSTANT_MAX }).map((t) => instant(t));
/** Drawn mostly from what keys are made of. */
const names = fc.string({ unit: fc.constantFrom('a', 'b', '#', '/', '%', '2', 'F', '"', 'ü', '😀'), maxLength: 6 });

function one({ pk, sk }: ItemKey): string {
  return JSON.stringify([pk, sk]);
}

describe('sortable instants', () => {
  it('have 20 digits, and their order is the order of time', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        const [x, y] = [sortableInstant(a), sortableInstant(b)];
        expect(x).toMatch(/^\d{20}$/);
        expect(x < y).toBe(a < b);
        expect(x === y).toBe(a === b);
      }),
    );
  });

  it('hold every 64-bit instant', () => {
    expect(sortableInstant(-(2n ** 63n) as Instant)).toBe('0'.repeat(20));
    expect(sortableInstant((2n ** 63n - 1n) as Instant)).toBe('18446744073709551615');
    expect(sortableInstant(instant(0n))).toBe('09223372036854775808');
  });
});

describe('keys', () => {
  it('of dirty windows are read back exactly', () => {
    fc.assert(
      fc.property(instants, instants, (start, end) => {
        expect(parseDirtySk(dirtyKey('f', { start, end }).sk)).toEqual({ start, end });
      }),
    );
  });

  it.each(['DIRTY#1#2', 'DIRTY#00000000000000000001', 'STATE', ''])('refuse %j as a dirty window', (sk) => {
    expect(() => parseDirtySk(sk)).toThrow('a stored dirty window has the key');
  });

  it('differ where any name differs', () => {
    const tuple = fc.tuple(names, names, names, names);
    fc.assert(
      fc.property(tuple, tuple, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        const reader = ([connection, schema, table, flow]: typeof a) =>
          one(readerKey(connection, { schema, table }, flow));
        expect(reader(a) === reader(b)).toBe(same);
        const claim = ([connection, schema, table]: typeof a) => one(claimKey(connection, { schema, table }));
        expect(claim(a) === claim(b)).toBe(JSON.stringify(a.slice(0, 3)) === JSON.stringify(b.slice(0, 3)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('of different kinds never meet', () => {
    fc.assert(
      fc.property(names, names, names, instants, (a, b, c, t) => {
        const keys = [
          stateKey(a),
          definitionKey(a),
          dirtyKey(a, { start: t, end: t }),
          listingKey(a),
          runKey(a, t, 1n),
          readerKey(a, { schema: b, table: c }, a),
          claimKey(a, { schema: b, table: c }),
        ];
        expect(new Set(keys.map(one)).size).toBe(keys.length);
      }),
    );
  });

  it('order a partition backwards as state, definition, backfill parts, then dirty windows newest first', () => {
    const at = (t: bigint) => dirtyKey('f', { start: instant(t), end: instant(t + 1n) }).sk;
    const wanted = [stateKey('f').sk, definitionKey('f').sk, 'FILL#1#1', at(5n), at(0n), at(-5n)];
    expect(wanted.toSorted().toReversed()).toEqual(wanted);
  });

  it('order lines of history by time, then by epoch', () => {
    const at = (t: bigint, epoch: bigint) => runKey('f', instant(t), epoch).sk;
    const wanted = [at(-1n, 9n), at(0n, 9n), at(0n, 10n), at(0n, 2n ** 64n - 1n), at(1n, 1n)];
    expect(wanted.toSorted()).toEqual(wanted);
  });

  it('leave no separator in a name that is followed by another', () => {
    const { pk } = readerKey('a#b', { schema: 'c/d', table: 'e%2Ff' }, 'g');
    expect(pk).toBe('TABLE#a%23b/c%2Fd/e%252Ff');
  });

  it('fit DynamoDB at the longest names allowed', () => {
    const { pk } = claimKey('%'.repeat(200), { schema: '#'.repeat(200), table: '/'.repeat(200) });
    expect(Buffer.byteLength(pk)).toBeLessThanOrEqual(2048);
    const over = { schema: 's', table: 't'.repeat(600) };
    expect(() => claimKey('c', over)).toThrow('at most 600');
  });
});
