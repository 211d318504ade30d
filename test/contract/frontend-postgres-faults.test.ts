import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { SluiceError } from '../../lib/errors.ts';
import type { FlowDefinition } from '../../lib/flow/definition.ts';
import type { Frontend, PlanRequest, PlanResult } from '../../lib/frontend/frontend.ts';
import { raiseFence } from '../../lib/frontend/postgres/applied-table.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { HOUR, instant, plus } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database.ts';
import { PostgresProxy } from '../support/postgres-proxy.ts';
import { nameOf, PostgresUnderTest } from '../support/postgres-under-test.ts';

const START = instant(1_622_505_600_000_000n);
const HOURS: TimeRange = { start: START, end: plus(START, 10n * HOUR) };
/** How the messages of a plan begin. */
const FENCE = /^BEGIN/;
const WRITING = /^SET LOCAL statement_timeout/;
const COMMIT = /^COMMIT/;

type Closing = Frontend & { close(): Promise<void> };

for (const server of testServers()) {
  describe(`Faults of ${server.name}`, () => {
    let database: TestDatabase;
    let under: PostgresUnderTest;
    let proxy: PostgresProxy;
    let flow: FlowDefinition;
    const sessions: pg.Client[] = [];
    /** Connects through the proxy. */
    let proxied: Closing;
    beforeAll(async () => {
      database = await createTestDatabase(server.url);
    });
    afterAll(() => database.drop());
    beforeEach(async () => {
      under = await PostgresUnderTest.open(database.url);
      flow = await under.hourlyFlow('hourly');
      proxy = await PostgresProxy.start(database.url);
      proxied = createPostgresFrontend({ connection: proxy.url, namespace: under.schema });
      await under.insertRows([row(1, 'a', 1)]);
    });
    afterEach(async () => {
      await Promise.all(sessions.splice(0).map((client) => client.end()));
      await proxied.close();
      await proxy.close();
      await under.close();
    });

    /** One more session beside the workers, until the end of the test. */
    async function session(): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: database.url });
      sessions.push(client);
      await client.connect();
      return client;
    }
    const row = (hour: number, key: string, value: number) => ({ time: plus(START, BigInt(hour) * HOUR), key, value });
    const planOf = (epoch: bigint, applied: bigint, budgetMs = 20_000): PlanRequest => ({
      definition: flow,
      epoch,
      applied,
      coverage: 'scoped_base_repair',
      ranges: [HOURS],
      gridTime: null,
      source: null,
      sinkIdentity: null,
      budgetMs,
    });
    const sql = async (text: string): Promise<Record<string, unknown>[]> => (await under.session.query(text)).rows;
    const sink = async () => (await under.sinkRows(flow)).map(({ key, count }) => `${key} ${count}`).sort();
    /** Of a flow: null where nothing was applied. */
    const applied = async () => (await under.other.fence('hourly', 1000n, 5000)).applied;
    const codeOf = (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'no error',
        (error: SluiceError) => error.code,
      );
    /** Some session of this database waits for a lock. */
    async function someoneWaits(): Promise<void> {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      while ((await sql(waiting)).length === 0);
    }
    async function noneInTransaction(): Promise<void> {
      const open = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'`;
      while ((await sql(open)).length > 0);
    }

    describe('a connection', () => {
      it('is opened when needed, and one serves all who come one after the other', async () => {
        expect(proxy.connections).toBe(0);
        await proxied.fence('hourly', 1n, 5000);
        await proxied.run(planOf(2n, 0n));
        await proxied.run(planOf(3n, 2n));
        await codeOf(proxied.run(planOf(1n, 0n)));
        await codeOf(proxied.describeQuery('SELECT 1 +', 'UTC'));
        await proxied.checkServer();
        expect(proxy.connections).toBe(1);
      });

      it('serves one at a time: who comes meanwhile gets another one', async () => {
        const names = Array.from({ length: 12 }, (_, index) => `flow ${index}`);
        const flows = await Promise.all(names.map((name) => under.hourlyFlow(name)));
        const results = await Promise.all(flows.map((definition) => proxied.run({ ...planOf(1n, 0n), definition })));
        expect(results).toMatchObject(flows.map(() => ({ inserted: 1n, updated: 0n, deleted: 0n })));
        expect(proxy.connections).toBeGreaterThan(1);
        expect(proxy.connections).toBeLessThanOrEqual(8);
      });

      it('sends simple queries only, and no setting that outlives its transaction', async () => {
        await proxied.checkServer();
        await proxied.describeRelations([{ schema: null, table: 'source' }]);
        await proxied.describeQuery('SELECT now()', 'UTC');
        await proxied.createSink({ ...flow, sink: { schema: under.schema, table: 'another' } });
        await proxied.describeSink({ schema: under.schema, table: 'another' });
        await proxied.dropSink({ schema: under.schema, table: 'another' });
        await proxied.hasUnwindowedRows(flow);
        await proxied.timeRange(flow, HOURS, 5000);
        await proxied.fence('hourly', 1n, 5000);
        await proxied.run(planOf(2n, 0n));
        await codeOf(proxied.run(planOf(1n, 0n)));
        // p: the login. X: the farewell.
        expect(new Set(proxy.messages.map(({ type }) => type).filter((type) => !'pX'.includes(type)))).toEqual(
          new Set(['Q']),
        );
        const settings = proxy.messages.flatMap(
          ({ text }) => text.match(/\bSET\s+\w+ (?=.*[=])|set_config\([^)]*\)/g) ?? [],
        );
        expect(settings.length).toBeGreaterThan(20);
        for (const setting of settings.filter((found) => !/^SET (epoch|fence) $/.test(found))) {
          expect(setting).toMatch(/^SET LOCAL |, true\)$/);
        }
      });

      it('that dies while idle ends nothing and is replaced', async () => {
        await proxied.run(planOf(1n, 0n));
        await sql(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
        );
        expect(await proxied.run(planOf(2n, 1n))).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n });
        expect(proxy.connections).toBe(2);
      });

      it('that is found dead at the first message is replaced once', async () => {
        await proxied.run(planOf(1n, 0n));
        const met = proxy.once(FENCE, 'cut');
        await proxied.run(planOf(2n, 1n));
        await met;
        expect(proxy.connections).toBe(2);
        proxy.decide = ({ text }) => (FENCE.test(text) ? 'cut' : 'pass');
        expect(await codeOf(proxied.run(planOf(3n, 2n)))).toBe('frontend_unavailable');
        expect(proxy.connections).toBe(3);
        expect(await applied()).toBe(2n);
      });

      it('that swallows the first message is given up and replaced', async () => {
        await proxied.run(planOf(1n, 0n));
        const met = proxy.once(FENCE, 'hold');
        await proxied.run(planOf(2n, 1n, 4000));
        await met;
        expect(await applied()).toBe(2n);
      });

      it('that ends after the fence is not replaced: the writing statement is never sent twice', async () => {
        await proxied.run(planOf(1n, 0n));
        await under.insertRows([row(2, 'b', 1)]);
        const before = proxy.messages.length;
        const met = proxy.once(WRITING, 'cut');
        await expect(proxied.run(planOf(2n, 1n))).rejects.toMatchObject({
          code: 'frontend_unavailable',
          retryable: true,
        });
        await met;
        expect(proxy.messages.slice(before).filter(({ text }) => WRITING.test(text))).toHaveLength(1);
        expect(await sink()).toEqual(['a 1']);
        expect(await applied()).toBe(1n);
      });

      it('that does not answer the writing statement is given up, and the server ends the transaction by itself', async () => {
        const met = proxy.once(WRITING, 'hold');
        expect(await codeOf(proxied.run(planOf(1n, 0n, 800)))).toBe('frontend_unavailable');
        await met;
        expect(await applied()).toBe(0n);
        expect(await sink()).toEqual([]);
      });

      it('that cannot be opened gives a passing fault without secrets', async () => {
        const wrong = (change: (url: URL) => void) => {
          const url = new URL(database.url);
          url.password = 'a secret';
          change(url);
          return createPostgresFrontend({ connection: url.href, namespace: 'x', connectTimeoutMs: 2000 });
        };
        const login = /refused the login/;
        const cases: [Closing, RegExp][] = [
          [
            wrong((url) => {
              url.port = '1';
            }),
            /ECONNREFUSED/,
          ],
          [
            wrong((url) => {
              url.hostname = 'no-such-host.invalid';
            }),
            /could not be reached/,
          ],
          [
            createPostgresFrontend({
              connection: database.url.replace(/\/[^/]*$/, '/no_such_database'),
              namespace: 'x',
            }),
            /does not exist/,
          ],
        ];
        // A server that trusts everybody cannot refuse a password.
        const trusting = new URL(database.url).password === '';
        if (!trusting) cases.push([wrong(() => undefined), login]);
        for (const [frontend, message] of cases) {
          const error: SluiceError = await frontend.checkServer().then(
            () => Promise.reject(new Error('it connected')),
            (thrown: SluiceError) => thrown,
          );
          expect(error).toMatchObject({ code: 'frontend_unavailable', retryable: true });
          expect(error.message).toMatch(message);
          expect(error.details.hint).toBeTypeOf('string');
          const shown = JSON.stringify([error.message, error.details, error.cause ?? null, String(error.stack)]);
          for (const secret of ['a secret', 'a%20secret', database.url, new URL(database.url).password || 'a secret']) {
            expect(shown).not.toContain(secret);
          }
          await frontend.close();
        }
      });

      it('beyond the limit of its role gives a passing fault with a hint', async () => {
        await sql(`CREATE ROLE few_${under.schema} LOGIN PASSWORD 'few' CONNECTION LIMIT 0`);
        try {
          const url = new URL(database.url);
          url.username = `few_${under.schema}`;
          url.password = 'few';
          const frontend = createPostgresFrontend({ connection: url.href, namespace: 'x' });
          await expect(frontend.checkServer()).rejects.toMatchObject({
            code: 'frontend_unavailable',
            message: expect.stringContaining('53300'),
            details: { hint: expect.stringContaining('max_connections') },
          });
        } finally {
          await sql(`DROP ROLE few_${under.schema}`);
        }
      });
    });

    describe('COMMIT', () => {
      it('whose answer is lost leaves the outcome unknown, and the fence tells that it was applied', async () => {
        const met = proxy.once(COMMIT, 'lose_answer');
        await expect(proxied.run(planOf(1n, 0n))).rejects.toMatchObject({ code: 'outcome_unknown', retryable: true });
        await met;
        expect(await sink()).toEqual(['a 1']);
        expect(await applied()).toBe(1n);
      });

      it('that is lost leaves the outcome unknown, and the fence tells that it was not applied', async () => {
        const met = proxy.once(COMMIT, 'cut');
        expect(await codeOf(proxied.run(planOf(1n, 0n)))).toBe('outcome_unknown');
        await met;
        expect(await applied()).toBe(0n);
        expect(await sink()).toEqual([]);
      });

      it('that is never answered leaves the outcome unknown', async () => {
        const met = proxy.once(COMMIT, 'hold');
        expect(await codeOf(proxied.run(planOf(1n, 0n, 800)))).toBe('outcome_unknown');
        await met;
        expect(await applied()).toBe(0n);
      });

      it('that comes after the server has ended the idle transaction has certainly failed', async () => {
        const met = proxy.once(COMMIT, async () => {
          await noneInTransaction();
          return 'pass';
        });
        expect(await codeOf(proxied.run(planOf(1n, 0n, 800)))).toBe('frontend_unavailable');
        await met;
        expect(await applied()).toBe(0n);
      });
    });

    describe('the limits of time', () => {
      const sleeping = (): FlowDefinition => {
        const [head, tail] = flow.compiled.text;
        return {
          ...flow,
          compiled: { ...flow.compiled, text: [head!, tail!.replace('AS s', 'AS s, (SELECT pg_sleep(30)) AS sleep')] },
        };
      };

      it('end a statement that runs for too long', async () => {
        const before = performance.now();
        await expect(proxied.run({ ...planOf(1n, 0n, 1500), definition: sleeping() })).rejects.toMatchObject({
          code: 'statement_timeout',
          retryable: true,
        });
        expect(performance.now() - before).toBeLessThan(1500);
        expect(await proxied.run(planOf(2n, 0n))).toMatchObject({ inserted: 1n });
        expect(proxy.connections).toBe(1);
      });

      it('end the wait for a lock on the sink, and for the fence', async () => {
        const other = await session();
        await other.query(`BEGIN; LOCK TABLE ${nameOf(flow.sink)}`);
        await expect(proxied.run(planOf(1n, 0n, 2000))).rejects.toMatchObject({
          code: 'lock_timeout',
          retryable: true,
        });
        await other.query('ROLLBACK');
        await proxied.run(planOf(1n, 0n));
        await other.query(`BEGIN; ${raiseFence({ namespace: under.schema, flow: 'hourly' }, 1n)}`);
        await expect(proxied.run(planOf(2n, 1n, 2000))).rejects.toMatchObject({
          code: 'lock_timeout',
          retryable: true,
        });
        await expect(proxied.fence('hourly', 2n, 300)).rejects.toMatchObject({ code: 'lock_timeout', retryable: true });
        await other.query('ROLLBACK');
        expect(await applied()).toBe(1n);
      });

      it('refuse a budget that is too small, before anything is sent', async () => {
        for (const budget of [499, 0, -5, Number.NaN]) {
          await expect(proxied.run(planOf(1n, 0n, budget))).rejects.toMatchObject({
            code: 'statement_timeout',
            retryable: true,
          });
        }
        expect(proxy.connections).toBe(0);
      });

      it('are found again by a deadlock, which is a passing fault', async () => {
        await proxied.run(planOf(1n, 0n));
        const other = await session();
        // A session looks for a deadlock once, a second after it began to wait. On a slow machine the other one waits too late for
        // the plan to find it, and ends itself: then the plan was written, and it is tried again.
        for (let epoch = 1n; ; epoch += 1n) {
          await other.query(`BEGIN; LOCK TABLE ${nameOf(flow.sink)}`);
          const plan = proxied.run(planOf(epoch + 1n, epoch)).then(
            () => 'written',
            (error: SluiceError) => error.code,
          );
          await someoneWaits();
          const locked = other.query(`SELECT FROM sluice.applied WHERE namespace = '${under.schema}' FOR UPDATE`);
          const [outcome] = await Promise.all([plan, locked.catch(() => undefined)]);
          await other.query('ROLLBACK');
          if (outcome === 'written' && epoch < 5n) continue;
          expect(outcome).toBe('deadlock');
          expect(await applied()).toBe(epoch);
          break;
        }
      });
    });

    describe('a worker that is stopped', () => {
      const BUDGET_MS = 3000;

      async function startWorker(stopAt: string) {
        const argument = JSON.stringify({
          url: database.url,
          namespace: under.schema,
          name: 'hourly',
          schema: under.schema,
          stopAt,
          from: String(HOURS.start),
          to: String(HOURS.end),
          epoch: '5',
          applied: '0',
          budgetMs: BUDGET_MS,
        });
        const script = new URL('../support/stopping-worker.ts', import.meta.url).pathname;
        const worker = spawn(process.execPath, [script, argument], { stdio: ['ignore', 'pipe', 'inherit'] });
        const lines = createInterface(worker.stdout)[Symbol.asyncIterator]();
        const line = async () => (await lines.next()).value as string;
        return { worker, line };
      }

      it.each([
        ['before its writing statement', 'SET LOCAL statement_timeout'],
        ['before its COMMIT', 'COMMIT'],
      ])('%s loses its transaction within its budget, and writes nothing when it goes on', async (_, stopAt) => {
        const { worker, line } = await startWorker(stopAt);
        try {
          expect(await line()).toBe('stopping');
          const before = performance.now();
          expect(
            await sql(
              `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
            ),
          ).toHaveLength(1);
          expect(await under.other.fence('hourly', 6n, 20_000)).toEqual({ applied: 0n });
          expect(performance.now() - before).toBeLessThan(BUDGET_MS);
          expect(await under.frontend.run(planOf(7n, 0n))).toMatchObject({ inserted: 1n });
          worker.kill('SIGCONT');
          expect(['frontend_unavailable', 'outcome_unknown']).toContain(await line());
          await once(worker, 'exit');
          expect(await sink()).toEqual(['a 1']);
          expect(await applied()).toBe(7n);
        } finally {
          worker.kill('SIGKILL');
        }
      });

      it('in the middle of its writing statement loses its transaction within its budget', async () => {
        // The statement waits for a table that somebody else holds for as long as the worker stands still.
        const other = await session();
        await other.query(`BEGIN; LOCK TABLE ${nameOf(flow.sink)} IN ACCESS EXCLUSIVE MODE`);
        const { worker, line } = await startWorker('no message begins like this');
        try {
          await someoneWaits();
          worker.kill('SIGSTOP');
          const before = performance.now();
          expect(await under.other.fence('hourly', 6n, 20_000)).toEqual({ applied: 0n });
          expect(performance.now() - before).toBeLessThan(BUDGET_MS);
          await other.query('ROLLBACK');
          worker.kill('SIGCONT');
          expect(['lock_timeout', 'frontend_unavailable']).toContain(await line());
          expect(await sink()).toEqual([]);
        } finally {
          worker.kill('SIGKILL');
        }
      });

      it('before its first message finds itself fenced off when it goes on', async () => {
        const { worker, line } = await startWorker('BEGIN');
        try {
          expect(await line()).toBe('stopping');
          expect(await under.other.fence('hourly', 6n, 5000)).toEqual({ applied: 0n });
          worker.kill('SIGCONT');
          expect(await line()).toBe('fenced');
          expect(await sink()).toEqual([]);
        } finally {
          worker.kill('SIGKILL');
        }
      });

      it('would hold the fence without these limits (control)', async () => {
        const silent = await session();
        await proxied.fence('hourly', 1n, 5000);
        await silent.query(`BEGIN; ${raiseFence({ namespace: under.schema, flow: 'hourly' }, 5n)}`);
        expect(await codeOf(under.other.fence('hourly', 6n, BUDGET_MS))).toBe('lock_timeout');
      });
    });

    describe('two workers', () => {
      /** The first worker's plan, held right before COMMIT until `release` is called. */
      function heldPlan(
        epoch: bigint,
        before: bigint,
      ): { held: Promise<void>; release: () => void; plan: Promise<PlanResult> } {
        let release = () => {};
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        const held = proxy.once(COMMIT, async () => {
          await released;
          return 'pass';
        });
        return { held, release: () => release(), plan: proxied.run(planOf(epoch, before)) };
      }

      it('one that waited for the fence writes from what the other committed meanwhile', async () => {
        const first = heldPlan(1n, 0n);
        await first.held;
        await under.insertRows([row(1, 'a', 5), row(2, 'b', 1)]);
        const second = under.other.run(planOf(2n, 1n));
        await someoneWaits();
        first.release();
        expect(await first.plan).toMatchObject({ inserted: 1n, updated: 0n, deleted: 0n });
        expect(await second).toMatchObject({ inserted: 1n, updated: 1n, deleted: 0n });
        expect(await sink()).toEqual(['a 2', 'b 1']);
      });

      it('with the fence inside of the writing statement it would write from its old snapshot (control)', async () => {
        const first = heldPlan(1n, 0n);
        await first.held;
        const other = await session();
        const second = other
          .query(`WITH fence AS (${raiseFence({ namespace: under.schema, flow: 'hourly' }, 2n)})
INSERT INTO ${nameOf(flow.sink)} SELECT date_trunc('hour', time), key, count(*), sum(value) FROM ${nameOf(under.source)} AS s
WHERE EXISTS (SELECT FROM fence) AND NOT EXISTS (SELECT FROM ${nameOf(flow.sink)} AS k WHERE k.key = s.key) GROUP BY 1, 2`)
          .catch((error: { code: string }) => error.code);
        await someoneWaits();
        first.release();
        await first.plan;
        expect(await second).toBe('23505');
      });

      it('one that is fenced off deletes nothing; with the fence inside of the writing statement it would (control)', async () => {
        await proxied.run(planOf(1n, 0n));
        await sql('DELETE FROM source');
        await under.other.fence('hourly', 9n, 5000);
        expect(await codeOf(proxied.run(planOf(2n, 1n)))).toBe('fenced');
        expect(await sink()).toEqual(['a 1']);
        const { rows } =
          await under.session.query(`WITH fence AS (${raiseFence({ namespace: under.schema, flow: 'hourly' }, 2n)}),
removed AS (DELETE FROM ${nameOf(flow.sink)} RETURNING 1) SELECT count(*)::int FROM fence`);
        expect(rows).toEqual([{ count: 0 }]);
        expect(await sink()).toEqual([]);
      });

      it('one that raises the fence waits for the plan in flight and learns of it', async () => {
        const first = heldPlan(1n, 0n);
        await first.held;
        const raised = under.other.fence('hourly', 2n, 20_000);
        await someoneWaits();
        first.release();
        await first.plan;
        expect(await raised).toEqual({ applied: 1n });
      });
    });

    describe('the applied table', () => {
      const drop = () => sql('DROP SCHEMA sluice CASCADE');

      it('is made by whoever needs it first, also by many at the same time', async () => {
        const frontends = Array.from({ length: 8 }, () =>
          createPostgresFrontend({ connection: database.url, namespace: under.schema }),
        );
        // Warm connections, so that they meet in the creation.
        await Promise.all(frontends.map((frontend) => frontend.checkServer()));
        for (let round = 0; round < 5; round += 1) {
          await drop().catch(() => undefined);
          const answers = await Promise.all(
            frontends.map((frontend, index) => frontend.fence(`flow ${index}`, 1n, 10_000)),
          );
          expect(answers).toEqual(frontends.map(() => ({ applied: 0n })));
        }
        await Promise.all(frontends.map((frontend) => frontend.close()));
      });

      it('that is gone is made again, and a plan that builds on what it knew is refused', async () => {
        await proxied.run(planOf(1n, 0n));
        await sql('DROP TABLE sluice.applied');
        await expect(proxied.run(planOf(2n, 1n))).rejects.toMatchObject({
          code: 'history_diverged',
          details: { applied: 0n },
        });
        await drop();
        expect(await proxied.run(planOf(3n, 0n))).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n });
        expect(await applied()).toBe(3n);
      });

      it('needs no right to create anything where it exists, and says which one is missing where it does not', async () => {
        await proxied.fence('hourly', 1n, 5000);
        const role = `plain_${under.schema}`;
        await sql(
          `CREATE ROLE ${role} LOGIN PASSWORD 'plain'; GRANT USAGE ON SCHEMA sluice TO ${role}; GRANT SELECT, INSERT, UPDATE ON sluice.applied TO ${role}`,
        );
        try {
          const url = new URL(database.url);
          url.username = role;
          url.password = 'plain';
          const frontend = createPostgresFrontend({ connection: url.href, namespace: under.schema });
          expect(await frontend.fence('hourly', 2n, 5000)).toEqual({ applied: 0n });
          await drop();
          await expect(frontend.fence('hourly', 3n, 5000)).rejects.toMatchObject({
            code: 'query_failed',
            message: expect.stringContaining('permission denied for database'),
            details: { hint: expect.stringContaining('grant') },
          });
          await frontend.close();
        } finally {
          await sql(`DROP OWNED BY ${role}`);
          await sql(`DROP ROLE ${role}`);
        }
      });
    });
  });
}
