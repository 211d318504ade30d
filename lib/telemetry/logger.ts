import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { describeError } from './describe-error.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Properties that never reach a log line, wherever they are met on the first two levels. */
const SECRET_PROPERTIES = ['connectionString', 'password', 'authorization', 'secret', 'token'];

/**
 * One JSON object a line. The default destination writes synchronously: Lambda freezes the process as soon as the
 * handler has answered, and a buffered line would be lost or appear under a later invocation.
 */
export function createLogger(options: { level?: LogLevel; to?: DestinationStream; name?: string } = {}): Logger {
  return pino(
    {
      level: options.level ?? 'info',
      base: options.name === undefined ? null : { name: options.name },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: SECRET_PROPERTIES.flatMap((property) => [property, `*.${property}`]), censor: '[redacted]' },
    },
    options.to ?? destination({ fd: 1, sync: true }),
  );
}
