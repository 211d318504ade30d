import { execFile } from 'node:child_process';
import { chmod, cp, lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { identity } from '../../lib/local/postgres-data.ts';
import {
  installedPackage,
  type PostgresFiles,
  type PostgresPackage,
  postgresFiles,
} from '../../lib/local/postgres-files.ts';
import { type ServerUser, serverUser } from '../../lib/local/server-user.ts';
import { startProgram } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PROGRAM = join(import.meta.dirname, '../support/postgres-program.ts');

describe("the server's files", () => {
  let folder: string;
  let temporary: string;
  let user: ServerUser | null;
  /** The package as npm leaves it where install scripts are blocked: no links; and not executable. */
  let bare: PostgresPackage;

  beforeEach(async () => {
    user = await serverUser(null);
    folder = await temporaryFolder();
    temporary = await temporaryFolder();
    await chmod(temporary, 0o755);
    vi.stubEnv('TMPDIR', temporary);
    const installed = await installedPackage();
    const native = join(folder, 'native');
    await cp(installed.native, native, {
      recursive: true,
      filter: async (path) => !(await lstat(path)).isSymbolicLink(),
    });
    for (const program of await readdir(join(native, 'bin'))) await chmod(join(native, 'bin', program), 0o644);
    bare = { ...installed, native };
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
  });

  async function versionOf({ postgres }: PostgresFiles): Promise<string> {
    return (await promisify(execFile)(postgres, ['--version'], { cwd: '/', ...identity(user) })).stdout;
  }

  it('cannot be run as they are, without links and permissions', async () => {
    await expect(promisify(execFile)(join(bare.native, 'bin/postgres'), ['--version'])).rejects.toThrow('EACCES');
  });

  it('are run from one whole copy, which two at once do not make each other spoil', async () => {
    const [one, ...others] = await Promise.all([1, 2, 3].map(() => postgresFiles(user, bare)));
    for (const other of others) expect(other).toEqual(one);
    expect(one!.postgres.startsWith(temporary)).toBe(true);
    expect(await versionOf(one!)).toContain('PostgreSQL) 18');
    expect(await readdir(temporary)).toHaveLength(1);
    const copied = await lstat(one!.postgres);
    expect(await postgresFiles(user, bare)).toEqual(one);
    expect((await lstat(one!.postgres)).ino).toBe(copied.ino);
  });

  it.each([
    ['a file is missing', (native: string) => rm(join(native, 'share/postgresql/postgres.bki'))],
    ['a link is missing', (native: string) => rm(join(native, bare.links[0]?.link ?? ''))],
    ['a program cannot be executed', (native: string) => chmod(join(native, 'bin/initdb'), 0o644)],
    ['others may write to it', (native: string) => chmod(native, 0o777)],
  ])('are copied anew where %s in the copy', async (_what, spoil) => {
    const first = await postgresFiles(user, bare);
    await spoil(dirname(dirname(first.postgres)));
    const second = await postgresFiles(user, bare);
    expect(second.postgres).not.toBe(first.postgres);
    expect(await versionOf(second)).toContain('PostgreSQL) 18');
    expect(await postgresFiles(user, bare)).toEqual(second);
  });

  it('serve two processes that start at the same time on a fresh machine', async () => {
    const programs = [1, 2].map(() => startProgram([PROGRAM], { env: { ...process.env, TMPDIR: temporary } }));
    onTestFinished(() => {
      for (const { child } of programs) child.kill('SIGKILL');
    });
    await Promise.all(programs.map((program) => program.saying('"url"')));
    expect(programs.map(({ stderr }) => stderr())).toEqual(['', '']);
  });
});
