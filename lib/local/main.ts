import { destination } from 'pino';
import { SluiceError } from '../errors.ts';
import { createLogger } from '../telemetry/logger.ts';
import { DEFAULT_DATABASE_PORT, DEFAULT_PORT, HELP, type LocalOptions, parseArguments } from './arguments.ts';
import { checkSinks, prepareDemonstration, sampleSinks } from './demonstration.ts';
import { demonstrationGuidance, emptyGuidance } from './guidance.ts';
import { removeReadyFile, writeReadyFile } from './ready-file.ts';
import { type Stack, startStack } from './stack.ts';

const WRONG_FLAGS = 2;
const INTERRUPTED = 130;
const PARENT_POLL_MS = 500;
/** The terminal gives Ctrl-C to npm and to Sluice, and npm hands it on to Sluice. */
const SAME_INTERRUPT_MS = 300;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  let options: LocalOptions | null;
  try {
    options = parseArguments(argv);
  } catch (error) {
    complain(error);
    return WRONG_FLAGS;
  }
  if (options === null) {
    process.stdout.write(HELP);
    return 0;
  }
  return run(options, untilInterrupted());
}

/**
 * Aborts at the first Ctrl-C, when the terminal or a service manager asks for the end, and when npm is gone without a
 * word. The second Ctrl-C ends at once.
 */
function untilInterrupted(): AbortSignal {
  const interrupted = new AbortController();
  let since = Number.POSITIVE_INFINITY;
  const interrupt = (): void => {
    if (interrupted.signal.aborted) {
      // The database server notices that this process is gone, and ends too.
      if (performance.now() - since > SAME_INTERRUPT_MS) process.exit(INTERRUPTED);
      return;
    }
    since = performance.now();
    say('\nStopping. Once more to stop at once.');
    interrupted.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  // Whoever read the output is gone, as in `npm start | head`.
  process.stdout.once('error', interrupt).on('error', () => undefined);
  if (process.env.npm_lifecycle_event !== undefined) {
    const npm = process.ppid;
    setInterval(() => {
      if (process.ppid !== npm && !interrupted.signal.aborted) interrupt();
    }, PARENT_POLL_MS).unref();
  }
  return interrupted.signal;
}

async function run(options: LocalOptions, signal: AbortSignal): Promise<number> {
  let stack: Stack | null = null;
  try {
    if (options.readyFile !== null) await removeReadyFile(options.readyFile);
    stack = await startStack({
      dataDir: options.dataDir,
      port: options.port === null ? { from: DEFAULT_PORT } : { exact: options.port },
      databasePort: options.databasePort === null ? { from: DEFAULT_DATABASE_PORT } : { exact: options.databasePort },
      tickSeconds: options.tickSeconds,
      log: createLogger({ level: 'warn', to: destination({ fd: 2, sync: true }) }),
    });
    const ended = stack.databaseEnded.then((said) => {
      throw new SluiceError('frontend_unavailable', `The embedded PostgreSQL server ended by itself: ${said}`);
    });
    return await Promise.race([use(stack, options, signal), ended]);
  } catch (error) {
    if (!signal.aborted) {
      complain(error);
      return 1;
    }
    return options.once ? INTERRUPTED : 0;
  } finally {
    if (options.readyFile !== null) await removeReadyFile(options.readyFile);
    await stack?.stop();
  }
}

async function use(stack: Stack, options: LocalOptions, signal: AbortSignal): Promise<number> {
  const { api, database } = stack;
  signal.throwIfAborted();
  if (!options.empty) {
    await prepareDemonstration({ api, database, signal, output: process.stdout });
    say(`\n${await sampleSinks(database)}\n`);
  }
  if (options.readyFile !== null) await writeReadyFile(options.readyFile, { api, database });
  if (options.once) return options.empty ? 0 : check(database);

  say(`Ready after ${seconds()}.\n`);
  const guidance = options.empty ? emptyGuidance : demonstrationGuidance;
  say(guidance({ api, database, tickSeconds: options.tickSeconds }));
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  return 0;
}

async function check(database: string): Promise<number> {
  const { equal, report } = await checkSinks(database);
  say(`${report}\n\nDone in ${seconds()}.`);
  return equal ? 0 : 1;
}

/** Since the process was started. */
function seconds(): string {
  return `${(performance.now() / 1000).toFixed(1)} s`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(error: unknown): void {
  const text = error instanceof SluiceError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`sluice: ${text}\n`);
}
