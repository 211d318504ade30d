import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SluiceError } from '../../lib/errors.ts';
import type { CompiledQuery, QueryHole } from '../../lib/flow/definition.ts';
import type { QueryColumn } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { DAY, HOUR, instant, plus } from '../../lib/window/instant.ts';
import { ALL_TIME } from '../../lib/window/time-range.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';
import { definitionOf, OPTIONS } from '../support/definitions.ts';
import { PostgresUnderTest } from '../support/postgres-under-test.ts';

const START = instant(1_622_505_600_000_000n);

for (const server of testServers()) {
  describe(`The catalog of ${server.name}`, () => {
    let database: TestDatabase;
    let under: PostgresUnderTest;
    beforeAll(async () => {
      database = await createTestDatabase(server.url);
    });
    afterAll(() => database.drop());
    beforeEach(async () => {
      under = await PostgresUnderTest.open(database.url);
    });
    afterEach(() => under.close());

    const sql = async (text: string): Promise<Record<string, unknown>[]> => {
      const result = await under.session.query(text);
      return (Array.isArray(result) ? result.at(-1) : result).rows;
    };

    describe('checkServer', () => {
      it('names the server', async () => {
        expect(await under.frontend.checkServer()).toMatch(/^PostgreSQL (1[5-9]|[2-9]\d)(\.\d+)?/);
      });

      it('refuses a database whose texts have no certain meaning', async () => {
        await sql(`CREATE DATABASE ascii_${under.schema} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'`);
        const url = new URL(database.url);
        url.pathname = `/ascii_${under.schema}`;
        const frontend = createPostgresFrontend({ connection: url.href, namespace: 'x' });
        await expect(frontend.checkServer()).rejects.toMatchObject({
          code: 'unsupported_server',
          message: expect.stringContaining('UTF8'),
        });
        await frontend.close();
        await sql(`DROP DATABASE ascii_${under.schema}`);
      });
    });

    describe('describeRelations', () => {
      it('gives kind, columns and time types of every kind of relation, in the order of the references', async () => {
        await sql(`CREATE TABLE plain (a timestamptz, b timestamp(3), c date, d numeric(10,2), gone int, "E" text[]);
ALTER TABLE plain DROP COLUMN gone;
CREATE TABLE parted (t timestamptz) PARTITION BY RANGE (t);
CREATE VIEW seen AS SELECT c FROM plain;
CREATE MATERIALIZED VIEW kept AS SELECT a FROM plain;
CREATE DOMAIN moment AS timestamptz; CREATE TABLE of_domain (m moment);
CREATE TABLE empty ()`);
        const s = under.schema;
        const references = ['kept', 'plain', 'missing', 'seen', 'parted', 'of_domain', 'empty', 'plain'].map(
          (table) => ({ schema: s, table }),
        );
        const found = await under.frontend.describeRelations(references);
        expect(found.map((relation) => relation?.kind)).toEqual([
          'materialized_view',
          'table',
          undefined,
          'view',
          'partitioned_table',
          'table',
          'table',
          'table',
        ]);
        expect(found[2]).toBeNull();
        expect(found[1]).toEqual({
          schema: s,
          table: 'plain',
          kind: 'table',
          definition: null,
          columns: [
            { name: 'a', type: 'timestamp with time zone', timeType: 'timestamptz' },
            { name: 'b', type: 'timestamp(3) without time zone', timeType: 'timestamp' },
            { name: 'c', type: 'date', timeType: 'date' },
            { name: 'd', type: 'numeric(10,2)', timeType: null },
            { name: 'E', type: 'text[]', timeType: null },
          ],
        });
        expect(found[5]?.columns[0]?.timeType).toBe('timestamptz');
        expect(found[6]?.columns).toEqual([]);
        expect(found[7]).toEqual(found[1]);
        expect(await under.frontend.describeRelations([])).toEqual([]);
      });

      it('resolves a bare name as a session of a flow would: pg_catalog, then public, and no temporary table', async () => {
        await sql(
          `CREATE TABLE public.bare_${under.schema} (x int); CREATE TABLE hidden (x int); CREATE TABLE public.pg_class (mine int)`,
        );
        const [bare, hidden, system, folded] = await under.frontend.describeRelations([
          { schema: null, table: `bare_${under.schema}` },
          { schema: null, table: 'hidden' },
          { schema: null, table: 'pg_class' },
          { schema: null, table: `BARE_${under.schema}` },
        ]);
        await sql('DROP TABLE public.pg_class');
        expect(bare).toMatchObject({ schema: 'public' });
        expect([hidden, folded]).toEqual([null, null]);
        expect(system).toMatchObject({ schema: 'pg_catalog', table: 'pg_class' });
      });

      it('cuts a name as the server does', async () => {
        const long = 'ü'.repeat(40);
        await sql(`CREATE TABLE "${long}" (x int)`);
        const [found] = await under.frontend.describeRelations([{ schema: under.schema, table: long }]);
        expect(found?.table).toBe('ü'.repeat(31));
      });
    });

    it('describeFunctions knows the schema and the worst volatility of each name that is visible or qualified', async () => {
      await sql(`CREATE FUNCTION public.mixed_${under.schema}(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION public.mixed_${under.schema}(text) RETURNS SETOF int VOLATILE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION hidden(text) RETURNS int LANGUAGE sql AS 'SELECT 1'`);
      const bare = (name: string) => ({ schema: null, name });
      const inPgCatalog = (volatility: string) => ({ schema: 'pg_catalog', volatility, returnsSet: false });
      const known = await under.frontend.describeFunctions([
        bare('date_bin'),
        bare('date_trunc'),
        { schema: 'pg_catalog', name: 'random' },
        bare('no_such'),
        bare('hidden'),
        { schema: under.schema, name: 'hidden' },
        bare(`mixed_${under.schema}`),
        bare('count'),
      ]);
      expect(known).toEqual([
        inPgCatalog('immutable'),
        inPgCatalog('stable'),
        inPgCatalog('volatile'),
        null,
        null,
        { schema: under.schema, volatility: 'volatile', returnsSet: false },
        { schema: 'public', volatility: 'volatile', returnsSet: true },
        inPgCatalog('immutable'),
      ]);
      expect(await under.frontend.describeFunctions([])).toEqual([]);
    });

    describe('describeQuery', () => {
      const describeIt = (query: string, zone = 'UTC'): Promise<readonly QueryColumn[]> =>
        under.frontend.describeQuery(query, zone);
      const refusal = async (query: string, zone?: string): Promise<SluiceError> =>
        describeIt(query, zone).then(
          () => Promise.reject(new Error('it was described')),
          (error: SluiceError) => error,
        );

      it('gives names and types of the columns, and whether they can be part of a key', async () => {
        await sql(
          `CREATE TYPE mood AS ENUM ('a', 'b'); CREATE DOMAIN short AS varchar(5); CREATE TYPE pair AS (a int, b text); CREATE TYPE odd_pair AS (a int, b json)`,
        );
        const s = under.schema;
        expect(
          await describeIt(`SELECT 1 AS a, 1.5::numeric(10,2) AS b, 'x' AS "C d", 'x'::varchar(7) AS e, now() AS f, '{}'::json AS g, '{}'::jsonb AS h,
point '(1,2)' AS i, '{}'::int[] AS j, '{}'::json[] AS k, 'a'::${s}.mood AS l, 'x'::${s}.short AS m, (1, 'x')::${s}.pair AS n,
(1, NULL)::${s}.odd_pair AS o, int4range(1, 2) AS p, '{}'::point[] AS q, '1'::xid AS r, interval '1 day' AS s, sum(1) AS t -- done`),
        ).toEqual([
          { name: 'a', type: 'integer', domainOf: null, indexable: true },
          { name: 'b', type: 'numeric(10,2)', domainOf: null, indexable: true },
          { name: 'C d', type: 'text', domainOf: null, indexable: true },
          { name: 'e', type: 'character varying(7)', domainOf: null, indexable: true },
          { name: 'f', type: 'timestamp with time zone', domainOf: null, indexable: true },
          { name: 'g', type: 'json', domainOf: null, indexable: false },
          { name: 'h', type: 'jsonb', domainOf: null, indexable: true },
          { name: 'i', type: 'point', domainOf: null, indexable: false },
          { name: 'j', type: 'integer[]', domainOf: null, indexable: true },
          { name: 'k', type: 'json[]', domainOf: null, indexable: false },
          { name: 'l', type: `${s}.mood`, domainOf: null, indexable: true },
          { name: 'm', type: `${s}.short`, domainOf: 'character varying(5)', indexable: true },
          { name: 'n', type: `${s}.pair`, domainOf: null, indexable: true },
          { name: 'o', type: `${s}.odd_pair`, domainOf: null, indexable: false },
          { name: 'p', type: 'int4range', domainOf: null, indexable: true },
          { name: 'q', type: 'point[]', domainOf: null, indexable: false },
          { name: 'r', type: 'xid', domainOf: null, indexable: false },
          { name: 's', type: 'interval', domainOf: null, indexable: true },
          { name: 't', type: 'bigint', domainOf: null, indexable: true },
        ]);
      });

      it('executes nothing and leaves nothing', async () => {
        await sql(
          `CREATE SEQUENCE counter; CREATE FUNCTION boom() RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''executed''; END'`,
        );
        await describeIt(`SELECT nextval('${under.schema}.counter') AS n, ${under.schema}.boom() AS b`);
        expect(await sql('SELECT is_called FROM counter')).toEqual([{ is_called: false }]);
        expect(await sql(`SELECT FROM pg_class WHERE relname LIKE 'sluice_described%'`)).toEqual([]);
      });

      it.each([
        ['SELECT 1 +', 'syntax error', 10],
        ['SELECT nope FROM public.source_x', 'does not exist', 18],
        ['SELECT a, nope FROM (VALUES (1)) AS v (a)', 'nope', 11],
        ["SELECT '🌊', 'ü', nope", 'nope', 18],
        ["SELECT 'abc'::date", 'invalid_datetime_format', 8],
        ['SELECT no_such_function(1)', 'no_such_function', 8],
        ['SELECT count(*) FROM (VALUES (1)) AS v (a) GROUP BY v.nope', 'nope', 53],
        ['SELECT $1', 'parameter', 8],
      ])('refuses %s and points at the place', async (query, message, position) => {
        const error = await refusal(query);
        expect(error).toMatchObject({ code: 'invalid_query', retryable: false, details: { position } });
        expect(error.message).toContain(message);
      });

      it.each([
        ["SELECT json '{}' AS a GROUP BY 1", 'json'],
        ['SELECT 1 AS a, 2 AS a', 'more than once'],
        ['SELECT 1 AS ctid', 'system column'],
        ['SELECT 1) WITH NO DATA; SELECT (2', 'syntax error'],
        ['SELECT 1; SELECT 2', 'syntax error'],
        ['INSERT INTO public.x VALUES (1)', 'syntax error'],
        ['', 'syntax error'],
      ])('refuses %s', async (query, message) => {
        const error = await refusal(query);
        expect(error.code).toBe('invalid_query');
        expect(error.message).toContain(message);
      });

      it('refuses a query that the role may not run, and a zone that the server does not know', async () => {
        const role = `blind_${under.schema}`;
        await sql(`CREATE ROLE ${role} LOGIN PASSWORD 'blind'; GRANT USAGE ON SCHEMA ${under.schema} TO ${role}`);
        const url = new URL(database.url);
        url.username = role;
        url.password = 'blind';
        const frontend = createPostgresFrontend({ connection: url.href, namespace: 'x' });
        await expect(
          frontend.describeQuery(`SELECT count(*) FROM ${under.schema}.source`, 'UTC'),
        ).rejects.toMatchObject({
          code: 'invalid_query',
          message: expect.stringContaining('permission denied'),
          details: { hint: expect.stringContaining('grant') },
        });
        await frontend.close();
        await sql(`DROP OWNED BY ${role}`);
        await sql(`DROP ROLE ${role}`);
        expect(await refusal('SELECT 1', 'Mars/Olympus')).toMatchObject({ code: 'invalid_option' });
      });
    });

    describe('describeSink', () => {
      const table = (name: string) => ({ schema: under.schema, table: name });

      it('gives columns, and the unique keys that a flow can rely on', async () => {
        await sql(`CREATE TABLE made (a timestamptz NOT NULL, b text, c int NOT NULL DEFAULT 7, d numeric(5,1), e int GENERATED ALWAYS AS IDENTITY, f text);
CREATE UNIQUE INDEX ON made (b, a) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX ON made (a, c);
CREATE UNIQUE INDEX ON made (a) INCLUDE (b);
CREATE UNIQUE INDEX ON made (a, b);
CREATE UNIQUE INDEX ON made (a, d) NULLS NOT DISTINCT WHERE c > 1;
CREATE UNIQUE INDEX ON made (a, lower(b)) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX ON made (f COLLATE "C") NULLS NOT DISTINCT;
CREATE UNIQUE INDEX ON made (f text_pattern_ops) NULLS NOT DISTINCT;
CREATE INDEX ON made (a);
ALTER TABLE made ADD UNIQUE NULLS NOT DISTINCT (d) DEFERRABLE`);
        const found = await under.frontend.describeSink(table('made'));
        expect(found).toEqual({
          ...table('made'),
          identity: expect.stringMatching(/^\d+$/),
          columns: [
            { name: 'a', type: 'timestamp with time zone', notNull: true, hasDefault: false, generated: false },
            { name: 'b', type: 'text', notNull: false, hasDefault: false, generated: false },
            { name: 'c', type: 'integer', notNull: true, hasDefault: true, generated: false },
            { name: 'd', type: 'numeric(5,1)', notNull: false, hasDefault: false, generated: false },
            { name: 'e', type: 'integer', notNull: true, hasDefault: true, generated: true },
            { name: 'f', type: 'text', notNull: false, hasDefault: false, generated: false },
          ],
          uniqueKeys: expect.any(Array),
        });
        expect([...found!.uniqueKeys].map((key) => key.join()).sort()).toEqual(['a', 'a,c', 'b,a']);
      });

      it('knows partitioned tables, and refuses what is not a table', async () => {
        await sql(
          'CREATE TABLE parted (a int UNIQUE NULLS NOT DISTINCT) PARTITION BY RANGE (a); CREATE VIEW seen AS SELECT 1 AS a; CREATE SEQUENCE counter',
        );
        expect(await under.frontend.describeSink(table('parted'))).toMatchObject({ uniqueKeys: [['a']] });
        for (const name of ['seen', 'counter']) {
          await expect(under.frontend.describeSink(table(name))).rejects.toMatchObject({ code: 'sink_mismatch' });
        }
        expect(await under.frontend.describeSink({ schema: 'no such schema', table: 'x' })).toBeNull();
      });
    });

    describe('createSink', () => {
      const compiled = (select: string, columns: readonly string[], keys: readonly string[]): CompiledQuery => ({
        compiler: 1,
        text: [`SELECT ${select}`],
        holes: [],
        window: null,
        sources: [],
        beneath: [],
        columns,
        keys,
        history: null,
      });
      const sinkOf = (table: string, query: CompiledQuery, comment: string | null = null) =>
        definitionOf({ name: 'x', sink: { schema: under.schema, table }, compiled: query, comment });

      it('gives the types, typmods and collations of the query, update_at, the key and a comment', async () => {
        const flow = sinkOf(
          'made',
          compiled(
            `now() AS w, 'x'::varchar(3) COLLATE "C" AS k, 1.25::numeric(6,2) AS v, NULL AS n, point '(1,2)' AS p`,
            ['w', 'k', 'v', 'n', 'p'],
            ['w', 'k'],
          ),
          `it's "mine" \\ 🌊`,
        );
        await under.frontend.createSink(flow);
        expect(
          await sql(`SELECT attname, format_type(atttypid, atttypmod) AS type, collname FROM pg_attribute LEFT JOIN pg_collation AS c ON c.oid = attcollation
WHERE attrelid = 'made'::regclass AND attnum > 0 ORDER BY attnum`),
        ).toEqual([
          { attname: 'w', type: 'timestamp with time zone', collname: null },
          { attname: 'k', type: 'character varying(3)', collname: 'C' },
          { attname: 'v', type: 'numeric(6,2)', collname: null },
          { attname: 'n', type: 'text', collname: 'default' },
          { attname: 'p', type: 'point', collname: null },
          { attname: 'update_at', type: 'timestamp with time zone', collname: null },
        ]);
        expect(await under.frontend.describeSink(flow.sink)).toMatchObject({ uniqueKeys: [['w', 'k']] });
        expect(await sql(`SELECT obj_description('made'::regclass) AS comment`)).toEqual([
          { comment: `it's "mine" \\ 🌊` },
        ]);
        expect(await sql('SELECT count(*)::int FROM made')).toEqual([{ count: 0 }]);
      });

      it('adds no update_at where the query gives it, and no key where there is none', async () => {
        await under.frontend.createSink(sinkOf('own', compiled('1 AS update_at', ['update_at'], [])));
        expect(await under.frontend.describeSink({ schema: under.schema, table: 'own' })).toMatchObject({
          columns: [{ name: 'update_at', type: 'integer' }],
          uniqueKeys: [],
        });
      });

      it('succeeds over an equal table, and refuses another one', async () => {
        const flow = sinkOf('made', compiled('1 AS a, 2 AS b', ['a', 'b'], ['a']));
        await Promise.all([
          under.frontend.createSink(flow),
          under.other.createSink(flow),
          under.frontend.createSink(flow),
        ]);
        await sql('INSERT INTO made VALUES (1, 2, now())');
        await under.frontend.createSink(flow);
        expect(await sql('SELECT a FROM made')).toEqual([{ a: 1 }]);
        const others = [
          compiled('1 AS a, 2::bigint AS b', ['a', 'b'], ['a']),
          compiled('1 AS a, 2 AS b', ['a', 'b'], ['b']),
          compiled('1 AS b, 2 AS a', ['b', 'a'], ['a']),
        ];
        for (const other of others) {
          await expect(under.frontend.createSink(sinkOf('made', other))).rejects.toMatchObject({
            code: 'sink_mismatch',
          });
        }
        await sql('CREATE VIEW taken AS SELECT 1 AS a');
        await expect(
          under.frontend.createSink(sinkOf('taken', compiled('1 AS a', ['a'], ['a']))),
        ).rejects.toMatchObject({ code: 'sink_mismatch' });
      });

      it('leaves nothing behind where a part of it fails', async () => {
        const flow = sinkOf('half', compiled("point '(1,2)' AS p", ['p'], ['p']));
        await expect(under.frontend.createSink(flow)).rejects.toMatchObject({ code: 'query_failed' });
        expect(await under.frontend.describeSink(flow.sink)).toBeNull();
        const lost = { ...flow, sink: { schema: 'no such schema', table: 'x' } };
        await expect(under.frontend.createSink(lost)).rejects.toMatchObject({
          code: 'sink_mismatch',
          message: expect.stringContaining('no such schema'),
        });
      });

      it('dropSink says what keeps a table from being dropped', async () => {
        await under.frontend.createSink(sinkOf('used', compiled('1 AS a', ['a'], ['a'])));
        await sql('CREATE VIEW user_of_it AS SELECT * FROM used');
        await expect(under.frontend.dropSink({ schema: under.schema, table: 'used' })).rejects.toMatchObject({
          code: 'conflict',
        });
        await sql('DROP VIEW user_of_it');
        await under.frontend.dropSink({ schema: under.schema, table: 'used' });
        await under.frontend.dropSink({ schema: 'no such schema', table: 'used' });
        await sql('CREATE VIEW used AS SELECT 1 AS a');
        await expect(under.frontend.dropSink({ schema: under.schema, table: 'used' })).rejects.toMatchObject({
          code: 'sink_mismatch',
        });
      });
    });

    describe('times of the sources', () => {
      const over = (sources: readonly { table: string; timeColumn: string | null }[], holes: readonly QueryHole[]) =>
        definitionOf({
          name: 'x',
          sink: { schema: under.schema, table: 'sink' },
          compiled: {
            compiler: 1,
            text: Array.from({ length: holes.length + 1 }, () => ''),
            holes,
            window: {
              spec: { kind: 'fixed', size: HOUR, origin: instant(0n) },
              column: 'label',
              expression: ["date_trunc('hour', ", ')'],
              argumentType: 'timestamptz',
            },
            sources: sources.map((source) => ({ schema: under.schema, ...source })),
            beneath: [],
            columns: ['label'],
            keys: ['label'],
            history: null,
          },
        });

      it('span all filtered sources, and leave out those that are read whole', async () => {
        await sql(`CREATE TABLE sink (label timestamptz);
CREATE TABLE early (at timestamptz); INSERT INTO early VALUES ('2021-06-01T00:00Z'), ('2021-06-01T01:00Z');
CREATE TABLE late ("Its Time" timestamp); INSERT INTO late VALUES ('2021-06-01 05:00'), ('infinity');
CREATE TABLE none (at timestamptz);
CREATE TABLE whole (at timestamptz); INSERT INTO whole VALUES ('1999-01-01Z')`);
        const flow = over(
          [
            { table: 'early', timeColumn: 'at' },
            { table: 'whole', timeColumn: null },
            { table: 'late', timeColumn: 'Its Time' },
            { table: 'none', timeColumn: 'at' },
          ],
          [
            { kind: 'filter', column: '"early"."at"', type: 'timestamptz' },
            { kind: 'filter', column: '"late"."Its Time"', type: 'timestamp' },
            { kind: 'filter', column: '"none"."at"', type: 'timestamptz' },
          ],
        );
        expect(await under.frontend.timeRange(flow, ALL_TIME, 5000)).toEqual({
          source: { first: START, last: plus(START, 5n * HOUR) },
          sink: null,
        });
        expect(
          await under.frontend.timeRange(flow, { start: plus(START, HOUR), end: plus(START, 2n * HOUR) }, 5000),
        ).toMatchObject({
          source: { first: plus(START, HOUR), last: plus(START, HOUR) },
        });
      });

      it('are read from both ends of an index, in one message', async () => {
        await sql(`CREATE TABLE sink (label timestamptz);
CREATE TABLE large AS SELECT '2021-06-01Z'::timestamptz + i * interval '1 second' AS at, repeat('x', 200) AS filler FROM generate_series(0, 99999) AS i;
CREATE INDEX ON large (at); ANALYZE large`);
        const scans = async () =>
          (
            await sql(
              `SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot(), idx_scan::int, seq_scan::int FROM pg_stat_user_tables WHERE relid = 'large'::regclass`,
            )
          )[0];
        await scans();
        const before = await scans();
        const flow = over(
          [{ table: 'large', timeColumn: 'at' }],
          [{ kind: 'filter', column: '"large"."at"', type: 'timestamptz' }],
        );
        expect((await under.frontend.timeRange(flow, ALL_TIME, 5000)).source).toEqual({
          first: START,
          last: plus(START, 99_999n * 1_000_000n),
        });
        expect(
          (await under.frontend.timeRange(flow, { start: plus(START, HOUR), end: plus(START, DAY) }, 5000)).source,
        ).toEqual({
          first: plus(START, HOUR),
          last: plus(START, DAY - 1_000_000n),
        });
        await under.frontend.close();
        await expect.poll(scans).not.toMatchObject({ idx_scan: before!.idx_scan });
        expect(await scans()).toMatchObject({ seq_scan: before!.seq_scan });
      });

      it.each([
        ['timestamptz', "'2021-06-01Z'", false],
        ['timestamptz', 'NULL', true],
        ['timestamptz', "'infinity'", true],
        ['timestamptz', "'-infinity'", true],
        ['timestamp', "'infinity'", true],
        ['date', "'-infinity'", true],
        ['date', "'2021-06-01'", false],
      ] as const)('of type %s: a row with %s belongs to no window: %s', async (type, value, expected) => {
        await sql(`CREATE TABLE data (at ${type}); INSERT INTO data VALUES (${value})`);
        const flow = over([{ table: 'data', timeColumn: 'at' }], [{ kind: 'filter', column: '"data"."at"', type }]);
        expect(await under.frontend.hasUnwindowedRows(flow)).toBe(expected);
      });

      it('are not searched for NULL where the column has none, and a search that takes too long tells nothing', async () => {
        await sql('CREATE TABLE data (at timestamptz NOT NULL)');
        const flow = over(
          [{ table: 'data', timeColumn: 'at' }],
          [{ kind: 'filter', column: '"data"."at"', type: 'timestamptz' }],
        );
        expect(await under.frontend.hasUnwindowedRows(flow)).toBe(false);
        await sql(
          'DROP TABLE data; CREATE VIEW data AS SELECT CASE WHEN pg_sleep(60) IS NULL THEN NULL::timestamptz ELSE now() END AS at',
        );
        expect(await under.frontend.hasUnwindowedRows(flow)).toBeNull();
        expect(
          await under.frontend.hasUnwindowedRows({ ...flow, compiled: { ...flow.compiled, sources: [], holes: [] } }),
        ).toBe(false);
        expect(OPTIONS.timeZone).toBe('UTC');
      });
    });
  });
}
