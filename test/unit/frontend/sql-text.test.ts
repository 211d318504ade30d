import { describe, expect, it } from 'vitest';
import {
  bigintLiteral,
  instantLiteral,
  quoteIdentifier,
  quoteLiteral,
  quoteTable,
} from '../../../lib/frontend/postgres/sql-text.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant } from '../../../lib/window/instant.ts';

describe('quoteIdentifier', () => {
  it('keeps case and doubles quotes', () => {
    expect(quoteIdentifier('MiXed "x" \\ ü')).toBe('"MiXed ""x"" \\ ü"');
    expect(quoteTable({ schema: 'a.b', table: 'c"d' })).toBe('"a.b"."c""d"');
  });

  it.each(['', 'a\0b', 'half \ud800'])('refuses %j', (name) => {
    expect(() => quoteIdentifier(name)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});

describe('quoteLiteral', () => {
  it.each([
    ['', "''"],
    ["it's", "'it''s'"],
    ['a\\b', " E'a\\\\b'"],
    ["\\'; DROP TABLE x; --", " E'\\\\''; DROP TABLE x; --'"],
    ['ü', " E'\\u00fc'"],
    ['🌊', " E'\\U0001f30a'"],
    ['line\nbreak\t', " E'line\\u000abreak\\u0009'"],
  ])('writes %j so that it means the same under every setting', (text, literal) => {
    expect(quoteLiteral(text)).toBe(literal);
    expect(literal).toMatch(/^[\x20-\x7e]*$/);
  });

  it('refuses NUL and half of a surrogate pair', () => {
    for (const text of ['a\0b', '\udc00']) {
      expect(() => quoteLiteral(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    }
  });
});

describe('instantLiteral', () => {
  it.each([
    [0n, '1970-01-01 00:00:00.000000+00'],
    [-1n, '1969-12-31 23:59:59.999999+00'],
    [253_402_300_800_000_000n, '10000-01-01 00:00:00.000000+00'],
    [-62_135_596_800_000_001n, '0001-12-31 23:59:59.999999+00 BC'],
    [-62_135_596_800_000_000n, '0001-01-01 00:00:00.000000+00'],
    [INSTANT_MIN, '4714-11-24 00:00:00.000000+00 BC'],
    [INSTANT_MAX - 1n, '294276-12-31 23:59:59.999999+00'],
  ])('writes %s', (micros, text) => {
    expect(instantLiteral(instant(micros), 'timestamptz')).toBe(`'${text}'::pg_catalog.timestamptz`);
    expect(instantLiteral(instant(micros), 'timestamp')).toBe(`'${text.replace('+00', '')}'::pg_catalog.timestamp`);
  });

  it('refuses what no timestamp holds', () => {
    for (const micros of [INSTANT_MAX, INSTANT_MIN - 1n]) {
      expect(() => instantLiteral(micros as Instant, 'timestamptz')).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });
});

it('bigintLiteral keeps all 64 bits, also of the lowest number', () => {
  expect(bigintLiteral(-9_223_372_036_854_775_808n)).toBe("'-9223372036854775808'::pg_catalog.int8");
});
