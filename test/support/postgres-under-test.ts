import pg from 'pg';
import type { FlowDefinition, TableName } from '../../lib/flow/definition.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import type { FrontendUnderTest, HourRow, SourceRow } from '../contract/frontend-suite.ts';
import { hourlyDefinition } from './definitions.ts';

type Closing = Frontend & { close(): Promise<void> };

/** Two workers on a PostgreSQL database, and a session beside them that sees what they did. */
export class PostgresUnderTest implements FrontendUnderTest {
  readonly frontend: Closing;
  readonly other: Closing;
  readonly session: pg.Client;
  readonly source: TableName;
  readonly #schema: string;

  private constructor(url: string, session: pg.Client, schema: string) {
    this.session = session;
    this.#schema = schema;
    this.source = { schema, table: 'source' };
    // Each test has a namespace of its own in the applied table.
    this.frontend = createPostgresFrontend({ connection: url, namespace: schema });
    this.other = createPostgresFrontend({ connection: url, namespace: schema });
  }

  static async open(url: string): Promise<PostgresUnderTest> {
    const session = new pg.Client({ connectionString: url });
    await session.connect();
    const made = await session.query(
      `SELECT 'under_test_' || count(*) AS name FROM pg_namespace WHERE nspname ~ '^under_test_'`,
    );
    const schema: string = made.rows[0].name;
    await session.query(`CREATE SCHEMA ${schema};
CREATE TABLE ${schema}.source (time timestamptz, key text, value bigint);
CREATE INDEX ON ${schema}.source (time);
SET search_path = ${schema}, public; SET TimeZone = 'UTC'`);
    return new PostgresUnderTest(url, session, schema);
  }

  get schema(): string {
    return this.#schema;
  }

  async hourlyFlow(name: string): Promise<FlowDefinition> {
    const flow = hourlyDefinition(name, this.source, { schema: this.#schema, table: `sink of ${name}` });
    await this.frontend.createSink(flow);
    return flow;
  }

  async insertRows(rows: readonly SourceRow[]): Promise<void> {
    const values = rows.map(({ time, key, value }) => [String(time), key, String(value)]);
    await this.session.query(
      `INSERT INTO source SELECT timestamptz 'epoch' + (r->>0)::bigint * interval '1 microsecond', r->>1, (r->>2)::bigint
FROM jsonb_array_elements($1::jsonb) AS r`,
      [JSON.stringify(values)],
    );
  }

  async deleteRows(within: TimeRange): Promise<void> {
    await this.session.query(
      'DELETE FROM source WHERE (extract(epoch FROM time) * 1000000) >= $1 AND (extract(epoch FROM time) * 1000000) < $2',
      [String(within.start), String(within.end)],
    );
  }

  async sinkRows(flow: FlowDefinition): Promise<readonly HourRow[]> {
    const { rows } = await this.session.query(
      `SELECT (extract(epoch FROM label) * 1000000)::bigint AS label, key, count, sum FROM ${nameOf(flow.sink)}`,
    );
    return rows.map((row) => ({
      label: instant(BigInt(row.label)),
      key: row.key,
      count: Number(row.count),
      sum: Number(row.sum),
    }));
  }

  async close(): Promise<void> {
    await this.frontend.close();
    await this.other.close();
    await this.session.end();
  }
}

export function nameOf({ schema, table }: TableName): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`;
}
