import { spawn } from 'node:child_process';
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { SluiceError } from '../errors.ts';
import { freePort, LOOPBACK, type PortWish } from './free-port.ts';
import {
  clusterFolder,
  DATABASE_USER,
  identity,
  openPostgresData,
  type PostgresData,
  reachable,
  serverEnvironment,
} from './postgres-data.ts';
import { type PostgresFiles, postgresFiles } from './postgres-files.ts';
import { type ServerUser, serverUser } from './server-user.ts';

export interface PostgresOptions {
  /** Keeps the databases between runs. Without it they live in a temporary folder that vanishes with the server. */
  readonly dataDir?: string;
  /** Default: any free port. */
  readonly port?: PortWish;
  /** Server settings, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresServer {
  /** With the user and the password: a secret. */
  readonly url: string;
  readonly port: number;
  /** Process id of the server itself. */
  readonly pid: number;
  /** Settles when the server has ended, by `stop` or by itself; then with the last lines it wrote. */
  readonly ended: Promise<string>;
  /** Ends sessions, writes everything down and waits for the end. `immediate`: as a crash would, to be repaired at the next start. */
  stop(how?: 'immediate'): Promise<void>;
}

/** Line of `postmaster.pid` (`LOCK_FILE_LINE_PM_STATUS` of PostgreSQL's `utils/pidfile.h`), counted from 0. */
const PM_STATUS = 7;
const LONGEST_FAREWELL_MS = 10_000;
/** A server notices the end of its parent within this time. */
const LATEST_FAREWELL_MS = 1_000;
const POLL_MS = 100;

const DEFAULTS: Readonly<Record<string, string>> = {
  max_connections: '100',
  max_prepared_transactions: '10',
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  // The messages of failed statements may hold rows; clients get them anyway. `log` keeps the server's own news.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

/**
 * Starts a PostgreSQL server of its own on the loopback interface. The server never outlives this process, however that ends:
 * a shell between the two holds the reading end of a pipe, and ends the server once the pipe closes. (In a session of its own,
 * so that a Ctrl-C meant for Sluice does not reach the server first.)
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const user = await serverUser(options.dataDir === undefined ? null : clusterFolder(options.dataDir));
  const files = await postgresFiles(user);
  const data = await openPostgresData(options.dataDir ?? null, files, user);
  try {
    await removeStaleLock(data.cluster);
    const taken = new Set<number>();
    for (;;) {
      const port = await freePort(options.port, taken);
      const outcome = await launch(files, data, user, port, { ...DEFAULTS, ...options.settings });
      if ('server' in outcome) return outcome.server;
      // Somebody else took the port between the look and the start.
      if (/could not bind|could not create any TCP/i.test(outcome.said)) taken.add(port);
      else
        throw new SluiceError('frontend_unavailable', `The embedded PostgreSQL server did not start: ${outcome.said}`);
    }
  } catch (error) {
    if (data.temporary) await rm(data.folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * `sh` reads signals to pass on from its standard input, one a line; at its end the parent is gone, and the server goes down
 * at once. The temporary folder is removed here, because the parent may be gone.
 */
const KEEPER = `
remove=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- &
server=$!
{ while read -r signal <&3; do kill -s "$signal" "$server"; done; kill -s QUIT "$server"; } &
reader=$!
exec 3<&-
wait "$server"
kill "$reader" 2>/dev/null
if [ -n "$remove" ]; then cd / && rm -rf -- "$remove"; fi
`;

type Launched = { readonly server: PostgresServer } | { readonly said: string };

async function launch(
  files: PostgresFiles,
  data: PostgresData,
  user: ServerUser | null,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<Launched> {
  const fixed = { listen_addresses: LOOPBACK, port: String(port), unix_socket_directories: '' };
  const parameters = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const { path, cwd } = reachable(data.cluster, user);
  const remove = data.temporary ? data.folder : '';
  const child = spawn('/bin/sh', ['-c', KEEPER, 'sluice-postgres', remove, files.postgres, '-D', path, ...parameters], {
    cwd,
    env: serverEnvironment(),
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
    ...identity(user),
  });

  const lines: string[] = [];
  const ready = Promise.withResolvers<boolean>();
  const ended = Promise.withResolvers<string>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > 20) lines.shift();
    if (line.includes('database system is ready to accept connections')) ready.resolve(true);
  });
  child.once('error', (error) => lines.push(String(error)));
  child.stdin.on('error', () => undefined); // it ended before it read the signal
  child.once('close', () => {
    ready.resolve(false);
    ended.resolve(lines.join('\n'));
  });
  if (!(await ready.promise)) return { said: await ended.promise };

  const pid = Number((await readFile(join(data.cluster, 'postmaster.pid'), 'utf8')).split('\n', 1)[0]);
  // Should the shell be killed, nobody is left to end the server but this process.
  child.once('exit', (_, killedBy) => killedBy !== null && signal(pid, 'SIGQUIT'));
  return {
    server: {
      url: `postgres://${DATABASE_USER}:${data.password}@${LOOPBACK}:${port}/postgres`,
      port,
      pid,
      ended: ended.promise,
      async stop(how) {
        if (child.exitCode !== null || child.signalCode !== null) return void (await ended.promise);
        // Nothing of a temporary folder needs to be written down.
        const gently = how !== 'immediate' && !data.temporary;
        child.stdin.write(gently ? 'INT\n' : 'QUIT\n');
        const tooLong = setTimeout(() => child.stdin.write('QUIT\n'), 20_000);
        await ended.promise;
        clearTimeout(tooLong);
      },
    },
  };
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

/**
 * A lock that a crash left behind keeps the server from starting if its process id has since been given to another process
 * of the same user. Throws `conflict` where a server is at work in the folder. The server looks after every other case.
 */
async function removeStaleLock(cluster: string): Promise<void> {
  const path = join(cluster, 'postmaster.pid');
  const folder = await realpath(cluster);
  for (let waited = 0; ; waited += POLL_MS) {
    const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n');
    const pid = Number(lines[0]);
    if (!Number.isInteger(pid) || pid <= 0 || !signal(pid, 0)) return;
    // A server's working directory is its data folder. Unreadable: no /proc here, or the process has just ended.
    const at = await readlink(`/proc/${pid}/cwd`).catch(() => folder);
    if (at !== folder) return rm(path, { force: true });
    // A server whose parent was killed a moment ago is on its way out.
    if (waited >= (lines[PM_STATUS]?.trim() === 'stopping' ? LONGEST_FAREWELL_MS : LATEST_FAREWELL_MS)) {
      throw new SluiceError(
        'conflict',
        `The data folder ${dirname(cluster)} is in use by another server (process ${pid}). Stop that one, or choose another folder.`,
      );
    }
    await delay(POLL_MS);
  }
}
