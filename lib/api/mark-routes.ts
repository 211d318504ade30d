import { z } from 'zod';
import { markFlow } from '../engine/marks.ts';
import { DEFAULT_OPTIONS } from '../flow/options.ts';
import { markReaders } from './mark-readers.ts';
import { changeOf, markBody } from './mark-schema.ts';
import { checkFlowName, parseTablePath } from './names.ts';
import { markedAnswer } from './response-schemas.ts';
import { type Route, route } from './route.ts';
import { strictObject } from './strict-object.ts';
import { markedView } from './views.ts';

const AFTER_COMMIT =
  'Mark after the rows are committed, never before: a plan that runs between the mark and the commit does not see the rows, and ' +
  'takes the mark away. Marking the same windows again does no harm.';

export const markRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/flows/{name}/dirty-windows',
    operationId: 'markFlow',
    summary: 'Marks windows of one flow dirty',
    description: AFTER_COMMIT,
    query: strictObject({}),
    body: markBody,
    responses: { 200: { description: 'The marks are stored.', schema: markedAnswer } },
    run: async ({ deps }, { name, body }) => {
      const marked = await markFlow(deps.engine, checkFlowName(name), changeOf(body));
      return { status: 200, body: markedView([marked]) };
    },
  }),
  route({
    method: 'POST',
    path: '/tables/{table}/dirty-windows',
    operationId: 'markTable',
    summary: 'Marks windows dirty in every flow that reads a table',
    description: AFTER_COMMIT,
    query: strictObject({
      connection: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(`Which database the table is in; \`${DEFAULT_OPTIONS.connection}\` where it is left out.`),
    }),
    body: markBody,
    responses: { 200: { description: 'The marks are stored.', schema: markedAnswer } },
    run: async ({ deps }, { name, query, body }) => {
      const marked = await markReaders(
        deps.engine,
        query.connection ?? DEFAULT_OPTIONS.connection,
        parseTablePath(name),
        changeOf(body),
      );
      return { status: 200, body: markedView(marked) };
    },
  }),
];
