import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testServers } from '../support/database.ts';
import { type FrontendDatabase, openFrontendDatabase } from '../support/frontend-database.ts';

const HOURLY = `SELECT date_trunc('hour', at) AS hour, count(*) AS n FROM readings GROUP BY 1`;

for (const server of testServers()) {
  describe(`An index for the window filter on ${server.name}`, () => {
    let database: FrontendDatabase;
    beforeAll(async () => {
      database = await openFrontendDatabase(server.url);
    });
    afterAll(() => database.close());
    beforeEach(async () => {
      await database.session.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    });

    /** The statements that creation names. */
    async function missing(tables: string, query = HOURLY, options: Record<string, unknown> = {}): Promise<string[]> {
      await database.session.query(tables);
      const { draft, warnings } = await database.compile('x', { sink: 'x', query, ...options });
      const found = (await database.frontend.missingIndex(draft)).map(({ statement }) => statement);
      const told = warnings.flatMap((warning) => /Create one: (.*)$/.exec(warning)?.[1] ?? []);
      expect(told).toEqual(found);
      return found;
    }

    const FILLED = `INSERT INTO readings SELECT now() - n * interval '1 minute', 's' || n % 7, n FROM generate_series(1, 20000) AS n; ANALYZE readings`;

    it.each([
      ['timestamptz', ''],
      ['timestamptz', FILLED],
      ['timestamp', ''],
      ['date', ''],
    ])('is missing on a column of type %s, and the statement helps: %s', async (type, rows) => {
      const table = `CREATE TABLE readings (at ${type}, station text, value int); ${rows}`;
      const query = HOURLY.replace("'hour'", "'day'");
      const [statement = ''] = await missing(table, query);
      expect(statement).toBe('CREATE INDEX ON public.readings (at)');
      expect(await missing(statement, query)).toEqual([]);
    });

    it.each([
      ['a small table', 'CREATE INDEX ON readings (at)'],
      ['BRIN', 'CREATE INDEX ON readings USING brin (at)'],
      ['further columns', 'CREATE INDEX ON readings (at, station) INCLUDE (value)'],
    ])('is not missing with %s', async (_, index) => {
      const table = 'CREATE TABLE readings (at timestamptz, station text, value int)';
      expect(await missing(`${table}; ${index}`)).toEqual([]);
    });

    it('of another column does not count, though it may be read instead of the table', async () => {
      const table = 'CREATE TABLE readings (at timestamptz, station text PRIMARY KEY, value int)';
      expect(await missing(`${table}; ${FILLED.replace("'s' || n % 7", 'n')}`)).toEqual([
        'CREATE INDEX ON public.readings (at)',
      ]);
    });

    it('is not needed where partitions are left out, and is asked of the whole table where they are not', async () => {
      const by = (how: string) => `CREATE TABLE readings (at timestamptz, station text, value int) PARTITION BY ${how}`;
      const parts = `CREATE TABLE early PARTITION OF readings FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE late PARTITION OF readings FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')`;
      expect(await missing(`${by('RANGE (at)')}; ${parts}`)).toEqual([]);
      await database.session.query('DROP TABLE readings');
      const hashed = [0, 1].map(
        (n) => `CREATE TABLE part_${n} PARTITION OF readings FOR VALUES WITH (MODULUS 2, REMAINDER ${n})`,
      );
      expect(await missing(`${by('HASH (station)')}; ${hashed.join(';')}`)).toEqual([
        'CREATE INDEX ON public.readings (at)',
      ]);
    });

    it('of a view is asked of the table under it', async () => {
      const tables = `CREATE TABLE raw ("When?" timestamptz, value int); CREATE VIEW readings AS SELECT "When?" AS at, value * 2 AS twice FROM raw`;
      const [statement = ''] = await missing(tables);
      expect(statement).toBe('CREATE INDEX ON public.raw ("When?")');
      expect(await missing(statement)).toEqual([]);
    });

    it('is asked of each filtered table, and of none that is read whole', async () => {
      const tables = `CREATE TABLE readings (at timestamptz, station int); CREATE TABLE "Old ones" ("a""t" timestamptz, station int);
CREATE TABLE stations (station int, since timestamptz)`;
      const query = `SELECT date_trunc('hour', r.at) AS hour, count(*) AS n FROM (SELECT at, station FROM readings UNION ALL SELECT "a""t", station FROM "Old ones") AS r
JOIN stations AS s USING (station) WHERE s.since > '2020-01-01' GROUP BY 1`;
      expect(await missing(tables, query)).toEqual([
        'CREATE INDEX ON public.readings (at)',
        'CREATE INDEX ON public."Old ones" ("a""t")',
      ]);
    });

    it('is not asked for where the flow runs whole', async () => {
      const query = 'SELECT count(*) AS n FROM readings';
      expect(await missing('CREATE TABLE readings (at timestamptz)', query, { eval_interval: '1 hour' })).toEqual([]);
    });
  });
}
