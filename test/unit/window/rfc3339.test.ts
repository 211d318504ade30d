import { describe, expect, test } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant } from '../../../lib/window/instant.ts';
import { formatInstant, parseInstant } from '../../../lib/window/rfc3339.ts';

describe('formatInstant', () => {
  test.each<[bigint, string]>([
    [0n, '1970-01-01T00:00:00.000000Z'],
    [-1n, '1969-12-31T23:59:59.999999Z'],
    [1_709_210_096_123_456n, '2024-02-29T12:34:56.123456Z'],
    [1_709_164_800_000_001n, '2024-02-29T00:00:00.000001Z'],
    [253_402_300_799_999_999n, '9999-12-31T23:59:59.999999Z'],
    [253_402_300_800_000_000n, '+010000-01-01T00:00:00.000000Z'],
    [-62_167_219_200_000_000n, '0000-01-01T00:00:00.000000Z'],
    [-62_167_219_200_000_001n, '-000001-12-31T23:59:59.999999Z'],
    [INSTANT_MIN, '-004713-11-24T00:00:00.000000Z'],
    [INSTANT_MAX - 1n, '+294276-12-31T23:59:59.999999Z'],
    [INSTANT_MAX, '+294277-01-01T00:00:00.000000Z'],
  ])('%s is %s, and back', (micros, text) => {
    expect(formatInstant(micros as Instant)).toBe(text);
    expect(parseInstant(text)).toBe(micros);
  });
});

describe('parseInstant reads', () => {
  test.each<[string, bigint]>([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01t00:00:00z', 0n],
    ['1970-01-01 00:00:00Z', 0n],
    ['1970-01-01T00:00:00.5Z', 500_000n],
    ['1970-01-01T00:00:00.000001Z', 1n],
    ['1970-01-01T00:00:00.100000000Z', 100_000n],
    ['1970-01-01T00:00:00+02:00', -7_200_000_000n],
    ['1970-01-01T00:00:00-00:30', 1_800_000_000n],
    ['1970-01-01T00:00:00-00:00', 0n],
    ['1970-01-01T00:00:00+23:59', -86_340_000_000n],
    ['2024-02-29T12:34:56.123456+05:45', 1_709_189_396_123_456n],
    ['2000-02-29T00:00:00Z', 951_782_400_000_000n],
    ['+002024-02-29T12:34:56Z', 1_709_210_096_000_000n],
    ['-000001-01-01T00:00:00Z', -62_198_755_200_000_000n],
    ['-004713-11-24T01:00:00+01:00', INSTANT_MIN],
  ])('%s', (text, micros) => {
    expect(parseInstant(text)).toBe(micros);
  });
});

describe('parseInstant refuses', () => {
  test.each<[string, RegExp]>([
    ['1700000000', /plain number does not say its unit/],
    ['-1700000000.5', /plain number does not say its unit/],
    ['2024-02-29T12:00:00', /no offset from UTC; add Z/],
    ['2024-02-29 12:00:00.5', /no offset from UTC; add Z/],
    ['2024-02-29', /no time of day; add one/],
    ['', /RFC 3339/],
    ['yesterday', /RFC 3339/],
    ['2024-02-29T12:00Z', /RFC 3339/],
    ['2024-02-29T12:00:00+02', /RFC 3339/],
    ['2024-02-29T12:00:00+0200', /RFC 3339/],
    ['2024-02-29T12:00:00 Europe/Berlin', /RFC 3339/],
    ['2024-02-29T12:00:00,5Z', /RFC 3339/],
    ['2024-02-29T12:00:00.Z', /RFC 3339/],
    ['2024-2-29T12:00:00Z', /RFC 3339/],
    [' 2024-02-29T12:00:00Z', /RFC 3339/],
    ['2024-02-29T12:00:00Z\n', /RFC 3339/],
    ['٢٠٢٤-02-29T12:00:00Z', /RFC 3339/],
    ['12024-02-29T12:00:00Z', /a sign and six digits/],
    ['+12024-02-29T12:00:00Z', /a sign and six digits/],
    ['-000000-02-29T12:00:00Z', /year zero is written 0000/],
    ['2024-00-01T12:00:00Z', /month 00 is not between 01 and 12/],
    ['2024-13-01T12:00:00Z', /month 13 is not between 01 and 12/],
    ['2024-01-00T12:00:00Z', /day 00 is not between 01 and 31/],
    ['2024-04-31T12:00:00Z', /day 31 is not between 01 and 30/],
    ['2023-02-29T12:00:00Z', /day 29 is not between 01 and 28/],
    ['1900-02-29T12:00:00Z', /day 29 is not between 01 and 28/],
    ['2024-02-29T24:00:00Z', /hour 24 is not between 00 and 23/],
    ['2024-02-29T12:60:00Z', /minute 60 is not between 00 and 59/],
    ['2016-12-31T23:59:60Z', /second 60 is not between 00 and 59/],
    ['2024-02-29T12:00:00+24:00', /offset's hour 24 is not between 00 and 23/],
    ['2024-02-29T12:00:00+02:60', /offset's minute 60 is not between 00 and 59/],
    ['2024-02-29T12:00:00.1234567Z', /7 digits after the second.*exact to six/],
    ['+294277-01-01T00:00:00.000001Z', /lies outside of -004713-11-24.*\+294277-01-01/],
    ['-004713-11-23T23:59:59Z', /lies outside/],
    ['-004713-11-24T00:00:00+00:01', /lies outside/],
    ['+999999-01-01T00:00:00Z', /lies outside/],
    ['infinity', /RFC 3339/],
  ])('%j', (text, message) => {
    expect(() => parseInstant(text)).toThrow(SluiceError);
    expect(() => parseInstant(text)).toThrow(
      expect.objectContaining({ code: 'invalid_request', retryable: false, message: expect.stringMatching(message) }),
    );
  });

  test('a long text without repeating all of it', () => {
    expect(() => parseInstant('9'.repeat(100_000))).toThrow(/^"9{48}…" is not an instant/);
  });
});
