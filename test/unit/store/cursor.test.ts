import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromCursor, toCursor } from '../../../lib/store/cursor.ts';

const RUN = `${'1'.repeat(20)}#${'2'.repeat(20)}`;

describe('cursors', () => {
  it('give back the key, whatever is in a name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 15 }), (name) => {
        expect(fromCursor('flows', toCursor('flows', name))).toBe(name);
      }),
    );
    expect(fromCursor('runs', toCursor('runs', RUN))).toBe(RUN);
  });

  it('refuse everything else', () => {
    const refused = { code: 'invalid_request' };
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => fromCursor('runs', text)).toThrow(expect.objectContaining(refused));
      }),
    );
    const flows = toCursor('flows', 'a');
    for (const cursor of [
      toCursor('runs', RUN),
      `${flows}=`,
      ` ${flows}`,
      `${flows}\n`,
      toCursor('flows', 'x'.repeat(64)),
    ]) {
      expect(() => fromCursor('flows', cursor)).toThrow(expect.objectContaining(refused));
    }
    for (const cursor of [toCursor('flows', RUN), toCursor('runs', 'a'), toCursor('runs', `${RUN} `)]) {
      expect(() => fromCursor('runs', cursor)).toThrow(expect.objectContaining(refused));
    }
  });

  it('are safe in a URL', () => {
    expect(toCursor('flows', '~?>>\u00ff/+')).toMatch(/^[\w-]+$/);
  });
});
