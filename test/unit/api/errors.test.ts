import { describe, expect, it } from 'vitest';
import { errorResponse, statusOf } from '../../../lib/api/errors.ts';
import { HttpError } from '../../../lib/api/http.ts';
import { type ErrorCode, SluiceError } from '../../../lib/errors.ts';

const body = (error: unknown) => JSON.parse(errorResponse(error, 'r1').body).error;

describe('errorResponse', () => {
  it.each<[ErrorCode, number]>([
    ['invalid_request', 400],
    ['invalid_statement', 400],
    ['flow_not_found', 404],
    ['table_not_found', 404],
    ['conflict', 409],
    ['flow_exists', 409],
    ['sink_taken', 409],
    ['invalid_query', 422],
    ['invalid_option', 422],
    ['sink_mismatch', 422],
    ['unsupported_server', 422],
    ['throttled', 503],
    ['store_unavailable', 503],
    ['frontend_unavailable', 503],
    ['internal', 500],
  ])('answers %s with %i', (code, status) => {
    expect(statusOf(new SluiceError(code, 'm'))).toBe(status);
  });

  it('gives code, message, retryability, details and the request id', () => {
    const error = new SluiceError('invalid_query', 'column x does not exist', {
      details: { position: 17, holder: 'w', problems: ['a', 'b'], hint: 'try y' },
    });
    expect(body(error)).toEqual({
      code: 'invalid_query',
      message: 'column x does not exist',
      retryable: false,
      position: 17,
      holder: 'w',
      problems: ['a', 'b'],
      hint: 'try y',
      request_id: 'r1',
    });
  });

  it('says when to come back after a passing fault, and only then', () => {
    expect(errorResponse(new SluiceError('throttled', 'm', { retryable: true }), 'r').headers['retry-after']).toBe('2');
    expect(errorResponse(new SluiceError('conflict', 'm'), 'r').headers['retry-after']).toBeUndefined();
  });

  it.each([
    new TypeError('password=hunter2 at db.internal'),
    'hunter2',
    new SluiceError('internal', 'hunter2', { cause: new Error('hunter2') }),
  ])('tells nothing of the inside of an unexpected error', (error) => {
    const { status, body: text } = errorResponse(error, 'r1');
    expect(status).toBe(500);
    expect(text).not.toContain('hunter2');
    expect(JSON.parse(text).error.request_id).toBe('r1');
  });

  it('never gives the cause of an error that it does tell', () => {
    const error = new SluiceError('frontend_unavailable', 'no answer', {
      cause: new Error('hunter2'),
      retryable: true,
    });
    expect(errorResponse(error, 'r').body).not.toContain('hunter2');
  });

  it('keeps status and headers of a refusal by HTTP', () => {
    const response = errorResponse(new HttpError(405, 'no', { headers: { allow: 'GET' } }), 'r');
    expect(response).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  });
});
