import type { ClientConfig } from 'pg';
import type { Frontend } from '../frontend.ts';
import { checkServer, describeFunctions, describeRelations } from './catalog.ts';
import { Connections } from './connections.ts';
import { describeQuery } from './describe-query.ts';
import { fence } from './fence.ts';
import { missingIndex } from './missing-index.ts';
import { expectedRows, surplusRows } from './plan-preview.ts';
import { runPlan } from './plan-transaction.ts';
import { checkSink, describeSink } from './sink-catalog.ts';
import { createSink, dropSink, dropStatement, sinkStatements } from './sink-table.ts';
import { hasUnwindowedRows, timeRange } from './source-times.ts';
import { writingStatement } from './writing-statement.ts';

export interface PostgresFrontendConfig {
  /** A connection URL, or what `pg` takes. The password may be a function, such as one that signs an IAM token. */
  readonly connection: string | ClientConfig;
  /** Keeps deployments apart that share a database. */
  readonly namespace: string;
  /** Milliseconds. Default: what `connection` says, else 5,000. */
  readonly connectTimeoutMs?: number;
}

/** PostgreSQL 15 and newer, directly or through a pooler in transaction mode. Connects when first used. */
export function createPostgresFrontend(config: PostgresFrontendConfig): Frontend & { close(): Promise<void> } {
  const { connection, namespace } = config;
  const connections = new Connections({
    fallback_application_name: 'sluice',
    keepAlive: true,
    connectionTimeoutMillis: 5000,
    ...(typeof connection === 'string' ? { connectionString: connection } : connection),
    ...(config.connectTimeoutMs === undefined ? {} : { connectionTimeoutMillis: config.connectTimeoutMs }),
    types: { getTypeParser: () => (value: string) => value },
  });
  return {
    checkServer: () => checkServer(connections),
    describeRelations: (references) => describeRelations(connections, references),
    describeFunctions: (references) => describeFunctions(connections, references),
    describeQuery: (sql, timeZone) => describeQuery(connections, sql, timeZone),
    describeSink: (sink) => describeSink(connections, sink),
    checkSink: (definition, budgetMs) => checkSink(connections, definition, budgetMs),
    createSink: (definition) => createSink(connections, definition),
    sinkStatements,
    dropSink: (sink) => dropSink(connections, sink),
    dropStatement,
    missingIndex: (definition) => missingIndex(connections, definition),
    hasUnwindowedRows: (definition) => hasUnwindowedRows(connections, definition),
    timeRange: (definition, within, budgetMs) => timeRange(connections, definition, within, budgetMs),
    fence: (flow, epoch, budgetMs) => fence(connections, { namespace, flow }, epoch, budgetMs),
    run: (plan) => runPlan(connections, namespace, plan),
    planStatement: (plan) => writingStatement(plan, { namespace, flow: plan.definition.name }),
    expectedRows: (plan) => expectedRows(connections, plan),
    surplusRows: (plan, limit, budgetMs) => surplusRows(connections, plan, limit, budgetMs),
    close: () => connections.close(),
  };
}
