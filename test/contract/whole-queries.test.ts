import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SluiceError } from '../../lib/errors.ts';
import type { FlowDefinition } from '../../lib/flow/definition.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import type { CompiledFlow } from '../../lib/sql/compile-flow.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import { testServers } from '../support/database.ts';
import { countsOf, type RowCounts } from '../support/definitions.ts';
import {
  type FrontendDatabase,
  openFrontendDatabase,
  planOf,
  refusal,
  sortedRows,
} from '../support/frontend-database.ts';

/** Queries that a flow with an eval interval runs whole, from their text to the rows of their sinks. */

const TEN = '2024-05-01T10:00:00Z';
const HALF_PAST_TEN = '2024-05-01T10:30:00Z';
const ELEVEN = '2024-05-01T11:00:00Z';
const NEXT_DAY = '2024-05-02T10:00:00Z';

for (const server of testServers()) {
  describe(`A whole query on ${server.name}`, () => {
    let database: FrontendDatabase;
    let session: pg.Client;
    let frontend: Frontend;
    let flows = 0;

    beforeAll(async () => {
      database = await openFrontendDatabase(server.url);
      ({ session, frontend } = database);
    });
    afterAll(() => database.close());
    beforeEach(async () => {
      await session.query(`DROP TABLE IF EXISTS trades, venues CASCADE;
CREATE TABLE trades (id bigint, at timestamptz, symbol text, venue int, price numeric, size int, day date);
CREATE TABLE venues (venue int, name text);
INSERT INTO venues VALUES (1, 'Frankfurt'), (2, 'Xetra'), (3, NULL);
INSERT INTO trades SELECT n, '${TEN}'::timestamptz - n * interval '13 minutes', 'S' || n % 4, n % 3 + 1, 100 + n % 17 + 0.25, n % 5 * 10,
  ('${TEN}'::timestamptz - n * interval '13 minutes')::date FROM generate_series(1, 400) AS n;
INSERT INTO trades VALUES (401, NULL, NULL, NULL, NULL, 10, NULL), (402, NULL, NULL, 1, NULL, 10, NULL)`);
    });

    const compile = (query: string, more: Record<string, unknown> = {}): Promise<CompiledFlow> => {
      flows++;
      return database.compile(`whole_${flows}`, { sink: `whole_${flows}`, query, eval_interval: '1 hour', ...more });
    };

    /** A flow with its sink, which has not run yet. */
    class Flow {
      readonly compiled: CompiledFlow;
      readonly query: string;
      #epoch = 0n;

      constructor(compiled: CompiledFlow, query: string) {
        this.compiled = compiled;
        this.query = query;
      }

      static async create(query: string, options: Record<string, unknown> = {}): Promise<Flow> {
        const compiled = await compile(query, { options });
        await frontend.createSink(compiled.draft);
        return new Flow(compiled, query);
      }

      get definition(): FlowDefinition {
        return { ...this.compiled.draft, generation: 1n };
      }

      /** At a grid time. */
      async run(gridTime: string): Promise<RowCounts> {
        const epoch = this.#epoch + 1n;
        const at = { coverage: 'unfiltered_full', gridTime: parseInstant(gridTime) } as const;
        const result = await frontend.run(planOf(this.compiled.draft, epoch, at));
        this.#epoch = epoch;
        return countsOf(result);
      }

      get columns(): string {
        return this.compiled.draft.compiled.columns.map(pg.escapeIdentifier).join(', ');
      }

      /** All columns of the query, as text, sorted: equal for equal multisets of rows. */
      async sink(): Promise<string[]> {
        return this.#inZone(`SELECT ${this.columns} FROM ${this.definition.sink.table}`);
      }

      /** What the database answers to the user's own text, were it `gridTime` now. */
      async answer(gridTime: string): Promise<string[]> {
        const now = `'${gridTime}'::timestamptz`;
        const text = this.query
          .replaceAll(/\b(?:now|transaction_timestamp)\(\)|\bcurrent_timestamp\b/gi, now)
          .replaceAll(/\bcurrent_date\b/gi, `(${now}::date)`)
          .replaceAll(/\blocaltimestamp\b/gi, `(${now}::timestamp)`);
        return this.#inZone(text);
      }

      async #inZone(query: string): Promise<string[]> {
        await session.query(`SET TimeZone = '${this.definition.options.timeZone}'`);
        try {
          return await rowsOf(query);
        } finally {
          await session.query('RESET TimeZone');
        }
      }
    }

    const rowsOf = (query: string) => sortedRows(session, query);

    const change = () =>
      session.query(`DELETE FROM trades WHERE symbol = 'S1'; UPDATE trades SET price = price + 1 WHERE symbol = 'S2';
INSERT INTO trades VALUES (500, '${TEN}', 'S9', 2, 7.5, 3, '2024-05-01')`);

    describe('without a key', () => {
      it.each([
        // Many rows are equal, and some hold nothing but NULLs.
        'SELECT symbol, venue FROM trades',
        'SELECT symbol, price FROM trades ORDER BY price DESC, id LIMIT 20',
        'SELECT symbol, price, row_number() OVER (PARTITION BY symbol ORDER BY id) AS place FROM trades',
        'SELECT t.symbol, v.name FROM trades AS t LEFT JOIN venues AS v USING (venue)',
        'SELECT symbol FROM trades UNION ALL SELECT name FROM venues',
        "SELECT count(*) AS n, sum(size) AS size FROM trades WHERE at > now() - interval '1 day'",
        'WITH RECURSIVE chain AS (SELECT id, symbol FROM trades WHERE id < 3 UNION ALL SELECT id + 1, symbol FROM chain WHERE id < 9) SELECT symbol, id FROM chain',
        'SELECT symbol, g FROM trades, generate_series(1, 2) AS g WHERE size = 10',
        'SELECT symbol, unnest(array_agg(id)) AS id, count(*) AS n FROM trades GROUP BY symbol',
        'SELECT t.symbol, unnest(ids) AS id FROM (SELECT symbol, array_agg(id) AS ids FROM trades GROUP BY 1) AS t',
      ])('the answer takes the place of the rows before, however often it holds a row: %s', async (query) => {
        const flow = await Flow.create(query);
        expect(flow.definition.compiled).toMatchObject({ window: null, keys: [] });
        await flow.run(TEN);
        const first = await flow.answer(TEN);
        expect(first.length).toBeGreaterThan(0);
        expect(await flow.sink()).toEqual(first);
        await change();
        await flow.run(ELEVEN);
        expect(await flow.sink()).toEqual(await flow.answer(ELEVEN));
        expect(await flow.sink()).not.toEqual(first);
      });

      it('holds rows that are equal and rows of NULLs (control of the comparison)', async () => {
        const flow = await Flow.create('SELECT symbol, venue FROM trades');
        await flow.run(TEN);
        const rows = await flow.sink();
        expect(rows).toContain('(,)');
        expect(new Set(rows).size).toBeLessThan(rows.length);
      });
    });

    describe('with a key', () => {
      const PRICES = 'SELECT id, symbol, price FROM trades WHERE symbol IS NOT NULL';

      it.each([
        { query: PRICES, key: ['id'] },
        {
          query:
            'SELECT DISTINCT ON (symbol, venue) symbol, venue, id, price FROM trades ORDER BY symbol, venue, at DESC NULLS LAST, id',
          key: ['venue', 'symbol'],
        },
        {
          query: 'SELECT symbol, price, rank() OVER (ORDER BY price, id) AS "Platz ""ü""" FROM trades',
          key: ['Platz "ü"'],
        },
        { query: 'SELECT symbol, count(*) AS n, max(price) AS highest FROM trades GROUP BY symbol', key: ['symbol'] },
        { query: 'SELECT symbol, count(*) AS n, max(price) AS highest FROM trades GROUP BY symbol', key: [] },
        {
          query:
            "SELECT venue, symbol, max(price) AS highest FROM trades WHERE at > now() - interval '3 days' GROUP BY 1, 2",
          key: ['symbol', 'venue'],
        },
      ])('rows are merged: $query by $key', async ({ query, key }) => {
        const flow = await Flow.create(query, key.length === 0 ? {} : { key });
        expect([...flow.definition.compiled.keys].sort()).toEqual(key.length === 0 ? ['symbol'] : key.toSorted());
        await flow.run(TEN);
        expect(await flow.sink()).toEqual(await flow.answer(TEN));
        expect(await flow.run(TEN)).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n });
        const before = await rowsOf(`SELECT ctid, xmin FROM ${flow.definition.sink.table}`);
        await change();
        const { updated } = await flow.run(ELEVEN);
        expect(await flow.sink()).toEqual(await flow.answer(ELEVEN));
        expect(updated).toBeGreaterThan(0n);
        // What stayed the same was not rewritten.
        const after = await rowsOf(`SELECT ctid, xmin FROM ${flow.definition.sink.table}`);
        expect(after.filter((row) => before.includes(row)).length).toBeGreaterThan(0);
      });

      it('two rows under one key are refused, and nothing is written', async () => {
        const flow = await Flow.create(PRICES, { key: 'id' });
        await flow.run(TEN);
        const before = await flow.sink();
        await session.query(`INSERT INTO trades SELECT 77, at, symbol, venue, price + 1, size, day FROM trades WHERE id = 77;
DELETE FROM trades WHERE id = 78`);
        const error = await refusal(flow.run(ELEVEN));
        expect(error).toMatchObject({ code: 'duplicate_sink_key', retryable: false });
        expect(error.message).toMatch(/same key \(id\)/);
        expect(await flow.sink()).toEqual(before);
        await session.query('DELETE FROM trades WHERE id = 77 AND price <> 100 + 77 % 17 + 0.25');
        await flow.run(ELEVEN);
        expect(await flow.sink()).toEqual(await flow.answer(ELEVEN));
      });

      it('two rows with NULL for a key are two rows under one key', async () => {
        const flow = await Flow.create('SELECT symbol, max(id) AS id FROM trades GROUP BY symbol, venue', {
          key: 'symbol',
        });
        expect(await refusal(flow.run(TEN))).toMatchObject({ code: 'duplicate_sink_key' });
      });

      it('with on_delete = keep, rows that vanish from the answer stay, and others follow it', async () => {
        const flow = await Flow.create(PRICES, { key: 'id', on_delete: 'keep' });
        await flow.run(TEN);
        const gone = await rowsOf(`SELECT * FROM (${PRICES}) AS p WHERE symbol = 'S1'`);
        await change();
        expect(await flow.run(ELEVEN)).toMatchObject({ inserted: 1n, deleted: 0n });
        expect(await flow.sink()).toEqual([...gone, ...(await flow.answer(ELEVEN))].sort());
        expect(gone.length).toBeGreaterThan(0);
      });

      it('with on_delete = keep, a key that is spelt otherwise is the same row', async () => {
        await session.query('CREATE TABLE spelt AS SELECT 1.0 AS n, 5 AS v; INSERT INTO spelt VALUES (NULL, 6)');
        const flow = await Flow.create('SELECT n, v FROM spelt', { key: 'n', on_delete: 'keep' });
        await flow.run(TEN);
        await session.query('UPDATE spelt SET n = n * 1.000, v = v + 1; INSERT INTO spelt VALUES (2, 2)');
        await flow.run(ELEVEN);
        expect(await flow.sink()).toEqual(['(1.0000,6)', '(2,2)', '(,7)'].sort());
      });

      it.each([
        [
          { key: ['idd'] },
          'SELECT id, price FROM trades',
          /"idd", which is no column of the query\. Did you mean id\? Its columns: id, price/,
        ],
        [
          { key: ['doc'] },
          "SELECT json_build_object('id', id) AS doc FROM trades",
          /"doc" of type json.*index cannot hold/,
        ],
        [
          { key: ['symbol'] },
          'SELECT symbol, venue, count(*) AS n FROM trades GROUP BY 1, 2',
          /group keys identify its rows already: \(symbol, venue\)/,
        ],
        [
          { key: ['h', 'n'] },
          "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades GROUP BY 1",
          /group keys identify its rows already: \(h\)/,
        ],
        [{ on_delete: 'keep' }, 'SELECT symbol FROM trades', /on_delete = 'keep' needs a key/],
      ])('%o is refused for %s', async (options, query, message) => {
        const error = await refusal(compile(query, { options }));
        expect(error).toMatchObject({ code: 'invalid_option', message: expect.stringMatching(message) });
      });
    });

    describe('that records its answers', () => {
      const RECORDINGS: readonly (readonly [
        query: string,
        keys: readonly string[],
        options?: Record<string, unknown>,
      ])[] = [
        ['SELECT now() AS ts, symbol, count(*) AS n FROM trades GROUP BY symbol', ['ts', 'symbol']],
        ['SELECT symbol, current_timestamp AS ts, sum(price) AS total FROM trades GROUP BY 1, 2', ['ts', 'symbol']],
        ['SELECT now() AS ts, count(*) AS n FROM trades', []],
        ['SELECT now() AS ts, count(*) AS n FROM trades', ['ts'], { key: 'ts' }],
        ['SELECT now() AS ts, symbol, venue FROM trades', []],
        ['SELECT id, transaction_timestamp() AS ts, price FROM trades', ['ts', 'id'], { key: ['id'] }],
        ['SELECT id, now() AS ts, price FROM trades', ['ts', 'id'], { key: ['id', 'ts'] }],
        [
          'SELECT now()::timestamp AS ts, symbol, max(price) AS p FROM trades GROUP BY 2',
          ['ts', 'symbol'],
          { time_zone: 'Asia/Kolkata' },
        ],
        ["SELECT now() AT TIME ZONE 'America/St_Johns' AS ts, symbol FROM trades", []],
        [
          'SELECT CAST(localtimestamp AS timestamptz(0)) AS "Zeit ""ü""", symbol FROM trades',
          [],
          { time_zone: 'Europe/Berlin' },
        ],
        [
          "SELECT now() AS ts, symbol, price FROM trades WHERE at > now() - interval '1 day' ORDER BY price DESC, id LIMIT 5",
          [],
        ],
        ["SELECT now() AS ts, date_trunc('day', at) AS day, count(*) AS n FROM trades GROUP BY 2", ['ts', 'day']],
        [
          "SELECT now() AS ts, 'trades' AS of, count(*) AS n FROM trades UNION ALL SELECT now(), 'venues', count(*) FROM venues",
          [],
        ],
        ['WITH c AS (SELECT now() AS t, count(*) AS n FROM trades) SELECT n, t AS ts FROM c', []],
        ['SELECT c.*, v.name FROM venues AS v CROSS JOIN (SELECT now() AS ts) AS c', []],
        ['SELECT current_date AS d, now() AS ts, count(*) AS n FROM trades', []],
        ['SELECT now() AS ts, symbol, count(*) AS n FROM trades GROUP BY ROLLUP (symbol)', []],
        ['SELECT now() AS ts, symbol FROM trades WHERE size > 1000', []],
      ];

      it.each(RECORDINGS.map(([query, keys, options = {}]) => ({ query, keys, options })))(
        'keeps the rows of every grid time: $query $options',
        async ({ query, keys, options }) => {
          const flow = await Flow.create(query, options);
          expect(flow.definition.compiled.keys).toEqual(keys);
          await flow.run(TEN);
          const first = await flow.answer(TEN);
          expect(await flow.sink()).toEqual(first);
          await change();
          await flow.run(ELEVEN);
          const both = [...first, ...(await flow.answer(ELEVEN))].sort();
          expect(await flow.sink()).toEqual(both);

          // A grid time that is delivered again, and one that comes late, touch no other.
          await flow.run(ELEVEN);
          expect(await flow.sink()).toEqual(both);
          await session.query("DELETE FROM trades WHERE symbol = 'S3'");
          await flow.run(HALF_PAST_TEN);
          const late = await flow.answer(HALF_PAST_TEN);
          expect(await flow.sink()).toEqual([...both, ...late].sort());
          await flow.run(TEN);
          const again = await flow.answer(TEN);
          expect(await flow.sink()).toEqual([...both.filter((row) => !first.includes(row)), ...late, ...again].sort());
          if (first.length > 0) expect(both.length).toBeGreaterThan(first.length);
        },
      );

      it('rewrites nothing when the same grid time gives the same rows under a key', async () => {
        const flow = await Flow.create('SELECT now() AS ts, symbol, count(*) AS n FROM trades GROUP BY symbol');
        await flow.run(TEN);
        await flow.run(ELEVEN);
        expect(await flow.run(TEN)).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n });
      });

      it('keeps one set of rows per day under current_date, and says so', async () => {
        const flow = await Flow.create('SELECT current_date AS d, symbol, count(*) AS n FROM trades GROUP BY 2');
        expect(flow.compiled.warnings.join()).toMatch(/Runs of one day have the same "d"/);
        await flow.run(TEN);
        await change();
        await flow.run(ELEVEN);
        const first = await flow.answer(ELEVEN);
        expect(await flow.sink()).toEqual(first);
        await flow.run(NEXT_DAY);
        expect(await flow.sink()).toEqual([...first, ...(await flow.answer(NEXT_DAY))].sort());
      });

      it('leaves history alone when the flow is replaced by one that asks for something else', async () => {
        const flow = await Flow.create('SELECT now() AS ts, symbol, count(*) AS n FROM trades GROUP BY symbol');
        await flow.run(TEN);
        const first = await flow.sink();
        const query = "SELECT now() AS ts, symbol, count(*) AS n FROM trades WHERE symbol <> 'S0' GROUP BY symbol";
        const other = await compile(query, { sink: flow.definition.sink.table });
        const replaced = new Flow(other, query);
        await replaced.run(ELEVEN);
        expect(await replaced.sink()).toEqual([...first, ...(await replaced.answer(ELEVEN))].sort());
      });

      it.each([
        // When a row was written is no grid time.
        'SELECT symbol, max(at) AS last, now() AS update_at FROM trades GROUP BY symbol',
        'SELECT symbol, now() - max(at) AS age FROM trades GROUP BY symbol',
        "SELECT date_trunc('hour', now()) AS hour, count(*) AS n FROM trades",
        'SELECT v.name, c.ts FROM venues AS v LEFT JOIN (SELECT now() AS ts) AS c ON v.venue = 1',
        'SELECT now() AS ts, symbol FROM trades UNION ALL SELECT max(at), NULL FROM trades',
        'SELECT current_time AS t, count(*) AS n FROM trades',
      ])('is none without a column that is the time of the run in every row: %s', async (query) => {
        const { draft } = await compile(query);
        expect(draft.compiled.history).toBeNull();
      });

      it('takes an existing sink, by its key', async () => {
        await session.query('CREATE TABLE recorded (ts timestamptz, id bigint, UNIQUE NULLS NOT DISTINCT (ts, id))');
        const { draft } = await compile('SELECT now() AS ts, id FROM trades', {
          sink: 'recorded',
          options: { key: 'id' },
        });
        expect(draft.compiled.keys).toEqual(['ts', 'id']);
        await session.query('DROP TABLE recorded');
      });

      it('finds the rows of a grid time by an index', async () => {
        const flow = await Flow.create('SELECT now() AS ts, symbol FROM trades');
        const { table } = flow.definition.sink;
        expect(await rowsOf(`SELECT indexdef FROM pg_indexes WHERE tablename = '${table}'`)).toEqual([
          expect.stringMatching(/CREATE INDEX .* USING btree \(ts\)/),
        ]);
      });

      it('is refused where the time of the run is rolled up', async () => {
        const query = 'SELECT now() AS ts, symbol, count(*) AS n FROM trades GROUP BY ROLLUP (1, 2)';
        const error = await refusal(compile(query));
        expect(error).toMatchObject({
          code: 'invalid_query',
          message: expect.stringMatching(/NULL where it is rolled up/),
        });
        expect(query.slice((error.details.position ?? 0) - 1)).toMatch(/^ROLLUP/);
      });

      it('says that on_delete = keep changes nothing', async () => {
        const query = 'SELECT now() AS ts, symbol FROM trades';
        const { warnings } = await compile(query, { options: { on_delete: 'keep' } });
        expect(warnings.join()).toMatch(/Without effect, because a recording query keeps .*: on_delete\./);
      });

      it('is refused without an eval interval', async () => {
        const error = await refusal(compile('SELECT now() AS ts, count(*) AS n FROM trades', { eval_interval: null }));
        expect(error).toMatchObject({ code: 'invalid_query', details: { position: 8 } });
        expect(error.message).toMatch(/EVAL INTERVAL/);
      });

      it('would lose its history without the restriction to the grid time (control)', async () => {
        const flow = await Flow.create('SELECT now() AS ts, symbol FROM trades');
        await flow.run(TEN);
        const { compiled, ...rest } = flow.compiled.draft;
        const draft = { ...rest, name: 'forgetful', compiled: { ...compiled, history: null } };
        const forgetful = new Flow({ ...flow.compiled, draft }, flow.query);
        await forgetful.run(ELEVEN);
        expect(await flow.sink()).toEqual(await flow.answer(ELEVEN));
      });
    });

    describe('may not say something else at each call', () => {
      const refused = async (query: string, message: RegExp, at: string) => {
        const error = await refusal(compile(query));
        expect(error).toMatchObject({ code: 'invalid_query', message: expect.stringMatching(message) });
        expect([...query].slice((error.details.position ?? 0) - 1).join('')).toMatch(
          new RegExp(`^${at.replace(/[()']/g, '\\$&')}`),
        );
      };

      it.each([
        'random()',
        'clock_timestamp()',
        'timeofday()',
        'statement_timestamp()',
        "nextval('counter')",
        'gen_random_uuid()',
        'txid_current()',
        'pg_catalog.pg_current_snapshot()',
        'pg_sleep(0)',
        'random_normal()',
      ])('%s is volatile', async (call) => {
        await session.query('CREATE SEQUENCE IF NOT EXISTS counter');
        const name = call.replace('pg_catalog.', '').replace(/\(.*/, '');
        for (const query of [
          `SELECT symbol, ${call} AS odd FROM trades`,
          `SELECT 'ü' AS u, count(*) AS n FROM trades WHERE ${call} IS NOT NULL`,
          `SELECT symbol, count(*) AS n FROM trades GROUP BY 1 HAVING max(id) > (SELECT count(${call}) FROM venues)`,
          `WITH v AS (SELECT ${call} AS x) SELECT symbol FROM trades, v ORDER BY ${call} LIMIT 1`,
        ]) {
          await refused(query, new RegExp(`${name}\\(\\) may give another value at each call`), call.slice(0, 8));
        }
      });

      it.each([
        'pg_backend_pid()',
        'inet_client_addr()',
        "current_setting('work_mem')",
        'pg_postmaster_start_time()',
        'pg_stat_get_numscans(1)',
      ])('%s depends on the session', async (call) => {
        const message = /its answer depends on the session, not on the rows/;
        await refused(`SELECT symbol, ${call} AS odd FROM trades`, message, call);
        await refused(`SELECT symbol FROM trades WHERE ${call} IS NULL`, message, call);
      });

      it.each([
        ["SELECT symbol FROM trades WHERE at > 'yesterday'::timestamptz", "'yesterday'"],
        ["SELECT symbol FROM trades WHERE at > timestamptz 'Today 10:00'", "'Today"],
        ["SELECT symbol FROM trades WHERE at > CAST('now' AS text)::timestamptz", "'now'"],
        ["SELECT symbol FROM trades WHERE at > 'yesterday'", "'yesterday'"],
        ["SELECT symbol FROM trades WHERE at > E'tomorrow' AND symbol <> 'tomorrow'", "E'tomorrow'"],
        ["SELECT symbol FROM trades WHERE 'ü' <> symbol AND day IN ('2020-01-01', 'today')", "'today'"],
        ["SELECT symbol FROM trades WHERE at BETWEEN 'yesterday 12:00' AND '2030-01-01'", "'yesterday"],
        ["SELECT symbol FROM trades WHERE at - 'today' < interval '1 day'", "'today'"],
        ["SELECT symbol FROM trades WHERE day = ANY ('{today,yesterday}')", "'{today"],
        ["SELECT symbol FROM trades WHERE tstzrange('yesterday', NULL) @> at", "'yesterday'"],
        ["SELECT symbol FROM trades WHERE at <@ '[today,tomorrow)'::tstzrange", "'[today"],
        ["SELECT symbol FROM trades WHERE at::time > 'now'", "'now'"],
        ["SELECT symbol, coalesce(at, U&'t!006fday' UESCAPE '!') AS at FROM trades", 'U&'],
        ["SELECT symbol, at > 'today' AS new FROM trades GROUP BY 1, at > 'today'", "'today' AS"],
        ["SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades WHERE at > 'today' GROUP BY 1", "'today'"],
      ])('%s reads a word as the time of the run', async (query, at) => {
        await refused(query, /is another time at each run; use now\(\)/, at.replace('[', '\\['));
      });

      it.each([
        "SELECT symbol, 'today' AS label FROM trades WHERE symbol <> 'now'",
        "SELECT CASE WHEN price > 3 THEN 'yesterday' ELSE 'tomorrow' END AS word, count(*) AS n FROM trades GROUP BY 1",
        "SELECT symbol FROM trades WHERE symbol IN ('today', 'now') OR symbol ~ '^(now|today)$' OR size > 0",
        "SELECT symbol, 'now' || symbol AS s FROM trades GROUP BY 1, 'now' || symbol",
        "SELECT symbol, '{\"today\": 1}'::jsonb -> 'today' AS one, to_tsvector('simple', symbol) @@ 'now & then' AS t FROM trades",
        "SELECT symbol, '{now}'::text[] AS words, 'now'::mood AS mood FROM trades",
        'SELECT current_user AS who, current_database() AS place, count(*) AS n FROM trades',
      ])('%s reads none', async (query) => {
        await session.query("DROP TYPE IF EXISTS mood CASCADE; CREATE TYPE mood AS ENUM ('now', 'later')");
        const flow = await Flow.create(query);
        expect(flow.compiled.warnings.join()).not.toMatch(/time of the run/);
        await flow.run(TEN);
        expect(await flow.sink()).toEqual(await flow.answer(TEN));
      });
    });

    describe('in the grammar of another database', () => {
      it.each([
        [
          "TQL EVAL (now() - '1h'::interval, now(), '5m') rate(requests_total[5m])",
          'TQL',
          /^TQL is spoken by GreptimeDB/,
        ],
        ["/* ü */ tql evaluate (0, 10, '5s') up", 'tql', /date_bin/],
        ["WITH t AS (TQL EVAL (now() - '1h'::interval, now(), '5m') up) SELECT * FROM t", 'TQL', /^TQL/],
        [
          "SELECT ts, host, min(cpu) RANGE '10s' FROM host_cpu ALIGN '5s' BY (host) FILL LINEAR",
          "RANGE '10s'",
          /^RANGE … ALIGN is spoken/,
        ],
        [
          "select ts, max(cpu) range interval '10 seconds' FILL NULL from host_cpu align ('1m')",
          'range interval',
          /^RANGE/,
        ],
      ])('%s is refused with what to write instead', async (query, at, message) => {
        for (const evalInterval of ['1 hour', null]) {
          const error = await refusal(compile(query, { eval_interval: evalInterval }));
          expect(error).toMatchObject({ code: 'invalid_query', message: expect.stringMatching(message) });
          expect([...query].slice((error.details.position ?? 0) - 1).join('')).toMatch(new RegExp(`^${at}`));
        }
      });

      it.each([
        ["SELECT sum(price) OVER (ORDER BY at RANGE '1 day' PRECEDING) AS s FROM trades align", /^$/],
        ["SELECT sum(price) OVER (ORDER BY at RANGE '1 day' PRECEDING) AS s FROM FROM trades", /cannot be parsed/],
        ["SELECT 'TQL EVAL' AS tql eval FROM trades", /cannot be parsed/],
        ["SELECT 'TQL EVAL", /cannot be parsed/],
        // Nor does it take long to see that.
        [`${'/**/'.repeat(1500)} tql FROM`, /cannot be parsed/],
      ])('%s is no such query', async (query, message) => {
        const said = await compile(query).then(
          () => '',
          (error: SluiceError) => error.message,
        );
        expect(said).toMatch(message);
      });
    });

    describe('that needs an eval interval', () => {
      it.each([
        ['SELECT symbol, count(*) AS n FROM trades GROUP BY 1', /no window among its group keys/, '1'],
        ['SELECT symbol, price FROM trades WHERE size > 10', /no window/, ''],
        [
          "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
          /LIMIT and OFFSET count rows/,
          '3',
        ],
        [
          "SELECT date_trunc('hour', at) AS h, sum(size) AS s, rank() OVER (ORDER BY sum(size)) AS r FROM trades GROUP BY 1",
          /window function \(OVER\)/,
          'rank',
        ],
        [
          "WITH RECURSIVE r AS (SELECT at FROM trades UNION ALL SELECT at - interval '1 day' FROM r WHERE at > '2024-04-30') SELECT date_trunc('day', at) AS d, count(*) AS n FROM r GROUP BY 1",
          /recursive/,
          'r AS',
        ],
        [
          "SELECT date_trunc('hour', at) AS h, symbol FROM trades GROUP BY 1, 2 UNION ALL SELECT at, name FROM trades JOIN venues USING (venue)",
          /only one side of the UNION ALL computes a window/,
          "date_trunc('hour', at)",
        ],
        [
          "SELECT DISTINCT ON (symbol) symbol, date_trunc('hour', at) AS h FROM trades GROUP BY 1, 2 ORDER BY 1, 2 DESC",
          /DISTINCT ON/,
          'symbol)',
        ],
        ["SELECT date_trunc('day', at) AS d, symbol, count(*) AS n FROM trades GROUP BY CUBE (1, 2)", /CUBE/, 'CUBE'],
      ])('%s is refused without one, for a reason that helps, and runs with one', async (query, message, at) => {
        const error = await refusal(compile(query, { eval_interval: null }));
        expect(error).toMatchObject({ code: 'invalid_query', message: expect.stringMatching(message) });
        expect(error.details.hint).toMatch(/With an EVAL INTERVAL the whole query is run/);
        expect(query.slice((error.details.position ?? 0) - 1).startsWith(at)).toBe(true);

        const flow = await Flow.create(query);
        expect(flow.compiled.warnings.join()).toMatch(message);
        await flow.run(TEN);
        await change();
        await flow.run(ELEVEN);
        expect(await flow.sink()).toEqual(await flow.answer(ELEVEN));
      });

      it.each([
        [
          "SELECT date_trunc('hour', at) AS h, unnest(ARRAY['a', 'b']) AS x, count(*) AS n FROM trades GROUP BY 1",
          false,
        ],
        [
          "WITH t AS (SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades GROUP BY 1) SELECT h, generate_series(1, n) AS i FROM t",
          false,
        ],
        [
          "SELECT date_trunc('hour', at) AS h, unnest(ARRAY['a', symbol]) AS x, count(*) AS n FROM trades GROUP BY 1, 2",
          true,
        ],
        [
          "WITH t AS (SELECT at, unnest(ARRAY['a', symbol]) AS x FROM trades) SELECT date_trunc('hour', at) AS h, x, count(*) AS n FROM t GROUP BY 1, 2",
          true,
        ],
        [
          "SELECT date_trunc('hour', at) AS h, ARRAY(SELECT unnest(array_agg(id)) ORDER BY 1) AS ids FROM trades GROUP BY 1",
          true,
        ],
      ] as const)('%s has one row per key: %s', async (query, accepted) => {
        if (accepted) {
          const { draft } = await compile(query, { eval_interval: null });
          expect(draft.compiled.window).not.toBeNull();
          await compile(query);
        } else {
          const error = await refusal(compile(query, { eval_interval: null }));
          expect(error).toMatchObject({
            code: 'invalid_query',
            message: expect.stringMatching(/several rows of one group/),
          });
          expect(query.slice((error.details.position ?? 0) - 1)).toMatch(/^(unnest|generate_series)/);
          const flow = await Flow.create(query);
          expect(flow.definition.compiled).toMatchObject({ window: null, keys: [] });
          await flow.run(TEN);
          expect(await flow.sink()).toEqual(await flow.answer(TEN));
        }
      });

      it.each([
        "SELECT date_trunc('hour', at) AS h, symbol, count(*) AS n FROM trades WHERE at > now() - interval '1 day' GROUP BY 1, 2",
        "SELECT date_trunc('day', at) AS d, count(*) FILTER (WHERE at > current_date - 2) AS recent FROM trades GROUP BY 1",
        "SELECT date_trunc('day', at) AS d, max(price) AS p FROM trades GROUP BY 1 HAVING max(at) > current_timestamp - interval '30 hours'",
        "SELECT date_trunc('day', at) AS d, age(now(), max(at)) AS age FROM trades GROUP BY 1",
        "SELECT date_bin('6 hours', at, '2024-01-01') AS w, CASE WHEN at > localtimestamp - interval '1 day' THEN 'new' ELSE 'old' END AS kind, count(*) AS n FROM trades GROUP BY 1, 2",
      ])('windows that change with now() and without a mark are computed anew, all of them: %s', async (query) => {
        const without = await refusal(compile(query, { eval_interval: null }));
        expect(without).toMatchObject({
          code: 'invalid_query',
          message: expect.stringMatching(/another time at each run/),
        });
        const flow = await Flow.create(query);
        expect(flow.definition.compiled).toMatchObject({ window: null, history: null });
        await flow.run(TEN);
        const first = await flow.answer(TEN);
        expect(await flow.sink()).toEqual(first);
        // Nothing but the time changes: windows leave the range, and their rows leave the sink.
        await flow.run(NEXT_DAY);
        expect(await flow.sink()).toEqual(await flow.answer(NEXT_DAY));
        expect(await flow.sink()).not.toEqual(first);
      });

      it('is cut by windows where now() is not in it (control)', async () => {
        const { draft } = await compile("SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades GROUP BY 1");
        expect(draft.compiled.window).not.toBeNull();
      });

      it('takes no EXPIRE AFTER, which is about windows', async () => {
        const query = "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades WHERE at < now() GROUP BY 1";
        const error = await refusal(compile(query, { expire_after: '7 days' }));
        expect(error).toMatchObject({ code: 'invalid_query', message: expect.stringMatching(/EXPIRE AFTER/) });
      });
    });

    describe('and ORDER BY at the top', () => {
      it.each([
        'SELECT symbol, price FROM trades ORDER BY price DESC, id',
        'SELECT symbol, count(*) AS n FROM trades GROUP BY symbol ORDER BY count(*) DESC, 1',
        'SELECT symbol FROM trades UNION ALL SELECT name FROM venues ORDER BY 1',
        '(SELECT symbol FROM trades ORDER BY symbol)',
        "SELECT date_trunc('hour', at) AS h, count(*) AS n FROM trades GROUP BY 1 ORDER BY n, h",
      ])('it decides nothing and is left out: %s', async (query) => {
        const { draft, warnings } = await compile(query);
        expect(warnings).toContain('ORDER BY is left out: the rows of a sink have no order.');
        expect(draft.compiled.text.join('')).not.toMatch(/ORDER BY/);
      });

      it.each([
        'SELECT symbol, price FROM trades ORDER BY price DESC, id LIMIT 7',
        'SELECT symbol, price FROM trades ORDER BY price DESC, id OFFSET 390',
        'SELECT symbol, price FROM trades ORDER BY price DESC FETCH FIRST 2 ROWS WITH TIES',
        'SELECT DISTINCT ON (symbol) symbol, id FROM trades ORDER BY symbol, id DESC',
        'SELECT symbol FROM trades ORDER BY generate_series(1, 3)',
      ])('it decides which rows there are, and stays: %s', async (query) => {
        const flow = await Flow.create(query);
        expect(flow.compiled.warnings.join()).not.toMatch(/ORDER BY is left out/);
        await flow.run(TEN);
        expect(await flow.sink()).toEqual(await flow.answer(TEN));
      });
    });
  });
}
