import { z } from 'zod';
import { flowRoutes } from './flow-routes.ts';
import { markRoutes } from './mark-routes.ts';
import { openApiDocument } from './openapi.ts';
import { type Route, route } from './route.ts';
import { sqlRoute } from './sql-route.ts';
import { strictObject } from './strict-object.ts';

let document: Record<string, unknown> | null = null;

/** The whole API, one row each. */
export const ROUTES: readonly Route[] = [
  sqlRoute,
  ...flowRoutes,
  ...markRoutes,
  route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    summary: 'This description',
    query: strictObject({}),
    body: null,
    responses: { 200: { description: 'An OpenAPI 3.1 document.', schema: z.looseObject({}) } },
    run: () => {
      // The same for the life of the process: it depends on the code alone.
      document ??= openApiDocument(ROUTES);
      return Promise.resolve({ status: 200, body: document });
    },
  }),
];
