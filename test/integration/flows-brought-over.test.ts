import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOUR, type Instant, plus } from '../../lib/window/instant.ts';
import { formatInstant, parseInstant } from '../../lib/window/rfc3339.ts';
import { type ApiAnswer, type ApiHarness, openApiHarness } from '../support/api-harness.ts';
import { sortedRows } from '../support/frontend-database.ts';
import { ACCEPTED } from './flows/accepted.ts';
import { REFUSED } from './flows/refused.ts';
import { type AcceptedRow, KINDS } from './flows/row.ts';
import { CHANGES, EMPTY, MARKS, ROWS, TABLES } from './flows/sources.ts';

/** Flows as nightly jobs, TimescaleDB and GreptimeDB have them, from their statement to a sink that follows its sources. */

let api: ApiHarness;
/** A grid time of every flow here. */
let now: Instant = parseInstant('2024-05-01T00:00:00Z');
beforeAll(async () => {
  api = await openApiHarness(() => now);
  await api.database.query(TABLES);
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.call('DELETE', '/flows/shape?sink=drop');
  await api.database.query(`${EMPTY}; DROP TABLE IF EXISTS shape; ${ROWS}`);
});

const statement = (query: string, clauses: string) => `CREATE FLOW shape SINK TO shape ${clauses} AS ${query}`;

/** A flow that was created, and the rows of its sink and of its query. */
class Flow {
  readonly created: ApiAnswer;
  readonly #row: AcceptedRow;
  readonly #columns: string;
  /** Leaves out what lies in no window. */
  readonly #filter: string;
  /** Rows of grid times before. */
  #history: readonly string[] = [];

  private constructor(row: AcceptedRow, created: ApiAnswer) {
    this.#row = row;
    this.created = created;
    const names = created.body.flow.columns.map(({ name }: { name: string }) => `"${name}"`);
    this.#columns = names.join(', ');
    const { window } = created.body.flow;
    this.#filter = window === null ? '' : `WHERE "${window.column}" IS NOT NULL`;
  }

  static async create(row: AcceptedRow): Promise<Flow> {
    const { query, options, hourly = false, sink } = row;
    if (sink !== undefined) await api.database.query(sink);
    const clauses = [hourly ? `EVAL INTERVAL '1 hour'` : '', options === undefined ? '' : `WITH (${options})`];
    const created = await api.call('POST', '/sql', { body: { sql: statement(query, clauses.join(' ')) } });
    expect(created.status, created.text).toBe(201);
    await api.quiet();
    return new Flow(row, created);
  }

  settle(): Promise<void> {
    return api.settle('shape', async () => {
      if (this.#row.kind === 'recording') this.#history = await this.sink();
      now = plus(now, HOUR);
    });
  }

  /** Marks what has changed of the tables that the flow reads. */
  async mark(): Promise<void> {
    for (const { table } of this.created.body.flow.sources) {
      const ranges = MARKS[table];
      if (ranges === undefined) continue;
      const path = `/tables/${encodeURIComponent(`"${table}"`)}/dirty-windows`;
      const { status, text } = await api.call('POST', path, { body: { ranges } });
      expect(status, text).toBe(200);
    }
  }

  sink(): Promise<readonly string[]> {
    return this.#rowsOf('SELECT * FROM shape');
  }

  /** What the database answers to the query itself, besides what was recorded before. */
  async answer(): Promise<readonly string[]> {
    return [...this.#history, ...(await this.#rowsOf(atTime(withOrigin(this.#row.query), now)))].sort();
  }

  async #rowsOf(query: string): Promise<readonly string[]> {
    const zone = /time_zone = ('[^']*')/.exec(this.#row.options ?? '')?.[1] ?? `'UTC'`;
    await api.database.query(`SET TimeZone = ${zone}`);
    return sortedRows(api.database, `SELECT ${this.#columns} FROM (${query}) AS answer ${this.#filter}`);
  }
}

/** The query as if it were that time. */
function atTime(query: string, time: Instant): string {
  const literal = `'${formatInstant(time)}'::timestamptz`;
  return query.replaceAll(/now\(\)|current_timestamp/g, literal).replaceAll('current_date', `${literal}::date`);
}

/** PostgreSQL itself has no `date_bin` of two arguments, which counts from 1970. */
function withOrigin(query: string): string {
  return query.replaceAll(/date_bin\(([^(),]+), ([^(),]+)\)/g, "date_bin($1, $2, '1970-01-01 00:00Z')");
}

describe('a flow is brought over', () => {
  it.each(ACCEPTED.map((row) => ({ ...row, name: `${row.kind}: ${row.query}` })))('$name', async (row) => {
    const flow = await Flow.create(row);
    if (row.warns !== undefined) expect(flow.created.body.warnings.join('\n')).toMatch(row.warns);
    await flow.settle();
    const first = await flow.answer();
    expect(first.length).toBeGreaterThan(0);
    expect(await flow.sink()).toEqual(first);

    await api.database.query(CHANGES);
    // The control of the comparison: as long as nobody has marked what changed, the sink is behind.
    expect(await flow.sink()).not.toEqual(await flow.answer());
    await flow.mark();
    await flow.settle();
    expect(await flow.sink()).toEqual(await flow.answer());
    expect(await api.call('DELETE', '/flows/shape?sink=drop')).toMatchObject({ status: 200 });
  });
});

describe('a flow is refused', () => {
  it.each(REFUSED.map((row) => ({ ...row, name: `${row.kind}: ${row.query}` })))(
    '$name',
    async ({ query, says, at, clauses = '', sink, status = 422 }) => {
      if (sink !== undefined) await api.database.query(sink);
      const relations = await api.relations();
      const sql = statement(query, clauses);
      const answer = await api.call('POST', '/sql', { body: { sql } });
      expect(answer.status, answer.text).toBe(status);
      const { message, hint = '', position } = answer.body.error;
      expect(`${message} ${hint}`).toMatch(says);
      if (at !== undefined) {
        const rest = [...sql].slice(position - 1).join('');
        expect(rest.slice(0, at.length).toLowerCase()).toBe(at.toLowerCase());
      }
      expect((await api.call('GET', '/flows')).body.flows).toEqual([]);
      expect(await api.relations()).toEqual(relations);
    },
  );
});

it('has rows of every kind, of which many are refused', () => {
  const kinds = Object.keys(KINDS).sort();
  for (const rows of [ACCEPTED, REFUSED]) expect([...new Set(rows.map(({ kind }) => kind))].sort()).toEqual(kinds);
  expect(ACCEPTED.length + REFUSED.length).toBeGreaterThanOrEqual(120);
  expect(REFUSED.length).toBeGreaterThanOrEqual(35);
});
