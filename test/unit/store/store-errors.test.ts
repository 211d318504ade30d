import { describe, expect, it } from 'vitest';
import { SluiceError } from '../../../lib/errors.ts';
import { isConditionFailure, translateStoreError } from '../../../lib/store/dynamodb/store-errors.ts';

function sdkError(name: string, extra: object = {}): Error {
  return Object.assign(new Error('The SDK says so.'), { name, ...extra });
}

const status = (httpStatusCode: number) => ({ $metadata: { httpStatusCode } });

describe('errors of the AWS SDK', () => {
  it.each([
    'ProvisionedThroughputExceededException',
    'ThrottlingException',
    'RequestLimitExceeded',
    'TooManyRequestsException',
  ])('%s is throttled, retryable', (name) => {
    expect(translateStoreError(sdkError(name, status(400)), 'state')).toMatchObject({
      code: 'throttled',
      retryable: true,
    });
  });

  it.each([
    ['InternalServerError', status(500)],
    ['ServiceUnavailable', status(503)],
    ['TimeoutError', {}],
    ['Error', { code: 'ECONNRESET' }],
    ['Error', { code: 'ECONNREFUSED' }],
    ['AggregateError', { code: 'ETIMEDOUT' }],
    ['RequestTimeout', status(408)],
    ['AbortError', {}],
  ])('%s %j is store_unavailable, retryable', (name, extra) => {
    const cause = sdkError(name, extra);
    const translated = translateStoreError(cause, 'state');
    expect(translated).toMatchObject({ code: 'store_unavailable', retryable: true });
    expect(translated.cause).toBe(cause);
  });

  it('a missing table or refused access says what to check', () => {
    for (const [name, hint] of [
      ['ResourceNotFoundException', /table name/],
      ['AccessDeniedException', /permissions/],
      ['UnrecognizedClientException', /credentials/],
      ['CredentialsProviderError', /credentials/],
    ] as const) {
      const translated = translateStoreError(sdkError(name, status(400)), 'state');
      expect(translated).toMatchObject({ code: 'store_unavailable', retryable: true });
      expect(translated.details.hint).toMatch(hint);
    }
  });

  it('an item over 400 KB is invalid_request with the bound', () => {
    for (const message of [
      'Item size has exceeded the maximum allowed size',
      'Item size to update has exceeded the maximum allowed size',
    ]) {
      const translated = translateStoreError(sdkError('ValidationException', { ...status(400), message }), 'state');
      expect(translated).toMatchObject({ code: 'invalid_request', retryable: false });
      expect(translated.message).toContain('400 KB');
    }
    expect(translateStoreError(sdkError('ItemCollectionSizeLimitExceededException'), 'state').code).toBe(
      'invalid_request',
    );
  });

  it('any other refusal is a fault of this program, not to be retried', () => {
    const translated = translateStoreError(sdkError('ValidationException', status(400)), 'state');
    expect(translated).toMatchObject({ code: 'internal', retryable: false });
  });

  it('what is translated already, and what is no error at all', () => {
    const error = new SluiceError('conflict', 'moved');
    expect(translateStoreError(error, 'state')).toBe(error);
    expect(translateStoreError(undefined, 'state').code).toBe('store_unavailable');
  });

  it("never repeats the SDK's own message, which may hold an item", () => {
    for (const name of ['ValidationException', 'AccessDeniedException', 'TimeoutError', 'ThrottlingException']) {
      expect(translateStoreError(sdkError(name, status(400)), 'state').message).not.toContain('The SDK says so');
    }
  });

  it('a failed condition is told from every other error', () => {
    expect(isConditionFailure(sdkError('ConditionalCheckFailedException'))).toBe(true);
    expect(isConditionFailure(sdkError('ValidationException'))).toBe(false);
    expect(isConditionFailure('ConditionalCheckFailedException')).toBe(false);
  });
});
