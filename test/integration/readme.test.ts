import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compareSink, isEqual } from '../../lib/local/compare-sink.ts';
import { fences } from '../support/fenced-commands.ts';
import { type Program, watch } from '../support/processes.ts';
import { writeStandIns } from '../support/shell-commands.ts';
import { differences } from '../support/shown-answer.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
/** The addresses that the pages show. */
const SHOWN_API = 'http://127.0.0.1:8123';
const SHOWN_DATABASE = 'postgres://postgres:PASSWORD@127.0.0.1:5433/postgres';

interface Block {
  /** Of the line that opens it, from 1. */
  readonly line: number;
  readonly script: string;
  /** JSON that the page shows right after it. */
  readonly answer: unknown;
}

/** The shell blocks of a page, but for those that speak to npm, each with the answer that follows it. */
function blocksOf(page: string): Block[] {
  const found = fences(page, readFileSync(join(PROJECT, page), 'utf8'));
  return found.flatMap(({ language, line, body }, index) => {
    const script = body.join('\n');
    if (language !== 'sh' || /^npm /m.test(script)) return [];
    const after = found[index + 1];
    const answer = after?.language === 'json' ? (JSON.parse(after.body.join('\n')) as unknown) : undefined;
    return [{ line, script, answer }];
  });
}

/** The queries of a page's tables, one list per table. */
function queryTables(page: string): string[][] {
  const tables: string[][] = [];
  for (const line of readFileSync(join(PROJECT, page), 'utf8').split('\n')) {
    if (line.startsWith('| query |')) tables.push([]);
    const [, query] = /^\| `((?:SELECT|WITH|DELETE) .*)` \| .* ?\|$/.exec(line) ?? [];
    if (query !== undefined) tables.at(-1)?.push(query);
  }
  return tables;
}

describe('what npm start brings up', () => {
  let folder: string;
  let running: Program;
  let api: string;
  let database: string;
  let sql: pg.Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-readme-'));
    await writeStandIns(folder);
    const ready = join(folder, 'ready.json');
    const flags = ['--empty', '--ready-file', ready, '--tick', '1'];
    running = watch(
      spawn('npm', ['start', '--', ...flags], { cwd: PROJECT, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    await running.saying('Ctrl-C stops both.');
    ({ api, database } = JSON.parse(await readFile(ready, 'utf8')) as { api: string; database: string });
    sql = new pg.Client({ connectionString: database });
    await sql.connect();
  });
  afterAll(async () => {
    await sql.end();
    process.kill(-(running.child.pid ?? 0), 'SIGINT');
    await running.ended;
    await rm(folder, { recursive: true });
  });

  // As the demonstration loads them, but few.
  beforeEach(async () => {
    await sql.query(`CREATE TABLE flights (date timestamp, delay integer, distance integer, origin text, destination text);
      CREATE INDEX ON flights (date);
      INSERT INTO flights SELECT '2001-01-01'::timestamp + i * interval '1 day 7 minutes', i % 97, 500 + i % 900,
        (ARRAY['SFO', 'OAK', 'JFK'])[1 + i % 3], 'SEA' FROM generate_series(1, 160) AS i`);
  });
  afterEach(async () => {
    const { flows } = (await (await fetch(`${api}/flows`)).json()) as { flows: { name: string }[] };
    for (const { name } of flows) await fetch(`${api}/flows/${name}?sink=drop`, { method: 'DELETE' });
    await sql.query('DROP TABLE flights');
  });

  /** Runs a block as a reader would who has put in the addresses; its answer is the last line. */
  async function run({ script }: Block, path: readonly string[]): Promise<string> {
    const { stdout, stderr } = await promisify(execFile)(
      '/bin/sh',
      ['-e', '-c', script.replaceAll(SHOWN_API, api).replaceAll(SHOWN_DATABASE, database)],
      { cwd: folder, env: { ...process.env, API: api, DATABASE: database, PATH: path.join(delimiter) } },
    );
    expect(stderr).toBe('');
    return stdout;
  }

  /** The machine's own commands, where it has them. */
  const own = () => [process.env['PATH'] ?? '', folder];
  const standIns = () => [folder, process.env['PATH'] ?? ''];

  it('does what the README shows', async () => {
    const blocks = blocksOf('README.md');
    expect(blocks.map(({ script }) => script)).toEqual([
      expect.stringContaining('CREATE FLOW monthly_airports'),
      expect.stringContaining('/tables/flights/dirty-windows'),
      expect.stringContaining('/flows/monthly_airports/flush'),
    ]);
    const outputs: string[] = [];
    for (const block of blocks) outputs.push(await run(block, own()));
    expect(outputs[0]).toContain('"outcome":"created"');
    expect(outputs[1]).toContain('"marked":1');
    expect(outputs[2]).toContain('"affected_rows"');
    const { rows } = await sql.query(
      `SELECT worst_delay FROM monthly_airports WHERE month = '2001-06-01' AND origin = 'SFO'`,
    );
    expect(rows).toEqual([{ worst_delay: 1440 }]);
    const compared = await sql.query(
      `(SELECT month, origin, departures, worst_delay FROM monthly_airports)
       EXCEPT SELECT date_trunc('month', date), origin, count(*), max(delay) FROM flights GROUP BY 1, 2`,
    );
    expect(compared.rows).toEqual([]);
  });

  it('answers as docs/api.md shows', async () => {
    const blocks = blocksOf('docs/api.md');
    expect(blocks.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(8);
    for (const block of blocks) {
      const output = await run(block, standIns());
      if (block.answer === undefined) continue;
      // Of several commands, whose answers follow each other without a break, the last one's is shown.
      const answer = JSON.parse(output.slice(output.lastIndexOf('}{') + 1)) as unknown;
      expect(differences(block.answer, answer), `docs/api.md:${block.line}`).toEqual([]);
    }
  });
  describe('docs/flows.md', () => {
    const statements = fences('docs/flows.md', readFileSync(join(PROJECT, 'docs/flows.md'), 'utf8'))
      .filter(({ language }) => language === 'sql')
      .map(({ body }) => body.join('\n'));
    const [accepted = [], refused = [], impossible = []] = queryTables('docs/flows.md');
    const tables = ['readings', 'archive', 'stations'];

    beforeEach(async () => {
      await sql.query('DROP TABLE flights');
      for (const statement of statements.filter((each) => each.startsWith('CREATE TABLE'))) await sql.query(statement);
      await sql.query(`INSERT INTO flights SELECT '2001-01-01'::timestamp + i * interval '5 hours', i, i, 'SFO', 'SEA'
          FROM generate_series(1, 200) AS i;
        INSERT INTO readings SELECT '2001-03-20Z'::timestamptz + i * interval '40 minutes', 'station ' || i % 4, i % 60
          FROM generate_series(1, 600) AS i;
        INSERT INTO archive SELECT at - interval '2 months', station, value FROM readings;
        INSERT INTO stations VALUES ('station 0', 'north'), ('station 1', 'south')`);
    });
    afterEach(() => sql.query(`DROP TABLE ${tables.join(', ')}`));

    async function call(method: string, path: string, body?: unknown): Promise<{ status: number; answer: unknown }> {
      const json =
        body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const response = await fetch(`${api}${path}`, { method, ...json });
      return { status: response.status, answer: await response.json() };
    }
    const create = (query: string, clauses = '') =>
      call('POST', '/sql', { sql: `CREATE FLOW shown SINK TO shown ${clauses} AS ${query}` });

    it('shows statements that create flows', async () => {
      const flows = statements.filter((each) => each.startsWith('CREATE FLOW'));
      expect(flows).toHaveLength(4);
      for (const statement of flows) {
        const whole = statement.includes('EVAL INTERVAL') ? [expect.stringContaining('whole query')] : [];
        const recording = statement.includes('now() AS') ? [expect.stringContaining('Each run keeps its rows')] : [];
        expect(await call('POST', '/sql', { sql: statement })).toMatchObject({
          status: 201,
          answer: { warnings: [...whole, ...recording] },
        });
      }
    });

    it.each(accepted)('accepts %s, and the sink becomes equal to it', async (query) => {
      const { status, answer } = await create(query);
      expect(answer).toMatchObject({ outcome: 'created', flow: { window: { column: expect.any(String) as string } } });
      expect(status).toBe(201);
      expect(await call('POST', '/flows/shown/flush')).toMatchObject({ status: 200 });
      const { keys } = (answer as { flow: { keys: string[] } }).flow;
      // The server itself wants an origin.
      const complete = query.replace(/date_bin\(([^,()]+), (\w+)\)/, "date_bin($1, $2, 'epoch')");
      const compared = await compareSink(sql, complete, 'shown', keys);
      expect(compared.examples).toEqual([]);
      expect(isEqual(compared)).toBe(true);
      expect(compared.rows).toBeGreaterThan(0n);
    });

    it.each(refused)('refuses %s, but for an eval interval', async (query) => {
      const refusal = {
        status: 422,
        answer: { error: { code: 'invalid_query', position: expect.any(Number) as number } },
      };
      expect(await create(query)).toMatchObject(refusal);
      expect(await create(query, "EVAL INTERVAL '1 hour'")).toMatchObject({
        status: 201,
        answer: { flow: { window: null } },
      });
    });

    it.each(impossible)('always refuses %s', async (query) => {
      const refusal = {
        status: 422,
        answer: { error: { code: 'invalid_query', position: expect.any(Number) as number } },
      };
      expect(await create(query)).toMatchObject(refusal);
      expect(await create(query, "EVAL INTERVAL '1 hour'")).toMatchObject(refusal);
    });

    it('has examples of each kind', () => {
      expect([accepted, refused, impossible].map(({ length }) => length > 4)).toEqual([true, true, true]);
    });
  });
});

it('an answer that is not the one shown is noticed', () => {
  const shown = { name: 'a', at: '…', list: [1, '…'] };
  expect(differences(shown, { name: 'a', at: 'now', list: [1, 7] })).toEqual([]);
  expect(differences(shown, { name: 'b', at: null, list: [1], more: true })).toEqual([
    'answer.name is "b", not "a"',
    'answer.at is null, not "…"',
    'answer.list has 1 entries, not 2',
    'answer.more is true, not undefined',
  ]);
});
