import { describe, expect, it } from 'vitest';
import { BODY_LIMIT_BYTES, readJsonBody } from '../../../lib/api/body.ts';
import { HttpError } from '../../../lib/api/http.ts';
import { describeError } from '../../../lib/telemetry/describe-error.ts';

const JSON_TYPE = 'application/json';

function refusal(body: Buffer, type: string | undefined = JSON_TYPE): HttpError {
  try {
    readJsonBody(body, type);
  } catch (error) {
    if (error instanceof HttpError) return error;
  }
  throw new Error('not refused');
}

describe('readJsonBody', () => {
  it('reads JSON in UTF-8, and takes no body for an empty object', () => {
    expect(readJsonBody(Buffer.from('{"sql":"π"}'), JSON_TYPE)).toEqual({ sql: 'π' });
    expect(readJsonBody(Buffer.alloc(0), undefined)).toEqual({});
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'application/merge-patch+json'])(
    'takes the media type %s',
    (type) => {
      expect(readJsonBody(Buffer.from('{}'), type)).toEqual({});
    },
  );

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'multipart/form-data'])(
    'refuses the media type %s with what to send',
    (type) => {
      const error =
        type === undefined
          ? catchOf(() => readJsonBody(Buffer.from('{}'), undefined))
          : refusal(Buffer.from('{}'), type);
      expect(error.status).toBe(415);
      expect(error.message).toContain('content-type: application/json');
    },
  );

  it('refuses a body over its limit before it is read, and takes one at the limit', () => {
    const atLimit = Buffer.from(JSON.stringify('x'.repeat(BODY_LIMIT_BYTES - 2)));
    expect(atLimit.length).toBe(BODY_LIMIT_BYTES);
    expect(readJsonBody(atLimit, JSON_TYPE)).toHaveLength(BODY_LIMIT_BYTES - 2);
    const error = refusal(Buffer.alloc(BODY_LIMIT_BYTES + 1, '['));
    expect(error.status).toBe(413);
    expect(error.message).toMatch(/split/);
  });

  it.each(['{', '{"a":1,}', "{'a':1}", '{"sql": "secret" oops', 'null x', '\uFEFF{}'])(
    'refuses %j, quoting nothing of it',
    (text) => {
      const error = refusal(Buffer.from(text));
      expect(error.status).toBe(400);
      expect(error.message).toMatch(/not JSON/);
      expect(JSON.stringify([error.message, describeError(error)])).not.toMatch(/secret|oops/);
    },
  );

  it('refuses bytes that are not UTF-8', () => {
    expect(refusal(Buffer.from([0x22, 0xff, 0x22])).message).toMatch(/UTF-8/);
    expect(refusal(Buffer.from([0x22, 0xff, 0x22])).status).toBe(400);
  });

  it('survives arrays nested as deep as a body can hold', () => {
    const depth = BODY_LIMIT_BYTES / 2;
    expect(Array.isArray(readJsonBody(Buffer.from('['.repeat(depth) + ']'.repeat(depth)), JSON_TYPE))).toBe(true);
    expect(refusal(Buffer.from('['.repeat(BODY_LIMIT_BYTES))).status).toBe(400);
  });
});

function catchOf(act: () => unknown): HttpError {
  try {
    act();
  } catch (error) {
    if (error instanceof HttpError) return error;
  }
  throw new Error('not refused');
}
