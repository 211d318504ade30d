import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';

test('each test database starts empty and is gone after drop', async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = $1', [
    'public',
  ]);
  expect(rows).toEqual([{ tables: 0 }]);
  await client.end();
  await database.drop();
  const gone = new pg.Client({ connectionString: database.url });
  await expect(gone.connect()).rejects.toThrow('does not exist');
});

test('the dynamo endpoint answers', async () => {
  const answer = await fetch(inject('dynamoEndpoint'));
  expect(await answer.text()).toContain('healthy');
});
