import { z } from 'zod';
import { BODY_LIMIT_BYTES } from './body.ts';
import { answers, errorAnswer } from './response-schemas.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;

/** Statuses that any route may answer with, beside its own. */
const COMMON_FAILURES: Readonly<Record<number, string>> = {
  400: 'The request is not understood; nothing was changed.',
  404: 'There is no such thing.',
  405: 'The path does not take this method; the header Allow names those it takes.',
  409: 'Something else stands in the way; it is named.',
  413: `The body has more than ${BODY_LIMIT_BYTES} bytes.`,
  415: 'The body is not JSON.',
  422: 'The request is understood and cannot be done: the query cannot be a flow, or the sink does not fit.',
  500: 'Something went wrong inside of Sluice.',
  503: 'A passing fault. The same request may succeed after the seconds that the header Retry-After gives.',
};

/** The OpenAPI 3.1 document of a route table; its schemas are those that requests and answers are checked by. */
export function openApiDocument(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version: '1',
      description:
        'Flows keep rollup tables up to date. Instants are RFC 3339 with microseconds, 64-bit numbers are strings, and fields that are ' +
        'not known are refused. A name in a path is percent-encoded once. A name may hold any character; but where it ends like ' +
        'a longer path (`/state`), the longer path is meant, and an API Gateway HTTP API cuts a name at a question mark: reach ' +
        'such a flow by POST /sql.',
    },
    servers: [{ url: '/' }],
    security: [{}, { sigv4: [] }],
    paths,
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        sigv4: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description:
            'AWS Signature Version 4 for the service execute-api. The embedded server on a laptop takes none.',
        },
      },
    },
  };
}

function operation(route: Route): Json {
  const name = /\{(\w+)\}/.exec(route.path)?.[1];
  const failures = Object.entries(COMMON_FAILURES).map(([status, description]) => [
    status,
    { description, content: content(ref(errorAnswer)) },
  ]);
  const successes = Object.entries(route.responses).map(([status, { description, schema }]) => [
    status,
    { description, content: content(ref(schema)) },
  ]);
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    parameters: [...(name === undefined ? [] : [pathParameter(name)]), ...queryParameters(route.query)],
    ...(route.body === null ? {} : { requestBody: { required: true, content: content(inputSchema(route.body)) } }),
    responses: Object.fromEntries([...failures, ...successes]),
  };
}

function pathParameter(name: string): Json {
  const description =
    name === 'table'
      ? '`table` or `schema.table`. A part in double quotes is taken as it is; any other is folded to lower case, as in SQL.'
      : 'Name of the flow, in the case that it was created with.';
  return { name, in: 'path', required: true, description, schema: { type: 'string', minLength: 1 } };
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = inputSchema(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function inputSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' }) as Json;
  return rest;
}

/** An answer is named in the registry, or small enough to stand where it is used. */
function ref(schema: z.ZodType): Json {
  const id = answers.get(schema)?.id;
  return id === undefined ? { type: 'object' } : { $ref: componentUri(id) };
}

function componentSchemas(): Json {
  const { schemas } = z.toJSONSchema(answers, { uri: componentUri });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, schema]) => {
      const { $schema: _, $id: __, ...rest } = schema as Json;
      return [id, rest];
    }),
  );
}

function componentUri(id: string): string {
  return `#/components/schemas/${id}`;
}

function content(schema: Json): Json {
  return { 'application/json': { schema } };
}
