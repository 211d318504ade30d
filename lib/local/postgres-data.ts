import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { SluiceError } from '../errors.ts';
import type { PostgresFiles } from './postgres-files.ts';
import { canTraverse, type ServerUser } from './server-user.ts';

/** The superuser of the embedded server. */
/** Not `sluice`: a role's own name is the first schema of its search path, and `sluice` is the schema of the applied records. */
export const DATABASE_USER = 'postgres';

/** A folder that holds a database cluster (`cluster/`) and the superuser's password (`password`, readable by its owner only). */
export interface PostgresData {
  readonly folder: string;
  readonly cluster: string;
  readonly password: string;
  /** True when the folder is to vanish with the server. */
  readonly temporary: boolean;
}

export function clusterFolder(folder: string): string {
  return join(resolve(folder), 'cluster');
}

/**
 * Opens the folder, or makes it: with a random password, and with a cluster that is put in place only once it is complete, so
 * that a crash leaves no half-made one.
 */
export async function openPostgresData(
  folder: string | null,
  files: PostgresFiles,
  user: ServerUser | null,
): Promise<PostgresData> {
  const path = folder === null ? await temporaryFolder(user) : resolve(folder);
  try {
    if (folder !== null) {
      await mkdir(path, { recursive: true, mode: 0o700 });
      await give(path, user);
    }
    const password = await openPassword(join(path, 'password'), user);
    const cluster = clusterFolder(path);
    if (!(await isCluster(cluster))) await createCluster(cluster, path, files, user, folder === null);
    return { folder: path, cluster, password, temporary: folder === null };
  } catch (error) {
    if (folder === null) await rm(path, { recursive: true, force: true });
    throw error;
  }
}

async function temporaryFolder(user: ServerUser | null): Promise<string> {
  for (const base of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    if (user !== null && !(await canTraverse(base, user))) continue;
    const path = await mkdtemp(join(base, 'sluice-database-'));
    await give(path, user);
    return path;
  }
  throw new SluiceError(
    'invalid_request',
    'No temporary folder can be entered by the database server. Set TMPDIR to one that every user may enter.',
  );
}

async function give(path: string, user: ServerUser | null): Promise<void> {
  if (user !== null) await chown(path, user.uid, user.gid);
}

async function openPassword(path: string, user: ServerUser | null): Promise<string> {
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (known.trim() !== '') return known.trim();
  const password = randomBytes(24).toString('hex');
  // Renamed into place: a crash must not leave an empty password file beside a cluster.
  const fresh = `${path}.${randomBytes(8).toString('hex')}`;
  await writeFile(fresh, `${password}\n`, { mode: 0o600, flag: 'wx' });
  await chmod(fresh, 0o600);
  await give(fresh, user);
  await rename(fresh, path);
  return password;
}

function isCluster(cluster: string): Promise<boolean> {
  return stat(join(cluster, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
}

async function createCluster(
  cluster: string,
  folder: string,
  files: PostgresFiles,
  user: ServerUser | null,
  temporary: boolean,
): Promise<void> {
  const fresh = `${cluster}.${randomBytes(8).toString('hex')}`;
  await mkdir(fresh, { mode: 0o700 });
  await give(fresh, user);
  const { path, cwd } = reachable(fresh, user);
  const options = [
    ...['-D', path, '-U', DATABASE_USER, '--encoding=UTF8', '--locale=C', '--auth=scram-sha-256'],
    ...[`--pwfile=${path}/../password`, '--no-instructions', ...(temporary ? ['--no-sync'] : [])],
  ];
  try {
    await promisify(execFile)(files.initdb, options, { cwd, env: serverEnvironment(), ...identity(user) });
    await rename(fresh, cluster);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    throw notCreated(folder, cause);
  }
}

/**
 * How a process of `user` names a folder that it owns but may not be able to get to, such as one below root's home: it is
 * started there, and reaches it as its own working directory. That takes Linux; elsewhere the way must be open.
 */
export function reachable(folder: string, user: ServerUser | null): { readonly path: string; readonly cwd: string } {
  return user !== null && process.platform === 'linux'
    ? { path: '/proc/self/cwd', cwd: folder }
    : { path: folder, cwd: '/' };
}

/** For a child process. */
export function identity(user: ServerUser | null): { readonly uid?: number; readonly gid?: number } {
  return user === null ? {} : { uid: user.uid, gid: user.gid };
}

function notCreated(folder: string, cause: unknown): SluiceError {
  const said = (cause as { stderr?: string }).stderr?.trim().split('\n').slice(-3).join(' ') ?? '';
  return new SluiceError(
    'frontend_unavailable',
    `The database could not be created in ${folder}: ${said || String(cause)}`,
    { cause },
  );
}

/** Without the PG… variables and the locale of the person who starts Sluice. The zone becomes the server's TimeZone. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}
