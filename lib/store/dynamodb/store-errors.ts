import { SluiceError } from '../../errors.ts';

/** Parts of what the AWS SDK throws: service errors and those of its HTTP layer alike. */
interface SdkError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const THROTTLED = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'ThrottledException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'TooManyRequestsException',
]);

const REFUSED_ACCESS = new Set([
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredTokenException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'UnrecognizedClientException',
]);

export function isConditionFailure(error: unknown): boolean {
  return error instanceof Error && error.name === 'ConditionalCheckFailedException';
}

/**
 * A store error in the words of the port. The SDK has retried by then; whether a write was applied is not known from it.
 *
 * Names of errors: "Error handling with DynamoDB" in the DynamoDB developer guide.
 */
export function translateStoreError(error: unknown, tableName: string): SluiceError {
  if (error instanceof SluiceError) return error;
  const { name = '', code, message = '', $metadata } = (error ?? {}) as SdkError;
  const status = $metadata?.httpStatusCode;
  if (THROTTLED.has(name)) {
    return new SluiceError('throttled', `the state table ${tableName} throttles requests; try again`, {
      retryable: true,
      cause: error,
    });
  }
  if (name === 'ResourceNotFoundException') {
    return unavailable(
      error,
      `there is no state table ${tableName}`,
      'Deploy the stack, or check the configured table name.',
    );
  }
  if (REFUSED_ACCESS.has(name)) {
    return unavailable(
      error,
      `the state table ${tableName} refuses access (${name})`,
      'Check the credentials and the permissions on the table.',
    );
  }
  if (isTooLarge(name, message)) {
    return new SluiceError(
      'invalid_request',
      'an item would exceed the 400 KB that DynamoDB stores; use a shorter query, shorter names or fewer columns',
      { cause: error },
    );
  }
  if (status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429) {
    return new SluiceError('internal', `the state table ${tableName} refused a request (${name})`, { cause: error });
  }
  return unavailable(error, `the state table ${tableName} does not answer (${code ?? name}); try again`);
}

function isTooLarge(name: string, message: string): boolean {
  if (name === 'ItemCollectionSizeLimitExceededException') return true;
  return name === 'ValidationException' && /item size/i.test(message);
}

function unavailable(cause: unknown, message: string, hint?: string): SluiceError {
  return new SluiceError('store_unavailable', message, {
    retryable: true,
    cause,
    ...(hint === undefined ? {} : { details: { hint } }),
  });
}
