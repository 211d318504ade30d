import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CompiledQuery, FlowDefinition } from '../../lib/flow/definition.ts';
import type { Frontend, PlanRequest } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { DAY, HOUR, instant, MINUTE, plus } from '../../lib/window/instant.ts';
import { ALL_TIME, type TimeRange } from '../../lib/window/time-range.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';
import { countsOf, definitionOf, OPTIONS, overItsSink, type RowCounts } from '../support/definitions.ts';
import { nameOf, PostgresUnderTest } from '../support/postgres-under-test.ts';

const START = instant(1_622_505_600_000_000n);
const HOURS: TimeRange = { start: START, end: plus(START, 10n * HOUR) };

function at(hour: number, minute = 5): string {
  return new Date(Number(START / 1000n) + hour * 3_600_000 + minute * 60_000).toISOString();
}

interface Shape {
  readonly select: string;
  readonly columns: readonly string[];
  readonly keys: readonly string[];
  readonly groupBy?: string;
  readonly label?: readonly [string, string];
  readonly argumentType?: 'timestamptz' | 'timestamp';
  readonly type?: 'timestamptz' | 'timestamp' | 'date';
}

for (const server of testServers()) {
  describe(`Writing to ${server.name}`, () => {
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

    /** A flow by the hour over `data (time, …)` of the test's schema, whose table the test makes. */
    function windowed(name: string, shape: Shape): FlowDefinition {
      const source = { schema: under.schema, table: 'data' };
      const type = shape.type ?? 'timestamptz';
      const compiled: CompiledQuery = {
        compiler: 1,
        text: [
          `SELECT ${shape.select} FROM (SELECT * FROM ${nameOf(source)} WHERE `,
          `) AS s ${shape.groupBy ?? ''} -- the end`,
        ],
        holes: [{ kind: 'filter', column: '"data"."time"', type }],
        window: {
          spec: { kind: 'fixed', size: HOUR, origin: instant(0n) },
          column: shape.keys[0] ?? '',
          expression: shape.label ?? ["date_trunc('hour', ", ')'],
          argumentType: shape.argumentType ?? 'timestamptz',
        },
        sources: [{ ...source, timeColumn: 'time' }],
        beneath: [],
        columns: shape.columns,
        keys: shape.keys,
        history: null,
      };
      return definitionOf({ name, sink: { schema: under.schema, table: name }, compiled });
    }

    const planOf = (
      flow: FlowDefinition,
      epoch: bigint,
      applied: bigint,
      ranges: readonly TimeRange[] = [HOURS],
    ): PlanRequest => ({
      definition: flow,
      epoch,
      applied,
      coverage: ranges.length === 0 ? 'unfiltered_full' : 'scoped_base_repair',
      ranges,
      gridTime: null,
      source: null,
      sinkIdentity: null,
      budgetMs: 20_000,
    });
    const run = async (flow: FlowDefinition, epoch: bigint, ranges?: readonly TimeRange[]): Promise<RowCounts> =>
      runOn(under.frontend, planOf(flow, epoch, epoch - 1n, ranges));
    /** The flow takes the sink's columns as they are. */
    const runOn = async (frontend: Frontend, plan: PlanRequest): Promise<RowCounts> =>
      countsOf(await frontend.run({ ...plan, definition: await overItsSink(frontend, plan.definition) }));
    const NOTHING = { inserted: 0n, updated: 0n, deleted: 0n };

    it('does not rewrite unchanged rows, and stamps those that it writes with the time of the transaction', async () => {
      await sql(
        `CREATE TABLE data AS SELECT time::timestamptz, key, 1 AS value FROM (VALUES ('${at(1)}', 'a'), ('${at(1)}', 'b'), ('${at(2)}', 'a')) AS v (time, key)`,
      );
      const flow = windowed('stamped', {
        select: "date_trunc('hour', s.time), s.key, sum(s.value)",
        columns: ['label', 'key', 'sum'],
        keys: ['label', 'key'],
        groupBy: 'GROUP BY 1, 2',
      });
      await under.frontend.createSink(flow);
      await run(flow, 1n);
      const places = () => sql('SELECT key, ctid::text, xmin::text, update_at FROM stamped ORDER BY label, key');
      const before = await places();
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      expect(await places()).toEqual(before);

      await sql(`UPDATE data SET value = 5 WHERE key = 'b'; INSERT INTO data VALUES ('${at(3)}', 'c', 1)`);
      const [noted] = await sql('SELECT now() AS now');
      expect(await run(flow, 3n)).toMatchObject({ inserted: 1n, updated: 1n, deleted: 0n });
      const after = await sql(
        `SELECT key, ctid::text, xmin::text, update_at, update_at > '${(noted!['now'] as Date).toISOString()}' AS stamped FROM stamped ORDER BY label, key`,
      );
      expect(after.map(({ key, stamped }) => [key, stamped])).toEqual([
        ['a', false],
        ['b', true],
        ['a', false],
        ['c', true],
      ]);
      expect([after[0], after[2]].map((row) => row?.['xmin'])).toEqual(
        [before[0], before[2]].map((row) => row?.['xmin']),
      );
    });

    it('takes NULL keys for equal', async () => {
      await sql(
        `CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, NULL::text AS key, NULL::int AS other, 1 AS value`,
      );
      const flow = windowed('nulls', {
        select: "date_trunc('hour', s.time), s.key, s.other, sum(s.value)",
        columns: ['label', 'key', 'other', 'sum'],
        keys: ['label', 'key', 'other'],
        groupBy: 'GROUP BY 1, 2, 3',
      });
      await under.frontend.createSink(flow);
      await run(flow, 1n);
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      await sql('UPDATE data SET value = 2');
      expect(await run(flow, 3n)).toMatchObject({ inserted: 0n, updated: 1n, deleted: 0n });
      expect(await sql('SELECT key, other, sum FROM nulls')).toEqual([{ key: null, other: null, sum: '2' }]);
    });

    it('sees every change of a value, also of types that cannot be compared or call different values equal', async () => {
      const changes: readonly (readonly [type: string, before: string, after: string])[] = [
        ['float8', "'NaN'", '1'],
        ['float8', '0', "'-0'"],
        ['numeric', '1.0', '1.00'],
        ['json', `'{"a":1}'`, `'{"a":2}'`],
        ['json', `'{"a":1}'`, `'{"a": 1}'`],
        ['point', "'(1,2)'", "'(1,3)'"],
        ['box', "'(0,0),(1,4)'", "'(0,0),(2,2)'"],
        ['xid', "'7'", "'8'"],
        ['text', 'NULL', "''"],
        ['bytea', "'\\x00'", "'\\x01'"],
        ['int4[]', "'{1,NULL}'", "'{1}'"],
      ];
      const names = changes.map((_, index) => `v${index}`);
      await sql(
        `CREATE TABLE data (time timestamptz, key int, ${changes.map(([type], index) => `v${index} ${type}`).join(', ')})`,
      );
      await sql(
        changes
          .map(
            (_, row) =>
              `INSERT INTO data VALUES ('${at(1)}', ${row}, ${changes.map(([, before]) => before).join(', ')})`,
          )
          .join(';'),
      );
      const flow = windowed('images', {
        select: `date_trunc('hour', s.time), s.key, ${names.map((name) => `s.${name}`).join(', ')}`,
        columns: ['label', 'key', ...names],
        keys: ['label', 'key'],
      });
      await under.frontend.createSink(flow);
      expect(await run(flow, 1n)).toMatchObject({ inserted: BigInt(changes.length), updated: 0n, deleted: 0n });
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      await sql(changes.map(([, , after], row) => `UPDATE data SET v${row} = ${after} WHERE key = ${row}`).join(';'));
      expect(await run(flow, 3n)).toMatchObject({ inserted: 0n, updated: BigInt(changes.length), deleted: 0n });
      const shown = `key, ${names.map((name) => `${name}::text`).join(', ')}`;
      expect(await sql(`SELECT ${shown} FROM images ORDER BY key`)).toEqual(
        await sql(`SELECT ${shown} FROM data ORDER BY key`),
      );
      expect(await run(flow, 4n)).toMatchObject(NOTHING);
    });

    it('quotes every name: schema, tables, columns, flow and namespace', async () => {
      const hostile = [
        'MiXed',
        'select',
        'with space',
        `quo"te'`,
        'back\\slash',
        'имя 流 🌊',
        '$1',
        ';DROP TABLE x',
        'fresh',
        'c0',
        'present',
      ];
      for (const name of hostile) {
        const id = pg.escapeIdentifier(name);
        const schema = `${under.schema} ${name}`;
        const inSchema = pg.escapeIdentifier(schema);
        await sql(
          `CREATE SCHEMA ${inSchema}; CREATE TABLE ${inSchema}.${id} (time timestamptz, ${id} text); INSERT INTO ${inSchema}.${id} VALUES ('${at(1)}', 'x'), ('${at(1)}', 'x')`,
        );
        const source = { schema, table: name };
        const compiled: CompiledQuery = {
          compiler: 1,
          text: [
            `SELECT date_trunc('hour', s.time) AS label, s.${id}, count(*) AS "count of ${name.replaceAll('"', '""')}" FROM (SELECT * FROM ${nameOf(source)} WHERE `,
            ') AS s GROUP BY 1, 2',
          ],
          holes: [{ kind: 'filter', column: `${id}."time"`, type: 'timestamptz' }],
          window: {
            spec: { kind: 'fixed', size: HOUR, origin: instant(0n) },
            column: 'label',
            expression: ["date_trunc('hour', ", ')'],
            argumentType: 'timestamptz',
          },
          sources: [{ ...source, timeColumn: 'time' }],
          beneath: [],
          columns: ['label', name, `count of ${name}`],
          keys: ['label', name],
          history: null,
        };
        const sink = { schema, table: `sink of ${name}` };
        const flow = definitionOf({ name, sink, compiled });
        const frontend = createPostgresFrontend({ connection: database.url, namespace: `${under.schema} ${name}` });
        await frontend.createSink(flow);
        expect(await runOn(frontend, planOf(flow, 1n, 0n)), name).toEqual({ inserted: 1n, updated: 0n, deleted: 0n });
        expect(await frontend.fence(name, 2n, 5000), name).toEqual({ applied: 1n });
        expect((await frontend.timeRange(flow, ALL_TIME, 5000)).sink, name).toEqual({
          first: plus(START, HOUR),
          last: plus(START, HOUR),
        });
        expect(await frontend.hasUnwindowedRows(flow), name).toBe(false);
        expect(
          await sql(`SELECT ${id} AS key, ${pg.escapeIdentifier(`count of ${name}`)} AS count FROM ${nameOf(sink)}`),
          name,
        ).toEqual([{ key: 'x', count: '2' }]);
        await frontend.close();
      }
    });

    it('leaves columns of the sink that the query does not give as they are', async () => {
      await sql(`CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, 'a' AS key, 1 AS value`);
      const flow = {
        ...windowed('wide', {
          select: "date_trunc('hour', s.time), s.key, sum(s.value)",
          columns: ['label', 'key', 'sum'],
          keys: ['label', 'key'],
          groupBy: 'GROUP BY 1, 2',
        }),
        updateAt: false,
      };
      await sql(
        `CREATE TABLE wide (note text DEFAULT 'new', sum bigint, key text, label timestamptz, serial serial, UNIQUE NULLS NOT DISTINCT (label, key))`,
      );
      await run(flow, 1n);
      await sql("UPDATE wide SET note = 'kept', serial = 77; UPDATE data SET value = 4");
      await run(flow, 2n);
      await sql(`INSERT INTO data VALUES ('${at(1)}', 'b', 9)`);
      await run(flow, 3n);
      expect(await sql('SELECT key, sum, note, serial FROM wide ORDER BY key')).toEqual([
        { key: 'a', sum: '4', note: 'kept', serial: 77 },
        { key: 'b', sum: '9', note: 'new', serial: 2 },
      ]);
    });

    it('keeps a sink that has no column beyond its key', async () => {
      await sql(`CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, 'a' AS key`);
      const flow = {
        ...windowed('narrow', {
          select: "DISTINCT date_trunc('hour', s.time), s.key",
          columns: ['label', 'key'],
          keys: ['label', 'key'],
        }),
        updateAt: false,
      };
      await sql('CREATE TABLE narrow (label timestamptz, key text, UNIQUE NULLS NOT DISTINCT (label, key))');
      expect(await run(flow, 1n)).toMatchObject({ inserted: 1n, updated: 0n, deleted: 0n });
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      await sql("UPDATE data SET key = 'b'");
      expect(await run(flow, 3n)).toMatchObject({ inserted: 1n, updated: 0n, deleted: 1n });
    });

    it('writes a key that is equal and spelt otherwise', async () => {
      await sql(`CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, 1.0 AS key`);
      const flow = windowed('spelt', {
        select: "date_trunc('hour', s.time), s.key",
        columns: ['label', 'key'],
        keys: ['label', 'key'],
      });
      await under.frontend.createSink(flow);
      await run(flow, 1n);
      await sql('UPDATE data SET key = 1.00');
      expect(await run(flow, 2n)).toMatchObject({ inserted: 1n, updated: 0n, deleted: 1n });
      expect(await sql('SELECT key::text FROM spelt')).toEqual([{ key: '1.00' }]);
    });

    it('keeps a sink whose texts have another collation than those of the query', async () => {
      await sql(
        `CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, key, 1 AS value FROM (VALUES ('a'), ('B'), (NULL)) AS v (key)`,
      );
      const flow = {
        ...windowed('collated', {
          select: "date_trunc('hour', s.time), s.key, sum(s.value)",
          columns: ['label', 'key', 'sum'],
          keys: ['label', 'key'],
          groupBy: 'GROUP BY 1, 2',
        }),
        updateAt: false,
      };
      await sql(
        'CREATE TABLE collated (label timestamptz, key text COLLATE "C", sum bigint, UNIQUE NULLS NOT DISTINCT (label, key))',
      );
      expect(await run(flow, 1n)).toMatchObject({ inserted: 3n, updated: 0n, deleted: 0n });
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      await sql("UPDATE data SET value = 2 WHERE key = 'B'; DELETE FROM data WHERE key IS NULL");
      expect(await run(flow, 3n)).toMatchObject({ inserted: 0n, updated: 1n, deleted: 1n });
    });

    it('writes labels of other types than the time column, in the zone of the flow', async () => {
      await sql(
        `CREATE TABLE data AS SELECT t::timestamptz AS time FROM (VALUES ('2021-05-31T21:59:59.999999Z'), ('2021-05-31T22:00Z'), ('2021-06-01T21:59Z'), ('2021-06-01T22:00Z')) AS v (t)`,
      );
      const local = (n: bigint) => plus(instant(1_622_498_400_000_000n), n * DAY);
      for (const [name, expression] of [
        ['as_date', ["date_trunc('day', ", ')::date']],
        ['as_timestamp', ["date_trunc('day', (", ") AT TIME ZONE 'Europe/Berlin')"]],
        ['as_timestamptz', ["date_trunc('day', ", ')']],
      ] as const) {
        const flow = {
          ...windowed(name, {
            select: `${expression[0]}s.time${expression[1]}, count(*)`,
            columns: ['day', 'count'],
            keys: ['day'],
            groupBy: 'GROUP BY 1',
            label: expression,
          }),
          options: { ...OPTIONS, timeZone: 'Europe/Berlin' },
        };
        await under.frontend.createSink(flow);
        await run(flow, 1n, [{ start: local(0n), end: local(1n) }]);
        expect(
          await sql(
            `SELECT day::date::text, count FROM ${name}, (SELECT set_config('TimeZone', 'Europe/Berlin', false)) AS z`,
          ),
          name,
        ).toEqual([{ day: '2021-06-01', count: '2' }]);
        await run(flow, 2n, [ALL_TIME]);
        expect(await sql(`SELECT sum(count)::int, count(*)::int AS days FROM ${name}`), name).toEqual([
          { sum: 4, days: 3 },
        ]);
        // The range may reach further than the labels where their type is not that of the expression's argument.
        const { sink } = await under.frontend.timeRange(flow, ALL_TIME, 5000);
        expect(sink!.first <= local(-1n) && sink!.first >= local(-3n), name).toBe(true);
        expect(sink!.last >= local(1n) && sink!.last <= local(3n), name).toBe(true);
      }
    });

    it('finds the sink rows of a window whose label lies outside of it', async () => {
      // Clocks of Lord Howe go back by half an hour at 15:00Z: the window from there has the label 14:30Z.
      const change = instant(1_617_462_000_000_000n);
      await sql("CREATE TABLE data (time timestamptz); INSERT INTO data VALUES ('2021-04-03 15:10Z')");
      const flow = {
        ...windowed('lord_howe', {
          select: "date_trunc('hour', s.time, 'Australia/Lord_Howe') AS label, count(*) AS count",
          columns: ['label', 'count'],
          keys: ['label'],
          groupBy: 'GROUP BY 1',
          label: ["date_trunc('hour', ", ", 'Australia/Lord_Howe')"],
        }),
      };
      const within: TimeRange = { start: change, end: plus(change, 30n * MINUTE) };
      await under.frontend.createSink(flow);
      await run(flow, 1n, [within]);
      expect(await sql("SELECT (label AT TIME ZONE 'UTC')::text AS label FROM lord_howe")).toEqual([
        { label: '2021-04-03 14:30:00' },
      ]);
      await sql('DELETE FROM data');
      const { source, sink } = await under.frontend.timeRange(flow, within, 5000);
      expect(source).toBeNull();
      expect(sink?.first).toBe(change);
    });

    it('cuts a column without a zone, and a date column, as they are', async () => {
      await sql(
        `CREATE TABLE data (time timestamp); INSERT INTO data VALUES ('2021-06-01 00:00'), ('2021-06-01 00:59'), ('2021-06-01 01:00'), ('infinity'), (NULL)`,
      );
      const plain = windowed('plain', {
        select: "date_trunc('hour', s.time), count(*)",
        columns: ['label', 'count'],
        keys: ['label'],
        groupBy: 'GROUP BY 1',
        argumentType: 'timestamp',
        type: 'timestamp',
      });
      const flow = { ...plain, options: { ...OPTIONS, timeZone: 'America/New_York' } };
      await under.frontend.createSink(flow);
      await run(flow, 1n, [{ start: START, end: plus(START, HOUR) }]);
      expect(await sql('SELECT label::text, count FROM plain')).toEqual([{ label: '2021-06-01 00:00:00', count: '2' }]);
      expect(await under.frontend.timeRange(flow, ALL_TIME, 5000)).toEqual({
        source: { first: START, last: plus(START, HOUR) },
        sink: { first: START, last: START },
      });

      await sql(
        `DROP TABLE data; CREATE TABLE data (time date); INSERT INTO data VALUES ('2021-05-31'), ('2021-06-01'), ('2021-06-02'), ('-infinity')`,
      );
      const dates = {
        ...windowed('dates', {
          select: "date_trunc('day', s.time), count(*)",
          columns: ['label', 'count'],
          keys: ['label'],
          groupBy: 'GROUP BY 1',
          label: ["date_trunc('day', ", ')'],
          type: 'date',
        }),
        options: { ...OPTIONS, timeZone: 'America/New_York' },
      };
      await under.frontend.createSink(dates);
      const midnight = plus(START, 4n * HOUR);
      await run(dates, 1n, [{ start: midnight, end: plus(midnight, DAY) }]);
      expect(await sql("SELECT (label AT TIME ZONE 'America/New_York')::text AS label, count FROM dates")).toEqual([
        { label: '2021-06-01 00:00:00', count: '1' },
      ]);
      expect((await under.frontend.timeRange(dates, ALL_TIME, 5000)).source).toEqual({
        first: plus(midnight, -DAY),
        last: plus(midnight, DAY),
      });
    });

    it('reads the first and the last years, and no infinite or missing time', async () => {
      await sql(
        `CREATE TABLE data (time timestamptz); INSERT INTO data VALUES ('4714-11-24 00:00:00+00 BC'), ('0001-01-01 00:30:00+00 BC'), ('9999-12-31 23:30+00'), ('10000-01-01 00:30+00'), ('294276-12-31 23:30+00'), ('infinity'), ('-infinity'), (NULL)`,
      );
      const flow = windowed('eras', {
        select: "date_trunc('hour', s.time), count(*)",
        columns: ['label', 'count'],
        keys: ['label'],
        groupBy: 'GROUP BY 1',
      });
      await under.frontend.createSink(flow);
      const times = await sql('SELECT trunc(extract(epoch FROM time) * 1000000) AS t FROM data WHERE isfinite(time)');
      for (const [index, { t }] of times.entries()) {
        const start = instant(BigInt(t as string) - (((BigInt(t as string) % HOUR) + HOUR) % HOUR));
        const range = { start, end: plus(start, HOUR) };
        expect(await run(flow, BigInt(index) + 1n, [range]), String(t)).toMatchObject({
          inserted: 1n,
          updated: 0n,
          deleted: 0n,
        });
      }
      expect(await run(flow, 6n, [ALL_TIME])).toMatchObject(NOTHING);
      expect(await sql('SELECT label::text FROM eras ORDER BY eras.label')).toEqual(
        [
          '4714-11-24 00:00:00+00 BC',
          '0001-01-01 00:00:00+00 BC',
          '9999-12-31 23:00:00+00',
          '10000-01-01 00:00:00+00',
          '294276-12-31 23:00:00+00',
        ].map((label) => ({ label })),
      );
      expect(await under.frontend.hasUnwindowedRows(flow)).toBe(true);
      const micros = times.map(({ t }) => BigInt(t as string));
      expect((await under.frontend.timeRange(flow, ALL_TIME, 5000)).source).toEqual({
        first: micros[0],
        last: micros[4],
      });
    });

    it('writes no row outside of the windows, even where the query gives some', async () => {
      const flow = windowed('strict', { select: '*', columns: ['label', 'key'], keys: ['label', 'key'] });
      await sql(`CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time`);
      await sql('CREATE TABLE strict (label timestamptz, key text, UNIQUE NULLS NOT DISTINCT (label, key))');
      await sql(
        `INSERT INTO strict VALUES ('${at(-1, 0)}', 'kept'), ('${at(10, 0)}', 'kept'), ('${at(9, 0)}', 'goes'), (NULL, 'kept')`,
      );
      const stray: CompiledQuery = {
        ...flow.compiled,
        text: [
          `SELECT label, key FROM (VALUES ('${at(0, 0)}'::timestamptz, 'in'), ('${at(9, 0)}', 'in'), ('${at(10, 0)}', 'out'), ('${at(-1, 0)}', 'out'), (NULL, 'out')) AS v (label, key) WHERE EXISTS (SELECT FROM ${under.schema}.data WHERE `,
          ')',
        ],
      };
      expect(await run({ ...flow, updateAt: false, compiled: stray }, 1n)).toMatchObject({
        inserted: 2n,
        updated: 0n,
        deleted: 1n,
      });
      expect(await sql('SELECT key, count(*)::int FROM strict GROUP BY 1 ORDER BY 1')).toEqual([
        { key: 'in', count: 2 },
        { key: 'kept', count: 3 },
      ]);
    });

    describe('refuses, with nothing written', () => {
      let flow: FlowDefinition;
      const sink = () => sql('SELECT label, key, value FROM refusing ORDER BY 1, 2, 3');

      beforeEach(async () => {
        await sql(
          `CREATE TABLE data AS SELECT t::timestamptz AS time, key, value FROM (VALUES ('${at(1)}', 'a', 1), ('${at(2)}', 'a', 1)) AS v (t, key, value)`,
        );
        flow = windowed('refusing', {
          select: "date_trunc('hour', s.time), s.key, s.value",
          columns: ['label', 'key', 'value'],
          keys: ['label', 'key'],
        });
        await under.frontend.createSink(flow);
        await run(flow, 1n);
        // Work of all three kinds for the next plan.
        await sql(
          `DELETE FROM data WHERE time < '${at(2, 0)}'; UPDATE data SET value = 2; INSERT INTO data VALUES ('${at(3)}', 'a', 1)`,
        );
      });

      async function refusal(ranges: readonly TimeRange[], code: string): Promise<string> {
        const before = await sink();
        const error = await run(flow, 2n, ranges).then(
          () => null,
          (thrown: Error) => thrown,
        );
        expect(error).toMatchObject({ code, retryable: false });
        expect(await sink()).toEqual(before);
        expect(await under.frontend.fence('refusing', 2n, 5000)).toEqual({ applied: 1n });
        return error!.message;
      }

      it('two rows for one key', async () => {
        await sql(`INSERT INTO data VALUES ('${at(4)}', NULL, 1), ('${at(4)}', NULL, 2)`);
        await refusal([HOURS], 'duplicate_sink_key');
      });

      it('two rows for another unique key of the sink', async () => {
        await sql(
          `CREATE UNIQUE INDEX ON refusing (value) WHERE key = 'u'; INSERT INTO data VALUES ('${at(4)}', 'u', 31337), ('${at(5)}', 'u', 31337)`,
        );
        expect(await refusal([HOURS], 'duplicate_sink_key')).not.toContain('31337');
      });

      it('a key that is too long for the index', async () => {
        await sql(
          `INSERT INTO data SELECT '${at(4)}', string_agg(md5(i::text), ''), 1 FROM generate_series(1, 400) AS i`,
        );
        expect(await refusal([HOURS], 'key_too_long')).toContain('shorten');
      });

      it('bounds at which the window expression does not change', async () => {
        const half = 30n * MINUTE;
        await refusal([{ start: plus(HOURS.start, half), end: HOURS.end }], 'bounds_not_aligned');
        await refusal([{ start: HOURS.start, end: plus(HOURS.end, half) }], 'bounds_not_aligned');
        await refusal(
          [
            { start: HOURS.start, end: plus(HOURS.start, HOUR) },
            { start: plus(HOURS.start, 2n * HOUR), end: plus(HOURS.end, 1n) },
          ],
          'bounds_not_aligned',
        );
      });

      it('an error of the query, of which no value is shown', async () => {
        await sql(`INSERT INTO data VALUES ('${at(4)}', 'secret value', 0)`);
        const failing = (select: string) => {
          flow = windowed('refusing', { select, columns: ['label', 'key', 'value'], keys: ['label', 'key'] });
        };
        failing("date_trunc('hour', s.time), s.key, 1 / s.value");
        expect(await refusal([HOURS], 'query_failed')).toContain('division_by_zero (SQLSTATE 22012)');
        failing("date_trunc('hour', s.time), s.key, s.key::int");
        const cast = await refusal([HOURS], 'query_failed');
        expect(cast).toContain('SQLSTATE 22P02');
        expect(cast).not.toContain('secret');
        await sql(
          `CREATE OR REPLACE FUNCTION ${under.schema}.refuse(text) RETURNS int LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no %', $1 USING ERRCODE = '42000'; END$$`,
        );
        failing(`date_trunc('hour', s.time), s.key, ${under.schema}.refuse(s.key)`);
        expect(await refusal([HOURS], 'query_failed')).not.toContain('secret');
        await sql('ALTER TABLE refusing ADD CHECK (value > 0)');
        failing("date_trunc('hour', s.time), s.key, s.value");
        const check = await refusal([HOURS], 'query_failed');
        expect(check).toContain('refusing_value_check');
        expect(check).not.toContain('secret');
      });

      it('a time zone that the server does not know', async () => {
        flow = { ...flow, options: { ...OPTIONS, timeZone: 'Mars/Olympus' } };
        expect(await refusal([HOURS], 'invalid_option')).toContain('Mars/Olympus');
      });

      it('a sink that is gone', async () => {
        await sql('DROP TABLE refusing');
        await expect(run(flow, 2n)).rejects.toMatchObject({
          code: 'sink_drifted',
          message: expect.stringContaining('refusing'),
        });
      });

      it('a violation that shows at COMMIT', async () => {
        await sql(`CREATE TABLE known (key text PRIMARY KEY); INSERT INTO known VALUES ('a');
ALTER TABLE refusing ADD FOREIGN KEY (key) REFERENCES known DEFERRABLE INITIALLY DEFERRED;
INSERT INTO data VALUES ('${at(4)}', 'unknown', 1)`);
        expect(await refusal([HOURS], 'query_failed')).toContain('SQLSTATE 23503');
      });
    });

    it('diffs a whole query by key, and replaces a sink without a key', async () => {
      await sql(`CREATE TABLE data AS SELECT * FROM (VALUES ('a', 1), ('b', 2), (NULL, 3)) AS v (key, value)`);
      const source = { schema: under.schema, table: 'data', timeColumn: null };
      const whole = (name: string, keys: readonly string[]) =>
        definitionOf({
          name,
          sink: { schema: under.schema, table: name },
          compiled: {
            compiler: 1,
            text: [`SELECT key, sum(value) FROM ${under.schema}.data GROUP BY 1`],
            holes: [],
            window: null,
            sources: [source],
            beneath: [],
            columns: ['key', 'sum'],
            keys,
            history: null,
          },
        });
      const keyed = whole('keyed', ['key']);
      const keyless = whole('keyless', []);
      for (const flow of [keyed, keyless]) {
        await under.frontend.createSink(flow);
        expect(await run(flow, 1n, [])).toMatchObject({ inserted: 3n, updated: 0n, deleted: 0n });
      }
      await sql(
        "DELETE FROM data WHERE key = 'a'; UPDATE data SET value = 5 WHERE key IS NULL; INSERT INTO data VALUES ('c', 1), ('d', 1)",
      );
      expect(await run(keyed, 2n, [])).toMatchObject({ inserted: 2n, updated: 1n, deleted: 1n });
      expect(await run(keyless, 2n, [])).toMatchObject({ inserted: 4n, updated: 0n, deleted: 3n });
      const expected = await sql('SELECT key, sum(value) FROM data GROUP BY 1 ORDER BY 1');
      expect(await sql('SELECT key, sum FROM keyed ORDER BY 1')).toEqual(expected);
      expect(await sql('SELECT key, sum FROM keyless ORDER BY 1')).toEqual(expected);
    });

    it('writes to a partitioned sink', async () => {
      await sql(
        `CREATE TABLE data AS SELECT '${at(0)}'::timestamptz + i * interval '30 minutes' AS time, i % 3 AS key FROM generate_series(0, 18) AS i`,
      );
      const flow = windowed('parted', {
        select: "date_trunc('hour', s.time), s.key, count(*)",
        columns: ['label', 'key', 'count'],
        keys: ['label', 'key'],
        groupBy: 'GROUP BY 1, 2',
      });
      await sql(`CREATE TABLE parted (label timestamptz, key int, count bigint, update_at timestamptz, UNIQUE NULLS NOT DISTINCT (label, key)) PARTITION BY RANGE (label);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('${at(4, 0)}'); CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('${at(4, 0)}') TO (MAXVALUE)`);
      expect(await run(flow, 1n)).toMatchObject({ inserted: 19n });
      expect(await run(flow, 2n)).toMatchObject(NOTHING);
      await sql(
        `DELETE FROM data WHERE time < '${at(1, 0)}'; INSERT INTO data SELECT * FROM data WHERE time > '${at(8, 0)}'`,
      );
      const before = await sql('SELECT count(*)::int FROM parted');
      const result = await run(flow, 3n);
      expect(result).toMatchObject({ inserted: 0n, deleted: 2n });
      expect(await sql('SELECT count(*)::int FROM parted')).toEqual([{ count: (before[0]?.['count'] as number) - 2 }]);
      expect(await sql('SELECT label, key, count FROM parted ORDER BY 1, 2')).toEqual(
        await sql("SELECT date_trunc('hour', time) AS label, key, count(*) FROM data GROUP BY 1, 2 ORDER BY 1, 2"),
      );
      await expect(run(flow, 4n)).resolves.toMatchObject(NOTHING);
    });

    it('binds now() to the grid time, or to the transaction where there is none', async () => {
      const flow = definitionOf({
        name: 'clock',
        sink: { schema: under.schema, table: 'clock' },
        compiled: {
          compiler: 1,
          text: ['SELECT ', ' AS at'],
          holes: [{ kind: 'now' }],
          window: null,
          sources: [],
          beneath: [],
          columns: ['at'],
          keys: ['at'],
          history: null,
        },
      });
      await under.frontend.createSink(flow);
      await runOn(under.frontend, { ...planOf(flow, 1n, 0n, []), gridTime: plus(START, 1n) });
      expect(await sql('SELECT at::text FROM clock')).toEqual([{ at: '2021-06-01 00:00:00.000001+00' }]);
      await run(flow, 2n, []);
      expect(await sql('SELECT at = update_at AS same FROM clock')).toEqual([{ same: true }]);
    });

    it('means the same for every role: isolation, time limits, path, zone, spelling', async () => {
      const role = `odd_${under.schema}`;
      await sql(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'odd';
ALTER ROLE ${role} SET default_transaction_isolation = 'serializable';
ALTER ROLE ${role} SET default_transaction_read_only = on;
ALTER ROLE ${role} SET statement_timeout = 1000;
ALTER ROLE ${role} SET lock_timeout = 1;
ALTER ROLE ${role} SET TimeZone = 'Asia/Kolkata';
ALTER ROLE ${role} SET search_path = ${under.schema}, pg_catalog;
ALTER ROLE ${role} SET standard_conforming_strings = off;
ALTER ROLE ${role} SET backslash_quote = off;
ALTER ROLE ${role} SET DateStyle = 'German';
ALTER ROLE ${role} SET client_encoding = 'LATIN1';
CREATE FUNCTION date_trunc(text, timestamptz) RETURNS timestamptz LANGUAGE sql AS 'SELECT now()';
CREATE FUNCTION count(text) RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint';`);
      try {
        await sql(`CREATE TABLE data AS SELECT '${at(1)}'::timestamptz AS time, 'a\\b ü' AS key`);
        const flow = windowed('every role ü\\', {
          select:
            "date_trunc('hour', s.time), s.key || ' \\d' AS key, current_setting('transaction_isolation'), current_setting('TimeZone'), '02/01/2021'::date, now() - pg_sleep(1.2)::text::interval",
          columns: ['label', 'key', 'isolation', 'zone', 'date', 'slept'],
          keys: ['label', 'key'],
        });
        const slow = {
          ...flow,
          compiled: {
            ...flow.compiled,
            text: [
              flow.compiled.text[0]!.replace('now() - pg_sleep(1.2)::text::interval', 'pg_sleep(1.2)::text'),
              flow.compiled.text[1]!,
            ],
          },
        };
        const url = new URL(database.url);
        url.username = role;
        url.password = 'odd';
        const frontend = createPostgresFrontend({ connection: url.href, namespace: 'ü\\' });
        await frontend.createSink(slow);
        await runOn(frontend, planOf(slow, 1n, 0n));
        expect(await frontend.fence(slow.name, 2n, 1000)).toEqual({ applied: 1n });
        await frontend.close();
        expect(await sql(`SELECT label, key, isolation, zone, date::text FROM "every role ü\\"`)).toEqual([
          {
            label: new Date(at(1, 0)),
            key: 'a\\b ü \\d',
            isolation: 'read committed',
            zone: 'UTC',
            date: '2021-02-01',
          },
        ]);
        expect(await sql(`SELECT namespace, flow FROM sluice.applied WHERE flow LIKE 'every%'`)).toEqual([
          { namespace: 'ü\\', flow: 'every role ü\\' },
        ]);
      } finally {
        await sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      }
    });

    it('writes 20,000 groups of one plan without comparing each with each', async () => {
      await sql(
        `CREATE TABLE data AS SELECT '${at(0)}'::timestamptz + (i % 10) * interval '1 hour' AS time, i / 10 AS key, i AS value FROM generate_series(0, 19999) AS i`,
      );
      const flow = windowed('many', {
        select: "date_trunc('hour', s.time), nullif(s.key, 7), sum(s.value)",
        columns: ['label', 'key', 'sum'],
        keys: ['label', 'key'],
        groupBy: 'GROUP BY 1, 2',
      });
      await under.frontend.createSink(flow);
      const timed = async (epoch: bigint) => {
        const before = performance.now();
        const result = await run(flow, epoch);
        return { result, ms: performance.now() - before };
      };
      expect((await timed(1n)).result).toMatchObject({ inserted: 20_000n, updated: 0n, deleted: 0n });
      const same = await timed(2n);
      expect(same.result).toMatchObject(NOTHING);
      await sql('UPDATE data SET value = value + 1');
      const all = await timed(3n);
      expect(all.result).toMatchObject({ inserted: 0n, updated: 20_000n, deleted: 0n });
      // IS NOT DISTINCT FROM on the same keys takes some eight seconds on an idle machine.
      expect(Math.max(same.ms, all.ms)).toBeLessThan(4000);
    });
  });
}
