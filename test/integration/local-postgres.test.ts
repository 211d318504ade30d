import { chmod, mkdir, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { freePort } from '../../lib/local/free-port.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from '../../lib/local/postgres-server.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually, isRunning, type Program, startProgram } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PROGRAM = join(import.meta.dirname, '../support/postgres-program.ts');

async function start(options: PostgresOptions): Promise<PostgresServer> {
  const server = await startPostgres(options);
  onTestFinished(() => server.stop('immediate'));
  return server;
}

async function query<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('test databases', () => {
  it('start empty and are gone after drop', async () => {
    const database = await createTestDatabase();
    expect(await query(database.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
    await database.drop();
    await expect(query(database.url, 'SELECT')).rejects.toThrow('does not exist');
  });

  it('lie on a server that cuts corners in safety only', async () => {
    const [settings] = await query(
      inject('databaseUrl'),
      `SELECT current_setting('fsync') AS fsync, current_setting('TimeZone') AS zone, current_setting('max_prepared_transactions') AS prepared,
              current_setting('listen_addresses') AS listens, current_setting('unix_socket_directories') AS sockets,
              pg_encoding_to_char(encoding) AS encoding, datcollate AS collation FROM pg_database WHERE datname = 'template1'`,
    );
    expect(settings).toEqual({
      fsync: 'off',
      zone: 'UTC',
      prepared: '10',
      listens: '127.0.0.1',
      sockets: '',
      encoding: 'UTF8',
      collation: 'C',
    });
  });
});

describe('embedded server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  it('wants the password, which is a new one for each data folder', async () => {
    const [one, other] = await Promise.all([
      start({ dataDir: join(folder, 'one') }),
      start({ dataDir: join(folder, 'other') }),
    ]);
    expect(await query(one.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    const wrong = new URL(one.url);
    wrong.password = new URL(other.url).password;
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    wrong.password = '';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toThrow(/password/);
    expect((await stat(join(folder, 'one', 'password'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its databases in a data folder, also where only root could get to it', async () => {
    const hidden = join(folder, 'closed', 'data');
    await mkdir(dirname(hidden));
    await chmod(dirname(hidden), 0o700);
    const first = await startPostgres({ dataDir: hidden });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS n');
    await first.stop();
    const second = await start({ dataDir: hidden });
    expect(await query(second.url, 'TABLE kept')).toEqual([{ n: 42 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    expect(await readdir(hidden)).toEqual(['cluster', 'password']);
  });

  it('leaves neither process nor folder behind when it is stopped', async () => {
    const before = await readdir(tmpdir());
    const server = await startPostgres();
    const [{ path } = { path: '' }] = await query<{ path: string }>(
      server.url,
      "SELECT current_setting('data_directory') AS path",
    );
    expect(path).not.toBe('');
    const made = (await readdir(tmpdir())).filter(
      (name) => name.startsWith('sluice-database-') && !before.includes(name),
    );
    expect(made.length).toBeGreaterThan(0);
    await server.stop();
    expect(isRunning(server.pid)).toBe(false);
    await server.stop();
    await expect(query(server.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });

  it('takes the next free port after the one it was to have, and none but that when told so', async () => {
    const port = await freePort(undefined);
    const busy = await listenOn(port);
    onTestFinished(() => void busy.close());
    const server = await start({ port: { from: port } });
    expect(server.port).toBeGreaterThan(port);
    await expect(startPostgres({ port: { exact: port } })).rejects.toThrow(`Port ${port} on 127.0.0.1 is in use`);
  });

  it('refuses a data folder that another server uses, and says so', async () => {
    const dataDir = join(folder, 'data');
    const server = await start({ dataDir });
    await expect(startPostgres({ dataDir })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(
        `The data folder ${dataDir} is in use by another server (process ${server.pid})`,
      ),
    });
  });

  it('reports what the server said when it cannot start', async () => {
    await expect(startPostgres({ settings: { max_connections: 'many' } })).rejects.toThrow('max_connections');
  });

  it('starts where a crash left a lock whose process id now is of another process', async () => {
    const dataDir = join(folder, 'data');
    await (await startPostgres({ dataDir })).stop();
    // This very process: it runs, and is no server.
    await writeFile(join(dataDir, 'cluster', 'postmaster.pid'), `${process.pid}\n${join(dataDir, 'cluster')}\n`);
    expect(await query((await start({ dataDir })).url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  it('does not take a half-made cluster for a whole one', async () => {
    const dataDir = join(folder, 'data');
    await mkdir(join(dataDir, 'cluster.0123456789abcdef'), { recursive: true });
    await writeFile(join(dataDir, 'cluster.0123456789abcdef', 'PG_VERSION'), '18\n');
    expect(await query((await start({ dataDir })).url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });
});

describe('the end of the process that started a server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });

  async function started(...argv: string[]): Promise<{ program: Program; pid: number; url: string }> {
    const program = startProgram([PROGRAM, ...argv]);
    onTestFinished(() => void program.child.kill('SIGKILL'));
    await program.saying('\n');
    return { program, ...(JSON.parse(program.stdout()) as { pid: number; url: string }) };
  }

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)(
    'by %s ends the server and removes its folder',
    async (signal) => {
      const { program, pid } = await started();
      const data = await folderOf(pid);
      expect(isRunning(pid)).toBe(true);
      program.child.kill(signal);
      await program.ended;
      await eventually(() => !isRunning(pid));
      await eventually(() =>
        stat(dirname(data)).then(
          () => false,
          () => true,
        ),
      );
    },
  );

  it('by SIGKILL keeps committed rows in a data folder, which can be used again at once', async () => {
    const { program, pid, url } = await started(folder);
    await query(url, 'CREATE TABLE kept AS SELECT 42 AS n');
    program.child.kill('SIGKILL');
    const again = await start({ dataDir: folder });
    expect(await query(again.url, 'TABLE kept')).toEqual([{ n: 42 }]);
    expect(isRunning(pid)).toBe(false);
  });
});

/** A server's working directory is its data folder. */
function folderOf(pid: number): Promise<string> {
  return readlink(`/proc/${pid}/cwd`);
}

async function listenOn(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}
