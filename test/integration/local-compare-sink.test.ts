import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compareSink, isEqual } from '../../lib/local/compare-sink.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const QUERY = 'SELECT k, count(*) AS n, sum(x) AS total FROM source GROUP BY k';

describe('comparison of a sink with its query', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });
  beforeEach(async () => {
    await client.query('DROP TABLE IF EXISTS source, sink');
    await client.query('CREATE TABLE source (k text, x double precision)');
    await client.query("INSERT INTO source VALUES ('a', 1e6), ('a', 0.1), ('b', 'Infinity'), (NULL, NULL), ('z', 0)");
    await client.query(`CREATE TABLE sink AS SELECT *, now() AS update_at FROM (${QUERY}) AS q`);
  });
  const compare = () => compareSink(client, QUERY, 'sink', ['k']);

  it('finds a sink equal that is, whatever else it holds', async () => {
    const comparison = await compare();
    expect(comparison).toEqual({ rows: 4n, missing: 0n, surplus: 0n, inexact: 0n, examples: [] });
    expect(isEqual(comparison)).toBe(true);
  });

  it('forgives floating-point values the order of their sum, and no more', async () => {
    await client.query("UPDATE sink SET total = total * (1 + 1e-11::float8) WHERE k = 'a'");
    expect(isEqual(await compare())).toBe(true);
    await client.query("UPDATE sink SET total = total * (1 + 1e-8::float8) WHERE k = 'a'");
    expect(await compare()).toMatchObject({
      missing: 0n,
      surplus: 0n,
      inexact: 1n,
      examples: [expect.stringContaining('off by more than')],
    });
  });

  it.each([
    ["UPDATE sink SET total = 1 WHERE k = 'b'", { inexact: 1n }],
    ['UPDATE sink SET total = 0 WHERE k IS NULL', { inexact: 1n }],
    ["UPDATE sink SET total = NULL WHERE k = 'z'", { inexact: 1n }],
    ["UPDATE sink SET n = 3 WHERE k = 'a'", { missing: 1n, surplus: 1n }],
    ['DELETE FROM sink WHERE k IS NULL', { missing: 1n, surplus: 0n }],
    ["INSERT INTO sink SELECT * FROM sink WHERE k = 'z'", { missing: 0n, surplus: 1n }],
  ])('sees %s', async (change, found) => {
    await client.query(change);
    const comparison = await compare();
    expect(comparison).toMatchObject(found);
    expect(isEqual(comparison)).toBe(false);
    expect(comparison.examples.length).toBeGreaterThan(0);
  });
});
