import { spawn } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { compareSink, isEqual } from '../../lib/local/compare-sink.ts';
import { FLOWS } from '../../lib/local/demonstration.ts';
import { startPostgres } from '../../lib/local/postgres-server.ts';
import { eventually, isRunning, type Program, startProgram, watch } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const MAIN = join(REPOSITORY, 'lib/local/main.ts');

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

function start(...flags: string[]): Program {
  return kept(startProgram([MAIN, ...flags]));
}

function npmStart(...flags: string[]): Program {
  const env = { ...process.env, npm_config_update_notifier: 'false' };
  return kept(
    watch(
      spawn('npm', ['start', '--', ...flags], {
        cwd: REPOSITORY,
        env,
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    ),
  );
}

function kept(program: Program): Program {
  onTestFinished(() => void signalGroup(program, 'SIGKILL'));
  return program;
}

/** As a terminal does it at Ctrl-C: npm, the shell below it and Sluice all get the signal. */
function signalGroup(program: Program, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-(program.child.pid ?? 0), signal);
  } catch {
    return false;
  }
}

async function serverPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')).split('\n')[0]);
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

describe('npm start -- --once', () => {
  it('loads three million flights, brings both sinks up to date, checks them, and fails when one has been left behind', async () => {
    const dataDir = join(folder, 'data');
    const first = npmStart('--once', '--data', dataDir);
    expect(await first.ended, first.stdout() + first.stderr()).toBe(0);
    expect(first.stderr()).toBe('');
    expect(first.stdout()).toContain('Loading 3,000,000 flights   100 %');
    expect(first.stdout()).toContain('hourly_departures: 424,259 rows, equal to the query');
    expect(first.stdout()).toContain('daily_routes: 570,842 rows, equal to the query');
    expect(first.stdout()).toMatch(/^hour +origin +departures +mean_delay +worst_delay$/m);
    expect(first.stdout()).toMatch(/^day +origin +destination +flights +miles +minutes_late$/m);
    const [, seconds] = /Done in ([\d.]+) s/.exec(first.stdout()) ?? expect.fail(first.stdout());
    expect(Number(seconds)).toBeLessThan(90);
    expect(signalGroup(first, 0)).toBe(false);

    const server = await startPostgres({ dataDir: join(dataDir, 'postgres') });
    const client = await connect(server.url);
    for (const { query, sink, keys } of FLOWS)
      expect(isEqual(await compareSink(client, query, sink, keys)), sink).toBe(true);
    // Nobody is told of this one.
    await client.query("INSERT INTO flights VALUES ('2001-03-01 12:00', 1, 1, 'XXX', 'YYY')");
    await client.end();
    await server.stop();

    const second = npmStart('--once', '--data', dataDir);
    expect(await second.ended, second.stdout() + second.stderr()).toBe(1);
    expect(second.stdout()).not.toContain('Loading');
    expect(second.stdout()).toContain(
      'hourly_departures: 424,259 rows, NOT equal to the query: 1 missing, 0 surplus, 0 inexact',
    );
    expect(second.stdout()).toContain('missing in the sink: ("2001-03-01 00:00:00",XXX,YYY,1,1,1)');
  }, 180_000);
});

describe('npm start', () => {
  it('follows marks within a tick, flushes, goes on after a restart, and leaves no process behind at Ctrl-C', async () => {
    const dataDir = join(folder, 'data');
    const readyFile = join(folder, 'ready.json');
    const flags = ['--empty', '--data', dataDir, '--ready-file', readyFile, '--tick', '1'];
    const up = async (): Promise<{ program: Program; client: pg.Client; api: string }> => {
      const program = npmStart(...flags);
      await program.saying('Ctrl-C stops both.');
      const ready = JSON.parse(await readFile(readyFile, 'utf8')) as { api: string; database: string };
      return { program, client: await connect(ready.database), api: ready.api };
    };
    const post = async (api: string, path: string, body: unknown = {}) => {
      const response = await fetch(api + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, answer: (await response.json()) as unknown };
    };
    const down = async (program: Program): Promise<void> => {
      const pid = await serverPid(dataDir);
      signalGroup(program, 'SIGINT');
      await program.ended;
      await eventually(() => !isRunning(pid) && !signalGroup(program, 0));
      expect(program.stderr()).toBe('');
      await expect(stat(readyFile)).rejects.toThrow('ENOENT');
    };

    const first = await up();
    await first.client.query('CREATE TABLE events (at timestamptz NOT NULL, kind text, n integer)');
    const sql = `CREATE FLOW "per hour" SINK TO per_hour AS SELECT date_trunc('hour', at) AS hour, kind, sum(n) AS n FROM events GROUP BY 1, 2`;
    expect(await post(first.api, '/sql', { sql })).toMatchObject({ status: 201 });
    const sink = async (client: pg.Client) =>
      (
        await client.query(
          "SELECT to_char(hour AT TIME ZONE 'UTC', 'HH24') AS hour, kind, n::int FROM per_hour ORDER BY 1, 2",
        )
      ).rows as unknown[];

    await first.client.query(
      "INSERT INTO events VALUES ('2026-01-01 10:30Z', 'a', 1), ('2026-01-01 10:59Z', 'a', 2), ('2026-01-01 11:00Z', 'b', 4)",
    );
    expect(await sink(first.client)).toEqual([]);
    expect(
      await post(first.api, '/tables/events/dirty-windows', {
        timestamps: ['2026-01-01T10:30:00Z', '2026-01-01T11:00:00Z'],
      }),
    ).toMatchObject({
      status: 200,
    });
    await eventually(async () => (await sink(first.client)).length === 2);
    expect(await sink(first.client)).toEqual([
      { hour: '10', kind: 'a', n: 3 },
      { hour: '11', kind: 'b', n: 4 },
    ]);
    await down(first.program);

    const second = await up();
    await second.client.query("DELETE FROM events WHERE kind = 'b'");
    await post(second.api, '/flows/per%20hour/dirty-windows', {
      ranges: [['2026-01-01T11:00:00Z', '2026-01-01T11:00:01Z']],
    });
    await eventually(async () => (await sink(second.client)).length === 1);
    // Its row is gone before its plan is recorded: a flush that began in between would count it as well.
    await eventually(async () => {
      const response = await fetch(`${second.api}/flows/per%20hour/state`);
      return ((await response.json()) as { in_flight: unknown }).in_flight === null;
    });
    await second.client.query('UPDATE events SET n = 10 WHERE n = 1');
    expect(await post(second.api, '/flows/per%20hour/flush')).toEqual({ status: 200, answer: { affected_rows: '1' } });
    expect(await sink(second.client)).toEqual([{ hour: '10', kind: 'a', n: 12 }]);
    await down(second.program);
  });

  it('stops clean at a Ctrl-C in the middle of loading', async () => {
    const dataDir = join(folder, 'data');
    const program = start('--data', dataDir);
    await program.saying('flights    25 %');
    const pid = await serverPid(dataDir);
    signalGroup(program, 'SIGINT');
    expect(await program.ended, program.stderr()).toBe(0);
    expect(program.stderr()).toBe('');
    await eventually(() => !isRunning(pid));
  });

  it('stops at once at the second Ctrl-C where the first one takes long, and the server is not left behind', async () => {
    const dataDir = join(folder, 'data');
    const program = start('--empty', '--data', dataDir);
    await program.saying('Ctrl-C stops both.');
    const pid = await serverPid(dataDir);
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => void (isRunning(pid) && process.kill(pid, 'SIGCONT')));
    signalGroup(program, 'SIGINT');
    await program.saying('Stopping');
    // npm hands on what the terminal gives to both: at first, the second one is taken for the same.
    signalGroup(program, 'SIGINT');
    await eventually(() => program.child.exitCode !== null || !signalGroup(program, 'SIGINT'));
    expect(await program.ended).toBe(130);
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, 'SIGCONT');
    await eventually(() => !isRunning(pid));
  });

  it('stops when npm is killed, which does not tell it', async () => {
    const dataDir = join(folder, 'data');
    const program = npmStart('--empty', '--data', dataDir);
    await program.saying('Ctrl-C stops both.');
    const pid = await serverPid(dataDir);
    program.child.kill('SIGKILL');
    await eventually(() => !isRunning(pid) && !signalGroup(program, 0));
    expect(program.stdout()).toContain('Stopping');
  });

  it('says which flag is wrong, and ends with status 2', async () => {
    const program = start('--tick', 'never');
    expect(await program.ended).toBe(2);
    expect(program.stderr()).toBe('sluice: --tick is "never"; give seconds above 0 and up to 86400.\n');
  });

  it('says that its data folder is in use, and ends with status 1', async () => {
    const dataDir = join(folder, 'data');
    const first = start('--empty', '--data', dataDir);
    await first.saying('Ctrl-C stops both.');
    const second = start('--empty', '--data', dataDir);
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toMatch(
      /^sluice: The data folder .* is in use by another server \(process \d+\)\. Stop that one, or choose another folder\.\n$/,
    );
    signalGroup(first, 'SIGINT');
    expect(await first.ended).toBe(0);
  });

  it('helps', async () => {
    const program = start('--help');
    expect(await program.ended).toBe(0);
    expect(program.stdout()).toContain('Usage: npm start -- [flags]');
  });
});
