import { z } from 'zod';
import type { EngineDeps } from '../engine/deps.ts';
import { existing } from '../engine/lifecycle.ts';
import { SluiceError } from '../errors.ts';
import { parseStatement, renderCreateFlow, STATEMENT_NAMES } from '../flow/statement.ts';
import { shiftPosition } from '../flow/text-position.ts';
import type { FlowListing } from '../store/flow-store.ts';
import { commands } from './commands.ts';
import { DRY_RUN } from './dry-run-query.ts';
import { createdAnswer, flushingAnswer, sqlAnswer } from './response-schemas.ts';
import { type Call, type Outcome, route } from './route.ts';
import { strictObject } from './strict-object.ts';

/** A query of 64 KB, and room for the clauses around it. */
const SQL_LIMIT_BYTES = 96 * 1024;
const PAGE = 100;

export const sqlRoute = route({
  method: 'POST',
  path: '/sql',
  operationId: 'runStatement',
  summary: 'Runs one statement',
  description: `One of ${STATEMENT_NAMES}.`,
  query: strictObject({}),
  body: strictObject({
    sql: z
      .string()
      .refine(
        (sql) => Buffer.byteLength(sql) <= SQL_LIMIT_BYTES,
        `the statement has more than ${SQL_LIMIT_BYTES} bytes; shorten it`,
      )
      .describe(`At most ${SQL_LIMIT_BYTES} bytes, of which the query may take 64 KB.`),
    dryRun: z.boolean().optional().describe(DRY_RUN),
  }),
  responses: {
    200: { description: 'Rows, or what became of the flow.', schema: sqlAnswer },
    201: { description: 'The flow was created.', schema: createdAnswer },
    202: { description: 'A flush that goes on; the header Location tells where to look.', schema: flushingAnswer },
  },
  run: (call, { body }) => runStatement(call, body.sql, body.dryRun === true),
});

async function runStatement(call: Call, sql: string, dryRun: boolean): Promise<Outcome> {
  const { engine } = call.deps;
  const statement = parseStatement(sql);
  const command = commands(dryRun);
  switch (statement.kind) {
    case 'create_flow':
      // Positions are counted in the query; the user sent a statement.
      return command.create(call, statement.input, statement.mode).catch((error: unknown) => {
        throw shiftPosition(error, statement.queryOffset);
      });
    case 'alter_flow': {
      const { name, change, ifExists } = statement;
      return orAbsent(command.alter(call, name, change), ifExists, { outcome: 'absent', name });
    }
    case 'drop_flow': {
      const { name, dropSink, ifExists } = statement;
      return orAbsent(command.drop(call, name, dropSink), ifExists, { outcome: 'absent', name, sink: null });
    }
    case 'pause_flow':
      return command.pause(call, statement.name);
    case 'resume_flow':
      return command.resume(call, statement.name);
    case 'flush_flow':
      return command.flush(call, statement.name);
    case 'refresh_flow':
      return command.refresh(call, statement.name, { ranges: [statement.range], force: statement.force });
    case 'show_flows': {
      const flows = (await allFlows(engine)).filter(({ name }) => statement.shows(name));
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

/** With IF EXISTS, a flow that is not there is no error. */
async function orAbsent(done: Promise<Outcome>, ifExists: boolean, absent: unknown): Promise<Outcome> {
  try {
    return await done;
  } catch (error) {
    if (!ifExists || !(error instanceof SluiceError) || error.code !== 'flow_not_found') throw error;
    return { status: 200, body: absent };
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
