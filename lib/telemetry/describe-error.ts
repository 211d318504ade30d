import { SluiceError } from '../errors.ts';

const LONGEST_CHAIN = 5;

/** What a log line says of an error. Plain JSON. */
export interface ErrorDescription {
  readonly type: string;
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  readonly position?: number;
  readonly holder?: string;
  readonly fence?: string;
  readonly applied?: string;
  readonly stack?: readonly string[];
  readonly cause?: ErrorDescription;
}

/**
 * An error for the log. The message of a `SluiceError` holds no user data by contract. A database driver's message may
 * quote a value of a row (`Key (email)=(…) already exists`), so of such an error only its type and SQLSTATE are told, and
 * stacks are cut to their frames, since a stack begins with the message.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error };
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number')
      ? String(error.code)
      : undefined;
  const cause = error.cause === undefined || depth >= LONGEST_CHAIN ? undefined : describeError(error.cause, depth + 1);
  const described: ErrorDescription = {
    type: error.name,
    ...(code === undefined ? {} : { code }),
    ...(quotesData(error) ? {} : { message: error.message }),
    ...(error instanceof SluiceError ? knownDetails(error) : { stack: frames(error) }),
    ...(cause === undefined ? {} : { cause }),
  };
  return described;
}

function knownDetails(error: SluiceError): Partial<ErrorDescription> {
  const { position, holder, fence, applied } = error.details;
  return {
    retryable: error.retryable,
    ...(position === undefined ? {} : { position }),
    ...(holder === undefined ? {} : { holder }),
    ...(fence === undefined ? {} : { fence: String(fence) }),
    ...(applied === undefined ? {} : { applied: String(applied) }),
    ...(error.code === 'internal' ? { stack: frames(error) } : {}),
  };
}

/** PostgreSQL's error fields `severity` and `routine` are on every error that the server sent, and on no other. */
function quotesData(error: Error): boolean {
  return 'severity' in error && 'routine' in error;
}

function frames(error: Error): string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .map((line) => line.trim());
}
