import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../lib/api/openapi.ts';
import { ROUTES } from '../../../lib/api/routes.ts';
import { OpenApiChecker } from '../../support/openapi-checker.ts';

const document = () => JSON.parse(JSON.stringify(openApiDocument(ROUTES)));

describe('openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator();
    expect(await validator.validate(document())).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('would not be valid with a parameter that is nowhere: the validator looks', async () => {
    const broken = document();
    broken.paths['/flows/{name}'].get.parameters = [{ in: 'nowhere' }];
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it('has one operation for each route, each under a name of its own', () => {
    const operations = Object.entries(document().paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, { operationId: string }>).map(([method, { operationId }]) => ({
        path,
        method,
        operationId,
      })),
    );
    expect(operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(
      [
        'POST /sql',
        'GET /flows',
        'GET /flows/{name}',
        'PUT /flows/{name}',
        'PATCH /flows/{name}',
        'DELETE /flows/{name}',
        'POST /flows/{name}/flush',
        'POST /flows/{name}/pause',
        'POST /flows/{name}/resume',
        'POST /flows/{name}/dirty-windows',
        'POST /flows/{name}/refresh',
        'POST /tables/{table}/dirty-windows',
        'GET /flows/{name}/state',
        'GET /flows/{name}/runs',
        'GET /openapi.json',
      ].sort(),
    );
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  });

  it('says of both ways to mark that marks follow the commit of their rows', () => {
    for (const path of ['/flows/{name}/dirty-windows', '/tables/{table}/dirty-windows']) {
      expect(document().paths[path].post.description).toMatch(/after the rows are committed/);
    }
  });

  it('declares the parameter of each path, and the query parameters that are read', () => {
    const parameters = (path: string, method: string) =>
      document().paths[path][method].parameters.map(
        ({ in: where, name }: { in: string; name: string }) => `${where} ${name}`,
      );
    expect(parameters('/tables/{table}/dirty-windows', 'post')).toEqual([
      'path table',
      'query dryRun',
      'query connection',
    ]);
    expect(parameters('/flows/{name}/runs', 'get')).toEqual(['path name', 'query limit', 'query cursor']);
    expect(parameters('/flows/{name}', 'delete')).toEqual(['path name', 'query dryRun', 'query sink']);
    expect(parameters('/flows', 'get')).toEqual(['query limit', 'query cursor']);
  });

  it('refuses in its schemas what the API refuses: unknown fields and wrong types', () => {
    const checker = new OpenApiChecker();
    const problem = (body: unknown) => checker.requestProblemOf('/flows/{name}/dirty-windows', 'POST', body);
    expect(problem({ timestamps: ['2024-01-01T00:00:00Z'], ranges: [['a', 'b']] })).toBeNull();
    expect(problem({ timestamps: [1] })).toMatch(/must be string/);
    expect(problem({ ranges: [['a']] })).toMatch(/2 items/);
    expect(problem({ times: [] })).toMatch(/additional properties/);
    expect(checker.requestProblemOf('/sql', 'POST', {})).toMatch(/sql/);
    expect(
      checker.requestProblemOf('/flows/{name}', 'PUT', {
        sink: 'a.b',
        query: 'SELECT 1',
        options: { order: 'oldest' },
      }),
    ).toBeNull();
    expect(checker.requestProblemOf('/flows/{name}', 'PUT', { sink: 7, query: 'SELECT 1' })).toMatch(/sink/);
  });

  it('describes failures with the schema of errors', () => {
    const checker = new OpenApiChecker();
    const error = { error: { code: 'conflict', message: 'm', retryable: false, request_id: 'r' } };
    for (const status of [400, 404, 405, 409, 413, 415, 422, 500, 503]) {
      expect(checker.problemOf('/sql', 'POST', status, error)).toBeNull();
      expect(checker.problemOf('/sql', 'POST', status, { message: 'm' })).not.toBeNull();
    }
  });
});
