import { describe, expect, it } from 'vitest';
import { checkInput } from '../../../lib/api/check-input.ts';
import { changeOf, MOST_MARKS, markBody } from '../../../lib/api/mark-schema.ts';
import { parseTablePath } from '../../../lib/api/names.ts';
import { SluiceError } from '../../../lib/errors.ts';

function refusal(act: () => unknown): SluiceError {
  try {
    act();
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  throw new Error('not refused');
}

const read = (body: unknown) => changeOf(checkInput(markBody, body, 'body'));

describe('body of a mark', () => {
  it('is read to the microsecond', () => {
    expect(
      read({
        timestamps: ['1970-01-01T00:00:00.000001Z', '+294276-12-31T23:59:59.999999Z'],
        ranges: [['1970-01-01T02:00:00+02:00', '1970-01-01T00:00:00.000002Z']],
      }),
    ).toEqual({ timestamps: [1n, 9_224_318_015_999_999_999n], ranges: [{ start: 0n, end: 2n }] });
  });

  const t = '2024-01-01T00:00:00Z';
  it.each<[unknown, RegExp]>([
    [{}, /nothing to mark/],
    [{ timestamps: [], ranges: [] }, /nothing to mark/],
    [{ timestamps: ['yesterday'] }, /body\.timestamps\[0\].*yesterday/],
    [{ timestamps: ['2024-01-01'] }, /body\.timestamps\[0\].*no time of day/],
    [{ timestamps: ['2024-01-01T00:00:00'] }, /body\.timestamps\[0\].*offset/],
    [{ timestamps: ['2024-02-30T00:00:00Z'] }, /body\.timestamps\[0\].*day/],
    [{ timestamps: [t, 1_704_067_200_000] }, /body\.timestamps\[1\]: expected string, received number/],
    [{ timestamps: t }, /body\.timestamps: expected array/],
    [{ timestamps: null }, /body\.timestamps: expected array/],
    [{ ranges: [[t]] }, /body\.ranges\[0\]/],
    [{ ranges: [[t, t, t]] }, /body\.ranges\[0\]/],
    [{ ranges: [{ from: t, to: t }] }, /body\.ranges\[0\]/],
    [{ ranges: [[t, t]] }, /body\.ranges\[0\].*zero length/],
    [{ ranges: [['2024-01-02T00:00:00Z', t]] }, /body\.ranges\[0\].*negative length/],
    [{ timestamp: [t] }, /unknown field "timestamp", did you mean "timestamps"\?/],
    [{ timestamps: [t], 'x y': 1 }, /unknown field "x y"/],
    [JSON.parse(`{"timestamps":["${t}"],"__proto__":{}}`), /unknown field "__proto__"/],
    [[], /body: expected object, received array/],
    [null, /body: expected object, received null/],
    ['text', /body: expected object, received string/],
  ])('refuses %j', (body, says) => {
    const error = refusal(() => read(body));
    expect(error.code).toBe('invalid_request');
    expect(error.message).toMatch(says);
  });

  it('is bounded, and says to split what is longer', () => {
    const many = (length: number) => ({ timestamps: Array.from({ length }, () => t) });
    expect(read(many(MOST_MARKS)).timestamps).toHaveLength(MOST_MARKS);
    expect(refusal(() => read(many(MOST_MARKS + 1))).message).toMatch(/split/);
  });

  it('tells the first findings of many, and how many more there are', () => {
    const error = refusal(() => read({ timestamps: Array.from({ length: 500 }, () => 'x') }));
    expect(error.details.problems).toHaveLength(10);
    expect(error.message).toMatch(/and 490 more$/);
  });
});

describe('parseTablePath', () => {
  it.each([
    ['flights', { schema: 'public', table: 'flights' }],
    ['Flights', { schema: 'public', table: 'flights' }],
    ['raw.Flights', { schema: 'raw', table: 'flights' }],
    ['"Raw"."Fl.ights"', { schema: 'Raw', table: 'Fl.ights' }],
    ['raw."say ""hi"""', { schema: 'raw', table: 'say "hi"' }],
    ['ÄRGER', { schema: 'public', table: 'Ärger' }],
    ['my-table', { schema: 'public', table: 'my-table' }],
    ['"a/b?"', { schema: 'public', table: 'a/b?' }],
  ])('reads %s', (text, name) => {
    expect(parseTablePath(text)).toEqual(name);
  });

  it.each(['', '.', 'a.', '.a', 'a.b.c', '"a', 'a"b', '""', 'a.""', `"${'x'.repeat(64)}"`, 'a\0b', '"a"b'])(
    'refuses %j',
    (text) => {
      expect(refusal(() => parseTablePath(text)).code).toBe('invalid_request');
    },
  );
});
