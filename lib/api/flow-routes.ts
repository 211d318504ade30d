import { z } from 'zod';
import { existing } from '../engine/lifecycle.ts';
import { flowChangeFromJson } from '../flow/flow-change.ts';
import { flowInputFromJson } from '../flow/flow-input.ts';
import { commands } from './commands.ts';
import { dryRunParameters, dryRunQuery } from './dry-run-query.ts';
import { flowBody, flowPatchBody } from './flow-schema.ts';
import { checkFlowName } from './names.ts';
import {
  createdAnswer,
  dryRunOr,
  flowAnswer,
  flowsAnswer,
  flushingAnswer,
  runsAnswer,
  stateAnswer,
} from './response-schemas.ts';
import { type Call, type Route, route } from './route.ts';
import { strictObject } from './strict-object.ts';
import { flowView, listingView, runView, stateView } from './views.ts';

const PAGE_LIMIT = 100;

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
    query: dryRunQuery,
    body: flowBody,
    responses: {
      200: { description: 'The flow was there, and now is as given.', schema: dryRunOr.created },
      201: { description: 'The flow was created.', schema: createdAnswer },
    },
    run: (call, { name, query, body }) =>
      commands(query.dryRun).create(call, flowInputFromJson(name, body), 'or_replace'),
  }),
  route({
    method: 'PATCH',
    path: '/flows/{name}',
    operationId: 'alterFlow',
    summary: 'Changes options of a flow',
    description:
      'The same as ALTER FLOW, as a JSON merge patch of what PUT takes: what is left out stays, null resets. The sink keeps its rows unless the change touches them; then every window is dirty.',
    query: dryRunQuery,
    body: flowPatchBody,
    responses: { 200: { description: 'The flow is changed.', schema: dryRunOr.created } },
    run: (call, { name, query, body }) =>
      commands(query.dryRun).alter(call, checkFlowName(name), flowChangeFromJson(body)),
  }),
  route({
    method: 'DELETE',
    path: '/flows/{name}',
    operationId: 'dropFlow',
    summary: 'Drops a flow',
    query: strictObject({
      ...dryRunParameters,
      sink: z
        .enum(['keep', 'drop'])
        .optional()
        .describe('`drop` drops the sink table too; it is kept where this is left out.'),
    }),
    body: null,
    responses: { 200: { description: 'The flow is gone.', schema: dryRunOr.dropped } },
    run: (call, { name, query }) => commands(query.dryRun).drop(call, checkFlowName(name), query.sink === 'drop'),
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/flush',
    operationId: 'flushFlow',
    summary: 'Brings a flow up to date now',
    description:
      'Marks everything from the expiry bound, or from the first row of source or sink, up to now; asks for a tick; and waits for at most 25 seconds.',
    query: dryRunQuery,
    body: null,
    responses: {
      200: { description: 'The sink is up to date.', schema: dryRunOr.flushed },
      202: { description: 'Ticks go on with it; the header Location tells where to look.', schema: flushingAnswer },
    },
    run: (call, { name, query }) => commands(query.dryRun).flush(call, checkFlowName(name)),
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/pause',
    operationId: 'pauseFlow',
    summary: 'Stops a flow; marks are kept',
    query: dryRunQuery,
    body: null,
    responses: { 200: { description: 'No plan runs any more.', schema: dryRunOr.status } },
    run: (call, { name, query }) => commands(query.dryRun).pause(call, checkFlowName(name)),
  }),
  route({
    method: 'POST',
    path: '/flows/{name}/resume',
    operationId: 'resumeFlow',
    summary: 'Lets a flow run again',
    description: 'Also clears what blocked the flow, so that it is tried anew.',
    query: dryRunQuery,
    body: null,
    responses: { 200: { description: 'Plans run again.', schema: dryRunOr.status } },
    run: (call, { name, query }) => commands(query.dryRun).resume(call, checkFlowName(name)),
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
