import { z } from 'zod';
import type { EngineDeps } from '../engine/deps.ts';
import { dropFlow, existing } from '../engine/lifecycle.ts';
import { SluiceError } from '../errors.ts';
import { parseStatement, renderCreateFlow } from '../flow/statement.ts';
import { shiftPosition } from '../flow/text-position.ts';
import type { FlowListing } from '../store/flow-store.ts';
import { createFromInput } from './create-flow.ts';
import { createdAnswer, sqlAnswer } from './response-schemas.ts';
import { type Outcome, route } from './route.ts';
import { strictObject } from './strict-object.ts';

/** A query of 64 KB, and room for the clauses around it. */
const SQL_LIMIT_BYTES = 96 * 1024;
const PAGE = 100;

export const sqlRoute = route({
  method: 'POST',
  path: '/sql',
  operationId: 'runStatement',
  summary: 'Runs one statement',
  description: 'One of CREATE FLOW, DROP FLOW, SHOW FLOWS and SHOW CREATE FLOW.',
  query: strictObject({}),
  body: strictObject({
    sql: z
      .string()
      .refine(
        (sql) => Buffer.byteLength(sql) <= SQL_LIMIT_BYTES,
        `the statement has more than ${SQL_LIMIT_BYTES} bytes; shorten it`,
      )
      .describe(`At most ${SQL_LIMIT_BYTES} bytes, of which the query may take 64 KB.`),
  }),
  responses: {
    200: { description: 'Rows, or what became of the flow.', schema: sqlAnswer },
    201: { description: 'The flow was created.', schema: createdAnswer },
  },
  run: async ({ deps }, { body }) => runStatement(deps.engine, body.sql),
});

async function runStatement(engine: EngineDeps, sql: string): Promise<Outcome> {
  const statement = parseStatement(sql);
  switch (statement.kind) {
    case 'create_flow':
      // Positions are counted in the query; the user sent a statement.
      return createFromInput(engine, statement.input, statement.mode).catch((error: unknown) => {
        throw shiftPosition(error, statement.queryOffset);
      });
    case 'drop_flow':
      return drop(engine, statement.name, statement.ifExists);
    case 'show_flows': {
      const flows = await allFlows(engine);
      return rows(
        ['flow', 'sink', 'connection', 'comment'],
        flows.map(({ name, sink, connection, comment }) => [name, `${sink.schema}.${sink.table}`, connection, comment]),
      );
    }
    case 'show_create_flow': {
      const loaded = existing(statement.name, await engine.store.load(statement.name, { limit: 1, order: 'newest' }));
      return rows(['flow', 'create_flow'], [[statement.name, renderCreateFlow(loaded.definition)]]);
    }
    default:
      return statement satisfies never;
  }
}

async function drop(engine: EngineDeps, name: string, ifExists: boolean): Promise<Outcome> {
  try {
    await dropFlow(engine, name, { dropSink: false });
    return { status: 200, body: { outcome: 'dropped', name, sink: 'kept' } };
  } catch (error) {
    if (!ifExists || !(error instanceof SluiceError) || error.code !== 'flow_not_found') throw error;
    return { status: 200, body: { outcome: 'absent', name, sink: null } };
  }
}

async function allFlows(engine: EngineDeps): Promise<FlowListing[]> {
  const found: FlowListing[] = [];
  let cursor: string | undefined;
  do {
    const page = await engine.store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.flows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}

function rows(columns: readonly string[], values: readonly (readonly (string | null)[])[]): Outcome {
  return { status: 200, body: { columns, rows: values } };
}
