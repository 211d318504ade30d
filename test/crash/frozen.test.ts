import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { CrashWorld } from './crash-world.ts';

const PROGRAM = new URL('../support/frozen-tick-program.ts', import.meta.url).pathname;

let world: CrashWorld;
beforeAll(async () => {
  world = await CrashWorld.open();
});
afterAll(() => world.close());

/** What a worker that is frozen before each message has open on the server, and what its tick may still say afterwards. */
const MESSAGES = [
  { stopAt: 'BEGIN', transaction: false },
  { stopAt: 'SET LOCAL statement_timeout', transaction: true },
  { stopAt: 'COMMIT', transaction: true },
];

/**
 * A killed process is not enough: the kernel closes its socket, and the server rolls its transaction back. A frozen one keeps both
 * open and goes on later as if nothing had been.
 */
describe('a worker process frozen in its tick and continued after the take-over', () => {
  it.each(MESSAGES)('before $stopAt writes nothing any more', { timeout: 60_000 }, async ({ stopAt, transaction }) => {
    const trial = await world.trial();
    await trial.insert([0, 1, 2]);
    await trial.create();
    await trial.insert([1, 2], 7);

    const given = {
      databaseUrl: world.database.url,
      dynamoEndpoint: inject('dynamoEndpoint'),
      tableName: world.table.tableName,
      flow: trial.flow,
      now: String(trial.now),
      stopAt,
    };
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(given)], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe('stopping');
      const held = (await trial.load()).state;
      expect(held.lease?.owner).toBe('frozen');
      expect(await openTransactions()).toBe(transaction ? 1 : 0);
      // The server ends what the frozen client has left, well before the lease lapses (4.5 + 2 seconds after it was taken).
      await expect.poll(openTransactions, { timeout: 4_000 }).toBe(0);

      // Newer rows, a take-over, and everything brought up to date by another worker.
      await trial.insert([1, 2, 5], 100);
      expect(await trial.untilQuiet()).toEqual([]);
      expect(await trial.history()).toContain('abandoned');
      const quiet = (await trial.load()).state;

      child.kill('SIGCONT');
      expect((await lines.next()).value).toBe(transaction ? 'failed' : 'abandoned');
      await once(child, 'exit');
      expect(await trial.differences()).toEqual([]);
      expect((await trial.load()).state).toEqual(quiet);
    } finally {
      child.kill('SIGKILL');
      await trial.close();
    }
  });
});

async function openTransactions(): Promise<number> {
  const { rows } = await world.sql.query<{ open: string }>(`SELECT count(*) AS open FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`);
  return Number(rows[0]?.open);
}
