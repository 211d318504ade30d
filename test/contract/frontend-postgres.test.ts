import { afterAll, beforeAll, describe } from 'vitest';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';
import { PostgresUnderTest } from '../support/postgres-under-test.ts';
import { frontendContract } from './frontend-suite.ts';

for (const server of testServers()) {
  describe(`on ${server.name}`, () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await createTestDatabase(server.url);
    });
    afterAll(() => database.drop());

    frontendContract('PostgreSQL', () => PostgresUnderTest.open(database.url));
  });
}
