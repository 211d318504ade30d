import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../lib/telemetry/logger.ts';
import { type ApiAnswer, type ApiHarness, type CallOptions, openApiHarness } from '../support/api-harness.ts';
import {
  hostileName,
  hostileText,
  identifier,
  LITERAL_KINDS,
  lineComment,
  literal,
  nestedComment,
} from './hostile-text.ts';

const RUNS = Number(process.env['SLUICE_PROPERTY_RUNS'] ?? 30);
const SEED = Number(process.env['SLUICE_PROPERTY_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
/** Part of every value of a row and of every literal of a query; nothing else has it. */
const TOKEN = 'Zq7Secret';

const names = (count: number) => fc.uniqueArray(hostileName, { minLength: count, maxLength: count });
const secret = hostileText.map((text) => TOKEN + text);
const row = fc.record({
  minute: fc.integer({ min: 0, max: 239 }),
  key: fc.option(secret),
  value: fc.option(secret),
});

const sample = fc.record({
  flow: hostileName,
  schemas: names(2),
  tables: names(2),
  columns: names(3),
  aliases: names(4),
  sinkBesideSource: fc.boolean(),
  excluded: fc.record({ kind: fc.constantFrom(...LITERAL_KINDS), text: secret }),
  appended: fc.record({ kind: fc.constantFrom(...LITERAL_KINDS), text: secret }),
  remarks: fc.tuple(hostileText, hostileText, hostileText),
  comments: fc.tuple(hostileText, hostileText),
  commentKind: fc.constantFrom('plain' as const, 'escape' as const, 'dollar' as const),
  rows: fc.tuple(fc.array(row, { minLength: 1, maxLength: 6 }), fc.array(row, { minLength: 1, maxLength: 6 })),
});
type Sample = typeof sample extends fc.Arbitrary<infer T> ? T : never;
type Row = Sample['rows'][0][0];

const CALM: Sample = {
  flow: 'calm',
  schemas: ['here', 'there'],
  tables: ['source', 'sink'],
  columns: ['at', 'key', 'value'],
  aliases: ['hour', 'key', 'count', 'highest'],
  sinkBesideSource: false,
  excluded: { kind: 'plain', text: TOKEN },
  appended: { kind: 'plain', text: TOKEN },
  remarks: ['', '', ''],
  comments: ['before', 'after'],
  commentKind: 'plain',
  rows: [[{ minute: 30, key: TOKEN, value: TOKEN }], [{ minute: 90, key: null, value: `${TOKEN}.` }]],
};
const CONTROLS = String.fromCharCode(...Array.from({ length: 31 }, (_, index) => index + 1), 0x7f, 0x9f);

describe('hostile names and texts over PostgreSQL and DynamoDB', () => {
  const lines: string[] = [];
  let api: ApiHarness;

  beforeAll(async () => {
    const log = createLogger({ level: 'trace', to: { write: (line) => void lines.push(line) } });
    api = await openApiHarness(undefined, log);
    await api.database.query("SET TIME ZONE 'UTC'");
    await plantCanary();
  });
  afterAll(() => api.close());

  /** Lines that hold a value of a row or a literal of a query. */
  const quoting = (written: readonly string[]) => written.filter((line) => line.includes(TOKEN));

  async function plantCanary(): Promise<void> {
    await api.database.query('CREATE TABLE canary (id integer PRIMARY KEY, song text)');
    await api.database.query("INSERT INTO canary SELECT i, 'song ' || i FROM generate_series(1, 5) AS i");
  }

  /** Every table with its columns, and the rows of those that no flow may touch. */
  async function world(...sources: readonly string[]): Promise<unknown> {
    const relations = await api.relations();
    const present = relations.some((relation) => relation.startsWith('public.canary('));
    const tables = [...(present ? ['canary'] : []), ...sources];
    return { relations, rows: await Promise.all(tables.map((table) => rowsOf(`SELECT * FROM ${table} AS t`))) };
  }

  /** Rows in an order that does not depend on the query; as arrays, since a column may be called `__proto__`. */
  async function rowsOf(query: string): Promise<readonly string[]> {
    const { rows } = await api.database.query<unknown[]>({ text: query, rowMode: 'array' });
    return rows.map((each) => JSON.stringify(each)).sort();
  }

  async function call(status: number, method: string, target: string, options?: CallOptions): Promise<ApiAnswer> {
    const answer = await api.call(method, target, options);
    expect(answer.status, `${method} ${target}: ${answer.text}`).toBe(status);
    return answer;
  }

  const sql = (status: number, statement: string) => call(status, 'POST', '/sql', { body: { sql: statement } });

  async function livesWell(given: Sample): Promise<void> {
    const { flow, excluded, appended, remarks, comments, commentKind } = given;
    const [sourceSchema = '', otherSchema = ''] = given.schemas;
    const sinkSchema = given.sinkBesideSource ? sourceSchema : otherSchema;
    const [sourceTable = '', sinkTable = ''] = given.tables;
    const source = `${identifier(sourceSchema)}.${identifier(sourceTable)}`;
    const sink = `${identifier(sinkSchema)}.${identifier(sinkTable)}`;
    const [at = '', key = '', value = ''] = given.columns.map(identifier);
    const aliases = given.aliases.map(identifier);
    const [hour, group, count, highest] = aliases;
    const query = `SELECT date_trunc('hour', ${at}) AS ${hour}, ${lineComment(remarks[0])} ${key} AS ${group},
      count(*) AS ${count} ${nestedComment(remarks[1])}, max(${value} || ${literal(appended.kind, appended.text)}) AS ${highest}
      FROM ${source} WHERE ${key} IS DISTINCT FROM ${literal(excluded.kind, excluded.text)} ${lineComment(remarks[2])} GROUP BY 1, 2`;
    const target = `/flows/${encodeURIComponent(flow)}`;

    const insert = (rows: readonly Row[]) =>
      api.database.query(`INSERT INTO ${source} SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[])`, [
        rows.map(timeOf),
        rows.map((each) => each.key),
        rows.map((each) => each.value),
      ]);
    const sinkRows = () => rowsOf(`SELECT ${aliases.join(', ')} FROM ${sink}`);
    const expectRight = async (after: string) => {
      await api.quiet();
      const { last_error, blocked } = (await call(200, 'GET', `${target}/state`)).body;
      expect({ last_error, blocked }, after).toEqual({ last_error: null, blocked: null });
      expect(await sinkRows(), after).toEqual(await rowsOf(query));
    };

    for (const schema of given.schemas) await api.database.query(`CREATE SCHEMA ${identifier(schema)}`);
    await api.database.query(`CREATE TABLE ${source} (${at} timestamptz, ${key} text, ${value} text)`);
    await insert([...given.rows[0], { minute: 0, key: excluded.text, value: excluded.text }]);
    const storedBefore = new Set(await api.stored());
    const before = (await world()) as { relations: string[] };

    const created = await sql(
      201,
      `CREATE FLOW ${identifier(flow)} SINK TO ${sink} COMMENT ${literal(commentKind, comments[0])} AS ${query}`,
    );
    expect(created.body.flow).toMatchObject({
      name: flow,
      sink: { schema: sinkSchema, table: sinkTable },
      comment: comments[0],
      query,
      columns: given.aliases.map((name) => ({ name })),
    });
    await expectRight('creation');
    const during = await api.relations();
    expect(before.relations.filter((relation) => !during.includes(relation))).toEqual([]);
    expect(during).toHaveLength(before.relations.length + 1);

    await insert(given.rows[1]);
    const marked = await call(200, 'POST', `/tables/${encodeURIComponent(source)}/dirty-windows`, {
      body: { timestamps: given.rows[1].map(timeOf) },
    });
    expect(marked.body.flows.map(({ name }: { name: string }) => name)).toEqual([flow]);
    // A mark alone waits for the clock.
    await api.engine.schedule.requestTick(flow, 'continue');
    await expectRight('the mark');

    const { generation: _first, ...definition } = (await call(200, 'GET', target)).body;
    const listed = await sql(200, `SHOW FLOWS WHERE flow = ${literal('plain', flow)}`);
    expect(listed.body.rows).toEqual([[flow, `${sinkSchema}.${sinkTable}`, 'default', comments[0]]]);
    const shown = (await sql(200, `SHOW CREATE FLOW ${identifier(flow)}`)).body.rows[0];
    expect(shown[0]).toBe(flow);
    await sql(200, `DROP FLOW ${identifier(flow)} WITH SINK`);
    expect(await world()).toEqual(before);
    const { generation: _second, ...again } = (await sql(201, shown[1])).body.flow;
    expect(again).toEqual(definition);
    await expectRight('creation by the shown statement');

    await sql(200, `ALTER FLOW ${identifier(flow)} SET COMMENT ${literal(commentKind, comments[1])}`);
    expect((await call(200, 'GET', target)).body.comment).toBe(comments[1]);

    await api.database.query(`DELETE FROM ${sink}`);
    await call(200, 'POST', `${target}/flush`);
    await expectRight('the flush');
    await api.database.query(`DELETE FROM ${sink}`);
    await call(200, 'POST', `${target}/refresh`, { body: { ranges: [[timeAt(0), timeAt(240)]] } });
    await expectRight('the refresh');

    const state = (await call(200, 'GET', `${target}/state`)).body;
    expect(state).toMatchObject({ name: flow, status: 'active', dirty: { ranges: [] }, last_error: null });
    const { runs } = (await call(200, 'GET', `${target}/runs`)).body;
    expect(runs.length).toBeGreaterThan(2);
    expect(runs.filter(({ outcome }: { outcome: string }) => outcome !== 'committed')).toEqual([]);

    await sql(200, `DROP FLOW ${identifier(flow)} WITH SINK`);
    expect(await world()).toEqual(before);
    expect((await api.database.query(`SELECT FROM ${source}`)).rowCount).toBe(given.rows.flat().length + 1);
    const left = (await api.stored()).filter((item) => !storedBefore.has(item)).map(keyOf);
    expect(left.filter(({ pk }) => pk !== `RUNS#${flow}`)).toEqual([
      { pk: `FLOW#${flow}`, sk: 'STATE', status: 'dropped' },
    ]);
    expect(quoting(lines)).toEqual([]);
  }

  async function liveAndVanish(given: Sample): Promise<void> {
    try {
      await livesWell(given);
    } finally {
      await api.quiet();
      for (const { name } of (await api.call('GET', '/flows')).body.flows) {
        await api.call('POST', '/sql', { body: { sql: `DROP FLOW ${identifier(name)} WITH SINK` } });
      }
      for (const schema of given.schemas)
        await api.database.query(`DROP SCHEMA IF EXISTS ${identifier(schema)} CASCADE`);
    }
  }

  it.each<[string, Partial<Sample>]>([
    ['columns that are called *', { columns: ['*', 'key', 'value'], aliases: ['hour', '*', 'count', 'highest'] }],
    ['a key and a value that are called *', { columns: ['at', '*', '**'] }],
    ['keys whose names are long together', { aliases: ['h'.repeat(63), 'k'.repeat(63), 'count', 'highest'] }],
    ['control characters in comments', { remarks: [CONTROLS, CONTROLS, CONTROLS], comments: [CONTROLS, CONTROLS] }],
    [
      'control characters in names',
      { flow: CONTROLS, tables: [CONTROLS, `${CONTROLS}"`], columns: [CONTROLS, 'k', 'v'] },
    ],
    ['control characters in literals', { excluded: { kind: 'plain', text: TOKEN + CONTROLS } }],
  ])('live: %s', (_, hostile) => liveAndVanish({ ...CALM, ...hostile }));

  it(`live through everything that a flow goes through (seed ${SEED})`, { timeout: 240_000 }, async () => {
    await fc.assert(fc.asyncProperty(sample, liveAndVanish), { numRuns: RUNS, seed: SEED, endOnFailure: true });
    expect(lines.filter((line) => line.includes('"action"')).length).toBeGreaterThan(RUNS);
  });

  describe('names that cannot be', () => {
    const query = "SELECT date_trunc('hour', now()) AS hour";
    it.each<[string, string, RegExp]>([
      ['NUL', 'a\0b', /NUL/],
      ['64 bytes', 'x'.repeat(64), /64 bytes long/],
      ['64 bytes of fewer characters', '😀'.repeat(16), /64 bytes long/],
      ['nothing', '', /empty/],
      ['half a character', 'a\ud83d', /surrogate/],
    ])('are refused, and nothing is changed: %s', async (_, name, says) => {
      const before = [await world(), await api.stored()];
      const it = identifier(name);
      for (const statement of [
        `CREATE FLOW ${it} SINK TO s AS ${query}`,
        `CREATE FLOW f SINK TO ${it} AS ${query}`,
        `CREATE FLOW f SINK TO ${it}.s AS ${query}`,
        `DROP FLOW ${it}`,
      ]) {
        expect((await sql(400, statement)).body.error.message, statement).toMatch(says);
      }
      await api.quiet();
      expect([await world(), await api.stored()]).toEqual(before);
    });
  });

  describe('the suite itself', () => {
    it('notices a name that is quoted without care', async () => {
      const before = await world();
      await api.database.query(`SELECT 1 AS "${'x"; DROP TABLE canary; --'}"`);
      expect(await world()).not.toEqual(before);
      await plantCanary();
      await api.database.query(`SELECT 1 AS ${identifier('x"; DROP TABLE canary; --')}`);
      expect(await world()).toEqual(before);
    });

    it('notices a value that gets into the log', async () => {
      const logged = lines.length;
      // A name may be logged, so that this one is found where a value would be.
      const named = { ...CALM, flow: `${TOKEN} of a "flow"\n'${CONTROLS}` };
      await expect(liveAndVanish(named)).rejects.toThrow(/to deeply equal \[\]/);
      const found = quoting(lines);
      expect(found.length).toBeGreaterThan(3);
      expect(found).toEqual(lines.slice(logged).filter((line) => JSON.parse(line).flow === named.flow));
      lines.length = logged;
      await liveAndVanish(CALM);
    });

    it('notices a changed row of the canary', async () => {
      const before = await world();
      await api.database.query("UPDATE canary SET song = 'other' WHERE id = 3");
      expect(await world()).not.toEqual(before);
      await api.database.query("UPDATE canary SET song = 'song 3' WHERE id = 3");
      expect(await world()).toEqual(before);
    });
  });
});

function timeAt(minute: number): string {
  return new Date(Date.UTC(2024, 1, 29, 22, minute)).toISOString();
}

function timeOf({ minute }: Row): string {
  return timeAt(minute);
}

function keyOf(item: string): { pk: string; sk: string; status?: string } {
  const { pk, sk, status } = Object.fromEntries(JSON.parse(item));
  return { pk: pk.S, sk: sk.S, ...(status === undefined ? {} : { status: status.S }) };
}
