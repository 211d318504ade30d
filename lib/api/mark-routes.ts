import { z } from 'zod';
import { DEFAULT_OPTIONS } from '../flow/options.ts';
import { commands } from './commands.ts';
import { dryRunParameters, dryRunQuery } from './dry-run-query.ts';
import { changeOf, markBody, refreshBody } from './mark-schema.ts';
import { checkFlowName, parseTablePath } from './names.ts';
import { dryRunOr } from './response-schemas.ts';
import { type Route, route } from './route.ts';
import { strictObject } from './strict-object.ts';

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
    query: dryRunQuery,
    body: markBody,
    responses: { 200: { description: 'The marks are stored.', schema: dryRunOr.marked } },
    run: (call, { name, query, body }) => commands(query.dryRun).markFlow(call, checkFlowName(name), changeOf(body)),
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/refresh',
    operationId: 'refreshFlow',
    summary: 'Computes windows of a flow anew, whether or not they are dirty',
    description:
      'Marks the windows of the ranges, and asks for a tick. A range that reaches windows which no plan would take (past EXPIRE AFTER, frozen, not accepted) is refused unless it is forced.',
    query: dryRunQuery,
    body: refreshBody,
    responses: { 200: { description: 'The marks are stored.', schema: dryRunOr.marked } },
    run: (call, { name, query, body }) =>
      commands(query.dryRun).refresh(call, checkFlowName(name), {
        ranges: changeOf({ ranges: body.ranges }).ranges,
        force: body.force ?? false,
      }),
  }),
  route({
    method: 'POST',
    path: '/tables/{table}/dirty-windows',
    operationId: 'markTable',
    summary: 'Marks windows dirty in every flow that reads a table',
    description: AFTER_COMMIT,
    query: strictObject({
      ...dryRunParameters,
      connection: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(`Which database the table is in; \`${DEFAULT_OPTIONS.connection}\` where it is left out.`),
    }),
    body: markBody,
    responses: { 200: { description: 'The marks are stored.', schema: dryRunOr.marked } },
    run: (call, { name, query, body }) => {
      const connection = query.connection ?? DEFAULT_OPTIONS.connection;
      return commands(query.dryRun).markTable(call, connection, parseTablePath(name), changeOf(body));
    },
  }),
];
