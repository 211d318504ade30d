import type { TestProject } from 'vitest/node';
import { startDynalite } from '../../lib/local/dynalite-server.ts';
import { startPostgres } from '../../lib/local/postgres-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A PostgreSQL server's superuser; take a database of your own with `createTestDatabase`. */
    databaseUrl: string;
    /** A DynamoDB endpoint; take a table of your own. */
    dynamoEndpoint: string;
  }
}

/** One PostgreSQL server and one dynalite for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Nothing in it has to outlive a crash of the machine.
  const postgres = await startPostgres({
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  const dynamo = await startDynalite();
  project.provide('databaseUrl', postgres.url);
  project.provide('dynamoEndpoint', dynamo.endpoint);
  return async () => {
    await Promise.all([postgres.stop(), dynamo.stop()]);
  };
}
