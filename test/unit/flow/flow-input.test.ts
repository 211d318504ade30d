import { describe, expect, it } from 'vitest';
import type { SluiceError } from '../../../lib/errors.ts';
import { flowInputFromJson } from '../../../lib/flow/flow-input.ts';
import { DEFAULT_OPTIONS } from '../../../lib/flow/options.ts';
import { DAY, MINUTE } from '../../../lib/window/instant.ts';

const BODY = { sink: 'b', query: 'SELECT 1' };

describe('a flow in JSON', () => {
  it('has the defaults of the statement', () => {
    expect(flowInputFromJson('a', BODY)).toEqual({
      name: 'a',
      sink: { schema: 'public', table: 'b' },
      query: 'SELECT 1',
      expireAfter: null,
      evalInterval: null,
      comment: null,
      options: DEFAULT_OPTIONS,
    });
  });

  it('takes every field', () => {
    const body = {
      sink: { schema: 'S', table: 'T.t' },
      query: ' SELECT 1; ',
      expire_after: '1 day',
      eval_interval: '5 minutes',
      comment: 'c',
      options: { max_ranges: 2, order: 'oldest', time_zone: 'Europe/Berlin' },
    };
    expect(flowInputFromJson('A b', body)).toEqual({
      name: 'A b',
      sink: { schema: 'S', table: 'T.t' },
      query: 'SELECT 1',
      expireAfter: DAY,
      evalInterval: 5n * MINUTE,
      comment: 'c',
      options: { ...DEFAULT_OPTIONS, maxRanges: 2, order: 'oldest', timeZone: 'Europe/Berlin' },
    });
  });

  it('reads a sink in one string as SQL does', () => {
    expect(flowInputFromJson('a', { ...BODY, sink: 'Sch."T.t"' }).sink).toEqual({ schema: 'sch', table: 'T.t' });
  });

  it.each<[unknown, string, RegExp]>([
    [null, 'invalid_request', /JSON object/],
    [[], 'invalid_request', /JSON object/],
    [{ query: 'SELECT 1' }, 'invalid_request', /"sink" expects a table name/],
    [{ sink: 'b' }, 'invalid_request', /"query" expects.*got nothing/],
    [{ ...BODY, query: 5 }, 'invalid_request', /got a value of type number/],
    [{ ...BODY, query: '  ' }, 'invalid_query', /empty/],
    [{ ...BODY, query: 'SELECT \0' }, 'invalid_request', /NUL/],
    [{ ...BODY, query: 'SELECT \ud800' }, 'invalid_request', /surrogate/],
    [{ ...BODY, query: 'x'.repeat(65_537) }, 'invalid_query', /at most 65536/],
    [{ ...BODY, expire_afer: '1 day' }, 'invalid_request', /no field "expire_afer"\. Did you mean "expire_after"\?/],
    [{ ...BODY, expireAfter: '1 day' }, 'invalid_request', /Did you mean "expire_after"\?/],
    [{ ...BODY, expire_after: 60 }, 'invalid_request', /"expire_after" expects a string; got a value of type number/],
    [{ ...BODY, expire_after: '1 month' }, 'invalid_request', /no fixed length/],
    [{ ...BODY, eval_interval: '59 s' }, 'invalid_request', /whole minutes/],
    [{ ...BODY, sink: 'a.b.c' }, 'invalid_request', /"a\.b\.c" is not a table name: .*two parts/],
    [{ ...BODY, sink: 'a b' }, 'invalid_request', /not a table name/],
    [{ ...BODY, sink: '' }, 'invalid_request', /not a table name/],
    [{ ...BODY, sink: 7 }, 'invalid_request', /"sink" expects/],
    [{ ...BODY, sink: { table: 7 } }, 'invalid_request', /to be strings/],
    [{ ...BODY, sink: { table: 't', shema: 's' } }, 'invalid_request', /Did you mean "schema"\?/],
    [{ ...BODY, sink: { schema: 'pg_temp', table: 't' } }, 'invalid_request', /belongs to the database/],
    [{ ...BODY, comment: 'a\0' }, 'invalid_request', /NUL/],
    [{ ...BODY, options: [] }, 'invalid_request', /"options" expects an object; got an array/],
    [{ ...BODY, options: { maxRanges: 3 } }, 'invalid_option', /Did you mean max_ranges\?/],
    [{ ...BODY, options: { max_ranges: '3' } }, 'invalid_option', /whole number/],
    [{ ...BODY, options: { order: true } }, 'invalid_option', /got true/],
    [JSON.parse('{"sink":"b","query":"SELECT 1","__proto__":{"x":1}}'), 'invalid_request', /no field "__proto__"/],
  ])('refuses %j', (body, code, message) => {
    let thrown: SluiceError | null = null;
    try {
      flowInputFromJson('a', body);
    } catch (error) {
      thrown = error as SluiceError;
    }
    expect(thrown).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each(['', 'a\0', 'x'.repeat(64), '\ud800'])('refuses the name %j', (name) => {
    expect(() => flowInputFromJson(name, BODY)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }) as unknown as Error,
    );
  });

  it.each(['$$', 'a;b', '-- x', '/* x', '"', "'", 'x'.repeat(63), 'ü'.repeat(31), ' ', '😀'])(
    'takes the name %j',
    (name) => {
      expect(flowInputFromJson(name, BODY).name).toBe(name);
    },
  );
});
