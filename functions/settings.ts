import type { ClientConfig } from 'pg';
import { SluiceError } from '../lib/errors.ts';
import { LOG_LEVELS, type LogLevel } from '../lib/telemetry/logger.ts';

/** What a deployed function is told by its environment. */
export interface Settings {
  readonly tableName: string;
  /** Per name of a connection, what the PostgreSQL client takes. */
  readonly connections: Readonly<Record<string, string | ClientConfig>>;
  /** Keeps deployments apart that share a database. */
  readonly namespace: string;
  readonly eventBusName: string;
  readonly rulePrefix: string;
  readonly tickFunctionArn: string | null;
  readonly logLevel: LogLevel;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `invalid_option` that names the variable. Values are not repeated: a connection holds a password. */
export function readSettings(env: Environment): Settings {
  const tableName = required(env, 'SLUICE_TABLE', 'the name of the state table');
  return {
    tableName,
    connections: readConnections(required(env, 'SLUICE_CONNECTIONS', 'a JSON object of connections')),
    namespace: env.SLUICE_NAMESPACE || tableName,
    eventBusName: env.SLUICE_EVENT_BUS || 'default',
    rulePrefix: env.SLUICE_RULE_PREFIX || 'sluice-',
    tickFunctionArn: env.SLUICE_TICK_FUNCTION_ARN || null,
    logLevel: readLogLevel(env.SLUICE_LOG_LEVEL || 'info'),
  };
}

function required(env: Environment, name: string, what: string): string {
  const value = env[name];
  if (value !== undefined && value.trim() !== '') return value;
  throw new SluiceError('invalid_option', `the environment variable ${name} is not set; it must hold ${what}`);
}

function readConnections(text: string): Settings['connections'] {
  const connections = parse(text);
  const names = Object.keys(connections);
  const wrong = names.find((name) => {
    const value = connections[name];
    return typeof value !== 'string' && (typeof value !== 'object' || value === null || Array.isArray(value));
  });
  if (names.length > 0 && wrong === undefined) return connections as Settings['connections'];
  throw notConnections(names.length === 0 ? 'it is empty' : `the value of ${JSON.stringify(wrong)} is of another type`);
}

function parse(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and so perhaps a password: it is not kept as the cause.
    value = null;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw notConnections('it is no JSON object');
}

function notConnections(problem: string): SluiceError {
  return new SluiceError(
    'invalid_option',
    `the environment variable SLUICE_CONNECTIONS cannot be used: ${problem}; expected {"default": "postgres://…"}, each value a URL or an object of connection parameters`,
  );
}

function readLogLevel(level: string): LogLevel {
  const known = LOG_LEVELS.find((each) => each === level);
  if (known !== undefined) return known;
  throw new SluiceError(
    'invalid_option',
    `the environment variable SLUICE_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`,
  );
}
