import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COPY_HEADER, COPY_TRAILER, encodeRows } from '../../lib/local/copy-encoder.ts';
import { loadFlights } from '../../lib/local/flights.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

describe('loading of the flights', () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeEach(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });
  const never = new AbortController().signal;

  it('writes values of every kind as the server reads them', async () => {
    await client.query('CREATE TABLE t (at timestamp, a integer, b integer, s text, u text)');
    const columns = {
      timestamps: [978_307_260_000_001n, -62_135_596_800_000_000n, null],
      integers: [
        [-1116n, 2_147_483_647n, null],
        [0n, -2_147_483_648n, null],
      ],
      texts: [
        ['ABE', 'ABE', null],
        ['', 'ñ流🌊', null],
      ],
    };
    const copy = client.query(copyFrom('COPY t FROM STDIN WITH (FORMAT binary)'));
    const done = new Promise((resolve, reject) => copy.once('finish', resolve).once('error', reject));
    copy.write(COPY_HEADER);
    copy.write(encodeRows(columns, 0, 1));
    copy.write(encodeRows(columns, 1, 3));
    copy.end(COPY_TRAILER);
    await done;
    const { rows } = await client.query({ text: 'SELECT at::text, a, b, s, u FROM t', rowMode: 'array' });
    expect(rows).toEqual([
      ['2001-01-01 00:01:00.000001', -1116, 0, 'ABE', ''],
      ['0001-01-01 00:00:00', 2_147_483_647, -2_147_483_648, 'ABE', 'ñ流🌊'],
      [null, null, null, null, null],
    ]);
  });

  it('leaves no table when it is cut off, and can be done again', async () => {
    const cut = new AbortController();
    const loading = loadFlights(client, cut.signal, ({ rows }) => {
      if (rows > 100_000) cut.abort();
    });
    await expect(loading).rejects.toThrow('abort');
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    expect((await client.query("SELECT to_regclass('flights') AS t")).rows).toEqual([{ t: null }]);

    const seen: number[] = [];
    expect(await loadFlights(client, never, ({ rows, total }) => seen.push(rows / total))).toBe(true);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(1);
    const { rows } = await client.query(
      'SELECT count(*)::int AS n, min(date)::text, max(date)::text, min(delay) AS early, max(delay) AS late, sum(distance)::text AS miles, count(DISTINCT origin)::int AS origins FROM flights',
    );
    expect(rows).toEqual([
      {
        n: 3_000_000,
        min: '2001-01-01 00:01:00',
        max: '2001-07-01 00:00:00',
        early: -1116,
        late: 1688,
        miles: '2194861208',
        origins: 229,
      },
    ]);
    expect(await loadFlights(client, never, () => expect.fail('loaded again'))).toBe(false);
  });

  it('does not touch a table of the same name', async () => {
    await client.query('CREATE TABLE flights (mine int)');
    await expect(loadFlights(client, never, () => undefined)).rejects.toThrow(
      'public.flights that is not the one of the demonstration',
    );
    expect((await client.query('SELECT * FROM flights')).rows).toEqual([]);
  });
});
