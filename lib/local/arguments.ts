import { parseArgs } from 'node:util';
import { SluiceError } from '../errors.ts';

export interface LocalOptions {
  /** Run to a quiet state, check the sinks, and end. */
  readonly once: boolean;
  /** Keeps the state between runs; null: all of it vanishes at the end. */
  readonly dataDir: string | null;
  /** Neither demonstration data nor flows. */
  readonly empty: boolean;
  /** null: the default if free, else the next free one. */
  readonly port: number | null;
  readonly databasePort: number | null;
  readonly tickSeconds: number;
  readonly readyFile: string | null;
}

export const DEFAULT_PORT = 8123;
export const DEFAULT_DATABASE_PORT = 5433;
const DEFAULT_TICK_SECONDS = 5;
const LONGEST_TICK_SECONDS = 86_400;

export const HELP = `Usage: npm start -- [flags]

Starts Sluice on this machine: a PostgreSQL server, a DynamoDB stand-in, a clock in place of EventBridge, and
the API. Loads 3 million flights, creates two flows over them, and keeps running until Ctrl-C.

  --once                 run until every flow is up to date, check the sinks against their queries, print them, end
  --empty                start without demonstration data and flows
  --data DIR             keep databases and state in DIR between runs (default: a temporary folder, removed at the end)
  --port N               port of the API (default: ${DEFAULT_PORT}, or the next free one)
  --database-port N      port of PostgreSQL (default: ${DEFAULT_DATABASE_PORT}, or the next free one)
  --tick SECONDS         time between two ticks of a flow (default: ${DEFAULT_TICK_SECONDS})
  --ready-file FILE      once all is up, write {"api": URL, "database": URL} to FILE; it is removed at the end
  --help                 print this

Both servers listen on 127.0.0.1 only. Exit status: 0; 1 after a failure; 2 for wrong flags.
`;

/** null: help was asked for. Throws `invalid_option` with a message for the person at the terminal. */
export function parseArguments(argv: readonly string[]): LocalOptions | null {
  const given = parseFlags(argv);
  if (given.help === true) return null;
  return {
    once: given.once ?? false,
    dataDir: text('--data', given.data, 'a folder'),
    empty: given.empty ?? false,
    port: port('--port', given.port),
    databasePort: port('--database-port', given['database-port']),
    tickSeconds: tickSeconds(given.tick),
    readyFile: text('--ready-file', given['ready-file'], 'a file'),
  };
}

function parseFlags(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: false,
      options: {
        once: { type: 'boolean' },
        data: { type: 'string' },
        empty: { type: 'boolean' },
        port: { type: 'string' },
        'database-port': { type: 'string' },
        tick: { type: 'string' },
        'ready-file': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw wrongFlag(error);
  }
}

/** Node's message, without its advice on positional arguments, which there are none of. */
function wrongFlag(error: unknown): SluiceError {
  const message = error instanceof Error ? error.message.split(/\.\s|\n/, 1)[0] : String(error);
  return new SluiceError('invalid_option', `${message?.replace(/\.$/, '')}. --help lists the flags.`);
}

function text(flag: string, value: string | undefined, what: string): string | null {
  if (value === undefined) return null;
  if (value.trim() !== '') return value;
  throw new SluiceError('invalid_option', `${flag} is empty; give ${what}.`);
}

function port(flag: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= 1 && number <= 65_535) return number;
  throw new SluiceError('invalid_option', `${flag} is ${JSON.stringify(value)}; give a port from 1 to 65535.`);
}

function tickSeconds(value: string | undefined): number {
  if (value === undefined) return DEFAULT_TICK_SECONDS;
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (number > 0 && number <= LONGEST_TICK_SECONDS) return number;
  throw new SluiceError(
    'invalid_option',
    `--tick is ${JSON.stringify(value)}; give seconds above 0 and up to ${LONGEST_TICK_SECONDS}.`,
  );
}
