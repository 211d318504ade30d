import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instantLiteral, quoteIdentifier, quoteLiteral } from '../../lib/frontend/postgres/sql-text.ts';
import { INSTANT_MIN, instant } from '../../lib/window/instant.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';

const storable = (text: string) => !text.includes('\0') && text.isWellFormed();
const texts = fc.oneof(
  fc.string({ unit: 'binary' }).filter(storable),
  fc.string({ unit: fc.constantFrom("'", '\\', '"', 'E', 'u', '$', '\n', ';', '-', 'ü', '🌊', ' ') }),
);

for (const server of testServers()) {
  describe(`Literals as ${server.name} reads them`, () => {
    let database: TestDatabase;
    let session: pg.Client;
    beforeAll(async () => {
      database = await createTestDatabase(server.url);
      session = new pg.Client({ connectionString: database.url });
      await session.connect();
    });
    afterAll(async () => {
      await session.end();
      await database.drop();
    });

    it.each([
      ['on', 'safe_encoding'],
      ['off', 'off'],
    ])('texts come back as they were, with standard_conforming_strings %s', async (conforming, backslash) => {
      await session.query(
        `SET standard_conforming_strings = ${conforming}; SET backslash_quote = ${backslash}; SET escape_string_warning = off`,
      );
      await fc.assert(
        fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 50 }), async (given) => {
          const { rows } = await session.query({
            text: `SELECT ${given.map((text, index) => `${quoteLiteral(text)} AS c${index}`).join(', ')}`,
            rowMode: 'array',
          });
          expect(rows[0]).toEqual(given);
        }),
        { numRuns: 50 },
      );
    });

    it('identifiers come back as they were, up to their longest', async () => {
      const names = texts.filter((text) => text !== '' && Buffer.byteLength(text) < 64);
      await fc.assert(
        fc.asyncProperty(names, async (name) => {
          const { fields } = await session.query(`SELECT 1 AS ${quoteIdentifier(name)}`);
          expect(fields[0]?.name).toBe(name);
        }),
        { numRuns: 100 },
      );
    });

    it('instants are exact to the microsecond over all years, in every zone', async () => {
      await session.query("SET TimeZone = 'America/St_Johns'");
      // Servers before 16 round in `extract` beyond 2^63 microseconds, in the very last years.
      const instants = fc.bigInt({ min: INSTANT_MIN, max: 2n ** 63n - 2n }).map(instant);
      await fc.assert(
        fc.asyncProperty(fc.array(instants, { minLength: 1, maxLength: 100 }), async (given) => {
          const values = given.flatMap((t) => [instantLiteral(t, 'timestamptz'), instantLiteral(t, 'timestamp')]);
          const { rows } = await session.query({
            text: `SELECT ${values.map((value) => `trunc(extract(epoch FROM ${value}) * 1000000)::text`).join(', ')}`,
            rowMode: 'array',
          });
          expect(rows[0]).toEqual(given.flatMap((t) => [String(t), String(t)]));
        }),
        { numRuns: 30 },
      );
    });
  });
}
