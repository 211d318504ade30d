import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProjectCopy extends AsyncDisposable {
  readonly folder: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a tool of node_modules/.bin over the copy. */
  run(tool: string, ...args: string[]): Promise<Outcome>;
}

/**
 * The project's own configuration in a folder of its own, so that a control may put a bad file there: the real tree, which
 * others read at the same time, is never touched. `parts` are files and folders to copy along.
 */
export async function projectCopy(...parts: string[]): Promise<ProjectCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tooling-'));
  for (const part of parts) await cp(join(PROJECT, part), join(folder, part), { recursive: true });
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return {
    folder,
    async write(file, text) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    },
    run: (tool, ...args) => runTool(folder, tool, args),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Runs a tool of the project's node_modules/.bin, found and started as an npm script would find and start it. */
export function runTool(folder: string, tool: string, args: readonly string[]): Promise<Outcome> {
  const bin = join(PROJECT, 'node_modules', '.bin');
  return runProgram(folder, join(bin, tool), args, { PATH: [bin, process.env.PATH].join(delimiter) });
}

export function runProgram(
  folder: string,
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Outcome> {
  const env = { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined, ...environment };
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
