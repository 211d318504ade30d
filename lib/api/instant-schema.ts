import { z } from 'zod';
import { SluiceError } from '../errors.ts';
import type { Instant } from '../window/instant.ts';
import { parseInstant } from '../window/rfc3339.ts';

/** An instant in a request, read to the microsecond. */
export const instantInput = z
  .string()
  .meta({
    format: 'date-time',
    description: 'RFC 3339 with an offset. Years outside of 0000 to 9999 are written with a sign and six digits.',
    examples: ['2024-02-29T12:00:00.000000Z'],
  })
  .transform((text, context): Instant => {
    try {
      return parseInstant(text);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      context.addIssue({ code: 'custom', message: error.message, input: text });
      return z.NEVER;
    }
  });

/** An instant in an answer. */
export const instantOutput = z.string().meta({
  description: 'RFC 3339 in UTC with microseconds. Years outside of 0000 to 9999 have a sign and six digits.',
  pattern: '^([0-9]{4}|[+-][0-9]{6})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
  examples: ['2024-02-29T12:00:00.000000Z'],
});

/** A 64-bit number: JSON numbers are not exact beyond 2^53. */
export const integer64 = z.string().meta({ description: 'A 64-bit integer in decimal.', pattern: '^-?[0-9]+$' });
