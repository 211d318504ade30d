import { describe, expect, it } from 'vitest';
import { type HttpRequest, httpAnswer, httpApiEvent } from '../../../lib/local/http-event.ts';

function request(changes: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: 'GET',
    target: '/flows',
    headers: { host: '127.0.0.1:8123' },
    body: Buffer.alloc(0),
    sourceIp: '127.0.0.1',
    requestId: 'request-1',
    epochMs: Date.UTC(2020, 2, 12, 19, 3, 58, 390),
    ...changes,
  };
}

describe('HTTP API event of a request', () => {
  it('has the shape of payload format 2.0', () => {
    const body = Buffer.from('{"sql": "SHOW FLOWS"}');
    const headers = {
      host: '127.0.0.1:8123',
      'content-type': 'application/json',
      'user-agent': 'curl/8',
      cookie: 'a=1; b=2',
    };
    expect(httpApiEvent(request({ method: 'POST', target: '/sql', headers, body }))).toEqual({
      version: '2.0',
      routeKey: '$default',
      rawPath: '/sql',
      rawQueryString: '',
      cookies: ['a=1', 'b=2'],
      headers: { host: '127.0.0.1:8123', 'content-type': 'application/json', 'user-agent': 'curl/8' },
      requestContext: {
        accountId: '000000000000',
        apiId: 'local',
        domainName: '127.0.0.1:8123',
        domainPrefix: '127',
        http: { method: 'POST', path: '/sql', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: 'curl/8' },
        requestId: 'request-1',
        routeKey: '$default',
        stage: '$default',
        time: '12/Mar/2020:19:03:58 +0000',
        timeEpoch: 1_584_039_838_390,
      },
      body: '{"sql": "SHOW FLOWS"}',
      isBase64Encoded: false,
    });
  });

  it.each([
    ['/flows/My%20Flow/state', '/flows/My Flow/state'],
    ['/flows/a%2Fb', '/flows/a/b'],
    ['/flows/a%252Fb', '/flows/a%2Fb'],
    ['/flows/%D0%B8%D0%BC%D1%8F', '/flows/имя'],
    ['/flows/a%3Fb?x=1', '/flows/a?b'],
    ['/flows/a+b', '/flows/a+b'],
    ['/', '/'],
  ])('decodes the path %s once', (target, path) => {
    const event = httpApiEvent(request({ target }));
    expect(event?.rawPath).toBe(path);
    expect(event?.requestContext.http.path).toBe(path);
  });

  it.each(['/flows/%FF', '/flows/%', '/flows/%zz', 'http://elsewhere/flows', '*'])(
    'refuses the target %s',
    (target) => {
      expect(httpApiEvent(request({ target }))).toBeNull();
    },
  );

  it('keeps the query string encoded and gives its parameters decoded, repeated ones joined', () => {
    const event = httpApiEvent(request({ target: '/flows?limit=5&name=a%26b&name=c+d&empty=' }));
    expect(event?.rawQueryString).toBe('limit=5&name=a%26b&name=c+d&empty=');
    expect(event?.queryStringParameters).toEqual({ limit: '5', name: 'a&b,c d', empty: '' });
    expect(httpApiEvent(request())).not.toHaveProperty('queryStringParameters');
  });

  it.each([
    ['application/json', false],
    ['application/json; charset=utf-8', false],
    ['text/plain', false],
    ['application/problem+json', false],
    ['application/x-www-form-urlencoded', true],
    ['application/octet-stream', true],
    [undefined, true],
  ])('gives a body of type %s in base64: %s', (type, base64) => {
    const headers = { host: 'localhost', ...(type === undefined ? {} : { 'content-type': type }) };
    const event = httpApiEvent(request({ method: 'POST', headers, body: Buffer.from('{"ä":1}') }));
    expect(event?.isBase64Encoded).toBe(base64);
    expect(Buffer.from(event?.body ?? '', base64 ? 'base64' : 'utf8').toString()).toBe('{"ä":1}');
  });

  it('has no body where the request has none', () => {
    expect(httpApiEvent(request())).not.toHaveProperty('body');
  });
});

describe('HTTP answer of a result', () => {
  it('takes status, headers, cookies and body as they are', () => {
    const answer = httpAnswer({
      statusCode: 202,
      headers: { Allow: 'GET', 'X-N': 1 },
      cookies: ['a=1', 'b=2'],
      body: 'ä',
    });
    expect(answer).toEqual({
      status: 202,
      headers: { allow: 'GET', 'x-n': '1', 'set-cookie': ['a=1', 'b=2'] },
      body: Buffer.from('ä'),
    });
  });

  it('decodes a body in base64', () => {
    expect(httpAnswer({ statusCode: 200, isBase64Encoded: true, body: '/wA=' }).body).toEqual(Buffer.from([255, 0]));
  });

  it('makes a result without a status the body of a 200', () => {
    expect(httpAnswer('{"a":1}')).toMatchObject({ status: 200, body: Buffer.from('{"a":1}') });
    expect(httpAnswer({ headers: {} })).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  });
});
