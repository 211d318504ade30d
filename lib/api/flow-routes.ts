import { z } from 'zod';
import { flushFlow } from '../engine/flush.ts';
import { dropFlow, existing, pauseFlow, resumeFlow } from '../engine/lifecycle.ts';
import { flowInputFromJson } from '../flow/flow-input.ts';
import { createFromInput } from './create-flow.ts';
import { flowBody } from './flow-schema.ts';
import { checkFlowName } from './names.ts';
import {
  createdAnswer,
  droppedAnswer,
  flowAnswer,
  flowsAnswer,
  flushedAnswer,
  flushingAnswer,
  runsAnswer,
  stateAnswer,
  statusAnswer,
} from './response-schemas.ts';
import { type Call, type Route, route } from './route.ts';
import { strictObject } from './strict-object.ts';
import { flowView, listingView, runView, stateView } from './views.ts';

const PAGE_LIMIT = 100;
/** An HTTP API gives up after 30 s; what is left is for the way back. */
const FLUSH_WAIT_MS = 25_000;
const FLUSH_MARGIN_MS = 3_000;

const noQuery = strictObject({});

const pageQuery = strictObject({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, `expected a whole number from 1 to ${PAGE_LIMIT}`)
    .transform(Number)
    .optional()
    .describe(`At most so many, ${PAGE_LIMIT} where it is left out.`),
  cursor: z.string().min(1).max(2048).optional().describe('From the page before.'),
});

export const flowRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/flows',
    operationId: 'listFlows',
    summary: 'Lists flows by name',
    query: pageQuery,
    body: null,
    responses: { 200: { description: 'One page of flows.', schema: flowsAnswer } },
    run: async ({ deps }, { query }) => {
      const page = await deps.engine.store.list(pageOf(query));
      return { status: 200, body: { flows: page.flows.map(listingView), ...cursorOf(page) } };
    },
  }),
  route({
    method: 'GET',
    path: '/flows/{name}',
    operationId: 'getFlow',
    summary: 'Gives the definition of a flow',
    query: noQuery,
    body: null,
    responses: { 200: { description: 'The definition.', schema: flowAnswer } },
    run: async (call, { name }) => ({ status: 200, body: flowView((await load(call, name)).definition) }),
  }),
  route({
    method: 'PUT',
    path: '/flows/{name}',
    operationId: 'putFlow',
    summary: 'Creates or replaces a flow',
    description:
      'The same as CREATE OR REPLACE FLOW. The sink table is created where it is absent. A definition that computes something else makes every window dirty.',
    query: noQuery,
    body: flowBody,
    responses: {
      200: { description: 'The flow was there, and now is as given.', schema: createdAnswer },
      201: { description: 'The flow was created.', schema: createdAnswer },
    },
    run: async ({ deps }, { name, body }) => createFromInput(deps.engine, flowInputFromJson(name, body), 'or_replace'),
  }),
  route({
    method: 'DELETE',
    path: '/flows/{name}',
    operationId: 'dropFlow',
    summary: 'Drops a flow',
    query: strictObject({
      sink: z
        .enum(['keep', 'drop'])
        .optional()
        .describe('`drop` drops the sink table too; it is kept where this is left out.'),
    }),
    body: null,
    responses: { 200: { description: 'The flow is gone.', schema: droppedAnswer } },
    run: async ({ deps }, { name, query }) => {
      const dropSink = query.sink === 'drop';
      await dropFlow(deps.engine, checkFlowName(name), { dropSink });
      return { status: 200, body: { outcome: 'dropped', name, sink: dropSink ? 'dropped' : 'kept' } };
    },
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/flush',
    operationId: 'flushFlow',
    summary: 'Brings a flow up to date now',
    description:
      'Marks everything from the expiry bound, or from the first row of source or sink, up to now; asks for a tick; and waits for at most 25 seconds.',
    query: noQuery,
    body: null,
    responses: {
      200: { description: 'The sink is up to date.', schema: flushedAnswer },
      202: { description: 'Ticks go on with it; the header Location tells where to look.', schema: flushingAnswer },
    },
    run: async ({ deps, millisLeft }, { name }) => {
      const waitMs = Math.max(0, Math.min(FLUSH_WAIT_MS, millisLeft - FLUSH_MARGIN_MS));
      const outcome = await flushFlow(deps.engine, checkFlowName(name), { waitMs });
      if (outcome.done) return { status: 200, body: { affected_rows: String(outcome.rowsWritten) } };
      const state = `/flows/${encodeURIComponent(name)}/state`;
      const message = 'the flush goes on; its dirty windows are gone from the state when it is through';
      return { status: 202, body: { state, message }, headers: { location: state } };
    },
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/pause',
    operationId: 'pauseFlow',
    summary: 'Stops a flow; marks are kept',
    query: noQuery,
    body: null,
    responses: { 200: { description: 'No plan runs any more.', schema: statusAnswer } },
    run: async ({ deps }, { name }) => {
      await pauseFlow(deps.engine, checkFlowName(name));
      return { status: 200, body: { name, status: 'paused' } };
    },
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/resume',
    operationId: 'resumeFlow',
    summary: 'Lets a flow run again',
    description: 'Also clears what blocked the flow, so that it is tried anew.',
    query: noQuery,
    body: null,
    responses: { 200: { description: 'Plans run again.', schema: statusAnswer } },
    run: async ({ deps }, { name }) => {
      await resumeFlow(deps.engine, checkFlowName(name));
      return { status: 200, body: { name, status: 'active' } };
    },
  }),
  route({
    method: 'GET',
    path: '/flows/{name}/state',
    operationId: 'getState',
    summary: 'Tells how far a flow is, and what it is about to do',
    query: noQuery,
    body: null,
    responses: { 200: { description: 'The state.', schema: stateAnswer } },
    run: async (call, { name }) => ({ status: 200, body: stateView(await load(call, name), call.deps.engine.clock()) }),
  }),
  route({
    method: 'GET',
    path: '/flows/{name}/runs',
    operationId: 'listRuns',
    summary: 'Lists the plans that ran, newest first',
    query: pageQuery,
    body: null,
    responses: { 200: { description: 'One page of runs.', schema: runsAnswer } },
    run: async (call, { name, query }) => {
      await load(call, name);
      const page = await call.deps.engine.store.runs(name, pageOf(query));
      return { status: 200, body: { runs: page.runs.map(runView), ...cursorOf(page) } };
    },
  }),
];

async function load({ deps }: Call, name: string): Promise<ReturnType<typeof existing>> {
  return existing(name, await deps.engine.store.load(checkFlowName(name), { limit: 100, order: 'newest' }));
}

function pageOf(query: z.output<typeof pageQuery>): { limit: number; cursor?: string } {
  return { limit: query.limit ?? PAGE_LIMIT, ...(query.cursor === undefined ? {} : { cursor: query.cursor }) };
}

function cursorOf(page: { cursor?: string }): { cursor?: string } {
  return page.cursor === undefined ? {} : { cursor: page.cursor };
}
