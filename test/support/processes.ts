import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** A Node.js program under test, with what it has said so far. */
export interface Program {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Settles with the exit status, or the name of the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Settles once standard output holds `text`; rejects if the program ends before that. */
  saying(text: string | RegExp): Promise<void>;
}

/** Starts `node` with `argv`, in a process group of its own, so that a signal to the group is what Ctrl-C is. */
export function startProgram(
  argv: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Program {
  return watch(spawn(process.execPath, argv, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }));
}

export function watch(child: ChildProcess): Program {
  let out = '';
  let err = '';
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    changed();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 0));
  });
  return {
    child,
    stdout: () => out,
    stderr: () => err,
    ended,
    saying(text) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (typeof text === 'string' ? out.includes(text) : text.test(out)) done(resolve);
        };
        const done = (settle: () => void): void => {
          listeners.delete(look);
          settle();
        };
        listeners.add(look);
        ended.then(
          (how) => done(() => reject(new Error(`ended with ${how} before it said ${text}:\n${out}\n${err}`))),
          reject,
        );
        look();
      });
    },
  };
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Looks again and again, for what gives no event to wait for. Rejects after `ms`. */
export async function eventually<T>(
  look: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  ms = 20_000,
): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) return found;
    if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    await delay(20);
  }
}
