import { EventBridgeServiceException } from '@aws-sdk/client-eventbridge';
import { SluiceError } from '../errors.ts';

/** The same call may succeed later. Everything else needs a person: a permission, a quota, a wrong name. */
const PASSING = new Set([
  'ConcurrentModificationException',
  'InternalException',
  'InternalFailure',
  'ServiceUnavailable',
  'ThrottlingException',
  'Throttling',
  'TooManyRequestsException',
]);

const ADVICE: Readonly<Record<string, string>> = {
  LimitExceededException: "raise the account's EventBridge rule quota, or drop flows",
  ResourceNotFoundException: 'somebody removed it; replace the flow to have it put again',
};

export function isMissing(error: unknown): boolean {
  return error instanceof Error && error.name === 'ResourceNotFoundException';
}

/** `attempted`: what was tried, as the end of "could not …". */
export function translate(error: unknown, attempted: string): SluiceError {
  if (error instanceof SluiceError) return error;
  const name = error instanceof Error ? error.name : 'unknown error';
  const message = error instanceof Error ? error.message : String(error);
  const retryable = isPassing(error, name);
  const advice = retryable
    ? 'try again'
    : (ADVICE[name] ?? 'check the permissions and names that this deployment was given');
  return new SluiceError('schedule_unavailable', `EventBridge could not ${attempted}: ${name}: ${message}; ${advice}`, {
    retryable,
    cause: error,
  });
}

function isPassing(error: unknown, name: string): boolean {
  if (PASSING.has(name)) return true;
  if (error instanceof EventBridgeServiceException) {
    const status = error.$metadata.httpStatusCode ?? 0;
    return status >= 500 || status === 429 || error.$retryable !== undefined;
  }
  // No answer at all (refused, reset, timed out), or a refused entry whose name says nothing about a retry.
  return error instanceof Error && ('code' in error || name === 'TimeoutError' || '$metadata' in error);
}
