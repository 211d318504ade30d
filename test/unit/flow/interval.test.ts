import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { formatInterval, parseInterval } from '../../../lib/flow/interval.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/window/instant.ts';

describe('parseInterval', () => {
  it.each([
    ['5 minutes', 5n * MINUTE],
    ['1 minute', MINUTE],
    ['2 days 1h 2 min', 2n * DAY + HOUR + 2n * MINUTE],
    ['2d1h2m3s4ms5us', 2n * DAY + HOUR + 2n * MINUTE + 3n * SECOND + 4005n],
    ['1 WEEK', 7n * DAY],
    ['  90   secs ', 90n * SECOND],
    ['1.5 hours', 90n * MINUTE],
    ['.5 s', 500_000n],
    ['0.000001 s', 1n],
    ['1 day 12:30', DAY + 12n * HOUR + 30n * MINUTE],
    ['00:00:01.5', 1_500_000n],
    ['100:00', 100n * HOUR],
    ['30 days', 30n * DAY],
  ])('reads %j', (text, length) => {
    expect(parseInterval(text)).toBe(length);
  });

  it.each([
    ['', /greater than zero/],
    ['0 minutes', /greater than zero/],
    ['00:00', /greater than zero/],
    ['-5 minutes', /greater than zero/],
    ['1 hour -5 minutes', /numbers with their units/],
    ['5', /numbers with their units/],
    ['minutes', /needs a number/],
    ['1 month', /month has no fixed length.*30 days/],
    ['1 mon', /mon has no fixed length/],
    ['2 years', /years has no fixed length.*365 days/],
    ['1 quarter', /no fixed length/],
    ['1 century', /no fixed length/],
    ['5 parsecs', /parsecs is not a unit/],
    ['1 h 2 hours', /a unit twice/],
    ['1 hour 01:00', /a unit twice/],
    ['0.0000001 s', /whole number of microseconds/],
    ['00:60', /up to 59/],
    ['5 minutes ago', /ago is not a unit/],
    ['999999999999 days', /longer than the time/],
    [`${'1'.repeat(300)} s`, /too long/],
    ['٥ minutes', /numbers with their units/],
  ])('refuses %j', (text, message) => {
    const refusal = expect.objectContaining({ code: 'invalid_request', message: expect.stringMatching(message) });
    expect(() => parseInterval(text)).toThrow(refusal as unknown as Error);
    expect(() => parseInterval(text)).toThrow(SluiceError);
  });

  it('reads back whatever formatInterval writes', () => {
    fc.assert(
      fc.property(fc.bigInt(1n, 100_000_000n * DAY), (length) => {
        expect(parseInterval(formatInterval(length))).toBe(length);
      }),
    );
  });

  it('is written with the largest whole units', () => {
    expect(formatInterval(2n * DAY + HOUR + 1n)).toBe('2 days 1 hour 1 microsecond');
    expect(formatInterval(90n * SECOND)).toBe('1 minute 30 seconds');
  });
});
