import { z } from 'zod';
import type { EngineDeps } from '../engine/deps.ts';
import type { Change, MarkedFlow } from '../engine/marks.ts';
import { markFlow, markTable } from '../engine/marks.ts';
import { SluiceError } from '../errors.ts';
import type { TableName } from '../flow/definition.ts';
import { DEFAULT_OPTIONS } from '../flow/options.ts';
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

/** A mark that reaches no flow is most likely a misspelt table, and would be lost without a word. Throws `table_not_found`. */
export async function markReaders(
  engine: EngineDeps,
  connection: string,
  table: TableName,
  change: Change,
): Promise<readonly MarkedFlow[]> {
  const marked = await markTable(engine, connection, table, change);
  if (marked.length > 0) return marked;
  throw new SluiceError(
    'table_not_found',
    `no flow reads table ${table.schema}.${table.table} of connection ${connection}; check schema, case and connection, or create the flow first`,
  );
}
