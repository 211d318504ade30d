import pg from 'pg';
import { expect } from 'vitest';
import type { SluiceError } from '../../lib/errors.ts';
import { flowInputFromJson } from '../../lib/flow/flow-input.ts';
import type { Frontend, PlanRequest } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { type CompiledFlow, compileFlow, type FlowDraft } from '../../lib/sql/compile-flow.ts';
import { createTestDatabase } from './database.ts';

/** A database of one's own, with a frontend over it and a session beside. */
export interface FrontendDatabase {
  readonly session: pg.Client;
  readonly frontend: Frontend;
  /** `json`: the flow, as in a request. */
  compile(name: string, json: Readonly<Record<string, unknown>>): Promise<CompiledFlow>;
  close(): Promise<void>;
}

/** `server`: the embedded one, unless given. */
export async function openFrontendDatabase(server?: string): Promise<FrontendDatabase> {
  const database = await createTestDatabase(server);
  const session = new pg.Client({ connectionString: database.url });
  await session.connect();
  const frontend = createPostgresFrontend({ connection: database.url, namespace: 'test' });
  return {
    session,
    frontend,
    compile: async (name, json) => compileFlow(flowInputFromJson(name, json), frontend),
    async close() {
      await frontend.close();
      await session.end();
      await database.drop();
    },
  };
}

/** A plan over all that the query gives, after one of the epoch before, unless something else is given. */
export function planOf(draft: FlowDraft, epoch: bigint, given: Partial<PlanRequest> = {}): PlanRequest {
  return {
    definition: { ...draft, generation: 1n },
    epoch,
    applied: epoch - 1n,
    coverage: 'scoped_base_repair',
    ranges: [],
    gridTime: null,
    source: null,
    sinkIdentity: null,
    budgetMs: 20_000,
    ...given,
  };
}

/** Each row of the query as text, sorted: equal for equal multisets of rows. */
export async function sortedRows(session: pg.Client, query: string): Promise<string[]> {
  const { rows } = await session.query<{ r: string }>(`SELECT q::text AS r FROM (${query}\n) AS q`);
  return rows.map(({ r }) => r).sort();
}

export async function refusal(making: Promise<unknown>): Promise<SluiceError> {
  return making.then(
    () => expect.fail('it was accepted'),
    (thrown) => thrown,
  );
}
