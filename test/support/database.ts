import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  /** Of the new, empty database. */
  readonly url: string;
  /** Ends its sessions too. */
  drop(): Promise<void>;
}

/** The embedded server, and the one named by SLUICE_TEST_DATABASE_URL if set: the contract suites run over each. */
export function testServers(): { readonly name: string; readonly url: string }[] {
  const other = process.env.SLUICE_TEST_DATABASE_URL;
  return [
    { name: 'the embedded server', url: inject('databaseUrl') },
    ...(other ? [{ name: 'SLUICE_TEST_DATABASE_URL', url: other }] : []),
  ];
}

/** A database of one's own on `server` (default: the embedded one), so that test files do not meet. */
export async function createTestDatabase(server: string = inject('databaseUrl')): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => asAdmin(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function asAdmin(server: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
