import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HttpError, type Method } from '../../../lib/api/http.ts';
import { type Route, route } from '../../../lib/api/route.ts';
import { allowedMethods, findRoute } from '../../../lib/api/router.ts';

function row(method: Method, path: string): Route {
  return route({
    method,
    path,
    operationId: `${method} ${path}`,
    summary: '',
    query: z.strictObject({}),
    body: null,
    responses: {},
    run: () => Promise.resolve({ status: 200, body: null }),
  });
}

const TABLE = [
  row('GET', '/flows'),
  row('GET', '/flows/{name}'),
  row('PUT', '/flows/{name}'),
  row('POST', '/flows/{name}/flush'),
  row('GET', '/flows/{name}/state'),
];

function found(method: string, path: string): [string, string] {
  const { route: match, name } = findRoute(TABLE, method, path);
  return [match.operationId, name];
}

function refusal(method: string, path: string): HttpError {
  try {
    findRoute(TABLE, method, path);
  } catch (error) {
    if (error instanceof HttpError) return error;
  }
  throw new Error('not refused');
}

describe('findRoute', () => {
  it('finds each route by method and path', () => {
    expect(found('GET', '/flows')).toEqual(['GET /flows', '']);
    expect(found('GET', '/flows/a')).toEqual(['GET /flows/{name}', 'a']);
    expect(found('PUT', '/flows/a')).toEqual(['PUT /flows/{name}', 'a']);
    expect(found('POST', '/flows/a/flush')).toEqual(['POST /flows/{name}/flush', 'a']);
  });

  it.each(['a/b', '/', '..', 'a b', '%', 'a%2Fb', '?', '#', 'flush', 'state', 'state/state', '\n', '"', '名'])(
    'takes %j for a name, undecoded a second time',
    (name) => {
      expect(found('POST', `/flows/${name}/flush`)).toEqual(['POST /flows/{name}/flush', name]);
    },
  );

  it('prefers the most literal path, whatever the method', () => {
    expect(found('GET', '/flows/a/state')).toEqual(['GET /flows/{name}/state', 'a']);
    expect(found('GET', '/flows/a/state/state')).toEqual(['GET /flows/{name}/state', 'a/state']);
    // Not the definition of a flow named "a/flush", nor its creation.
    expect(refusal('GET', '/flows/a/flush').status).toBe(405);
    expect(refusal('PUT', '/flows/a/flush').status).toBe(405);
  });

  it('answers HEAD where there is GET', () => {
    expect(found('HEAD', '/flows/a')).toEqual(['GET /flows/{name}', 'a']);
    expect(refusal('HEAD', '/flows/a/flush').status).toBe(405);
  });

  it('says at 405 which methods the path takes', () => {
    const { message, headers } = refusal('DELETE', '/flows/a');
    expect(headers.allow).toBe('GET, HEAD, OPTIONS, PUT');
    expect(message).toContain('GET, HEAD, OPTIONS, PUT');
  });

  it.each(['/', '', '/flow', '/flows/', '/flows//flush', '/Flows', '/flows/a/flush/', '/flowsx'])(
    'says at 404 which paths there are, for %j',
    (path) => {
      if (path === '/flows//flush' || path === '/flows/a/flush/') {
        // With any character allowed in a name, these name flows.
        expect(found('GET', path)[0]).toBe('GET /flows/{name}');
        return;
      }
      const { status, message } = refusal('GET', path);
      expect(status).toBe(404);
      expect(message).toContain('/flows/{name}/state');
    },
  );

  it('cuts a path of any length in its message', () => {
    expect(refusal('GET', `/${'x'.repeat(100_000)}`).message.length).toBeLessThan(1000);
  });
});

describe('allowedMethods', () => {
  it('lists the methods of a path, and nothing for a path that is not there', () => {
    expect(allowedMethods(TABLE, '/flows/a')).toBe('GET, HEAD, OPTIONS, PUT');
    expect(allowedMethods(TABLE, '/flows/a/flush')).toBe('OPTIONS, POST');
    expect(allowedMethods(TABLE, '/nowhere')).toBeNull();
  });
});
