import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { ALL_TIME } from '../../lib/window/time-range.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { fences } from '../support/fenced-commands.ts';

const RUNBOOK = fileURLToPath(new URL('../../docs/runbook.md', import.meta.url));

/** The statements of the runbook, a grant of several rights as one for each. */
function statements(): string[] {
  const block = fences('docs/runbook.md', readFileSync(RUNBOOK, 'utf8')).find(({ language }) => language === 'sql');
  return (block?.body ?? []).flatMap((line) => {
    const [, rights, rest = ''] = /^GRANT ([A-Z, ]+?) (ON .*)$/.exec(line) ?? [];
    return rights === undefined ? [line] : rights.split(', ').map((right) => `GRANT ${right} ${rest}`);
  });
}

const GRANTS = statements().filter((statement) => statement.startsWith('GRANT'));

let database: TestDatabase;
let admin: pg.Client;
let role: string;

beforeEach(async () => {
  database = await createTestDatabase();
  role = `writer_${randomBytes(6).toString('hex')}`;
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  // What PUBLIC has would hide what the role needs.
  await admin.query(`REVOKE ALL ON DATABASE ${nameOf(database)} FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC;
    CREATE SCHEMA source; CREATE SCHEMA rollup; CREATE TABLE source.flights (time timestamptz, key text, value bigint);
    INSERT INTO source.flights VALUES ('2001-01-01 10:30Z', 'SFO', 7)`);
});
afterEach(async () => {
  await admin.end();
  await database.drop();
  const server = new pg.Client({ connectionString: inject('databaseUrl') });
  await server.connect();
  await server.query(`DROP ROLE IF EXISTS ${role}`);
  await server.end();
});

const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1);

async function execute(given: readonly string[]): Promise<void> {
  for (const statement of given) {
    await admin.query(statement.replace('rollup_writer', role).replace('DATABASE app', `DATABASE ${nameOf(database)}`));
  }
}

/** All that Sluice asks of a database, as the role: look, create the sink, fence, survey, write. */
async function everything(): Promise<bigint> {
  const url = new URL(database.url);
  url.username = role;
  url.password = 'choose one';
  const frontend = createPostgresFrontend({ connection: url.href, namespace: 'rights' });
  try {
    const definition = hourlyDefinition(
      'hourly',
      { schema: 'source', table: 'flights' },
      { schema: 'rollup', table: 'hourly' },
    );
    await frontend.checkServer();
    await frontend.describeQuery(definition.compiled.text.join('TRUE'), 'UTC');
    if ((await frontend.describeSink(definition.sink)) === null) await frontend.createSink(definition);
    await frontend.fence(definition.name, 1n, 5_000);
    await frontend.hasUnwindowedRows(definition);
    await frontend.timeRange(definition, ALL_TIME, 5_000);
    const plan = {
      definition,
      epoch: 2n,
      applied: 0n,
      gridTime: null,
      sinkIdentity: null,
      source: null,
      budgetMs: 10_000,
    };
    const { inserted } = await frontend.run({ ...plan, coverage: 'scoped_base_repair', ranges: [ALL_TIME] });
    return inserted;
  } finally {
    await frontend.close();
  }
}

it('the rights that the runbook grants are enough', async () => {
  await execute(statements());
  expect(await everything()).toBe(1n);
});

it.each(GRANTS)('without %s it fails for a missing right', async (left) => {
  await execute(statements().filter((statement) => statement !== left));
  await expect(everything()).rejects.toThrow(/permission denied/);
});

it('a schema sluice that Sluice may create does instead', async () => {
  await execute(statements().filter((statement) => !statement.includes('SCHEMA sluice')));
  await expect(everything()).rejects.toThrow(/permission denied/);
  await execute(['GRANT CREATE ON DATABASE app TO rollup_writer']);
  expect(await everything()).toBe(1n);
});

it('a sink that exists already takes the four rights on it instead of CREATE', async () => {
  await execute(statements().filter((statement) => statement !== 'GRANT CREATE ON SCHEMA rollup TO rollup_writer;'));
  await admin.query(`CREATE TABLE rollup.hourly (label timestamptz, key text, count bigint, sum bigint, update_at timestamptz);
    CREATE UNIQUE INDEX ON rollup.hourly (label, key) NULLS NOT DISTINCT`);
  await expect(everything()).rejects.toThrow(/permission denied for table hourly/);
  await execute(['GRANT SELECT, INSERT, UPDATE, DELETE ON rollup.hourly TO rollup_writer']);
  await admin.query('DELETE FROM sluice.applied');
  expect(await everything()).toBe(1n);
});
