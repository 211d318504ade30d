import { bigintLiteral, quoteLiteral } from './sql-text.ts';

/**
 * One row per flow, in the database of its sink. `fence`: the highest epoch that may write, below which nobody may.
 * `epoch`: of the plan that was applied last, 0 if none. `namespace` keeps apart the deployments that share a database.
 * Room is left on its pages because both columns change with every plan.
 */
export const CREATE_APPLIED_TABLE = `CREATE TABLE IF NOT EXISTS sluice.applied (
  namespace text COLLATE "C" NOT NULL,
  flow text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  epoch bigint NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (namespace, flow)
) WITH (fillfactor = 50)`;

export interface FlowKey {
  readonly namespace: string;
  readonly flow: string;
}

/**
 * Raises the fence, locks the row until the transaction ends, and answers with the epoch that was applied last. No row:
 * the fence is higher already.
 */
export function raiseFence(key: FlowKey, epoch: bigint): string {
  return `INSERT INTO sluice.applied AS a (namespace, flow, fence, epoch, at)
VALUES (${quoteLiteral(key.namespace)}, ${quoteLiteral(key.flow)}, ${bigintLiteral(epoch)}, 0, pg_catalog.now())
ON CONFLICT (namespace, flow) DO UPDATE SET fence = excluded.fence, at = excluded.at
WHERE a.fence <= excluded.fence
RETURNING a.epoch`;
}

export function readFence(key: FlowKey): string {
  return `SELECT a.fence FROM sluice.applied AS a WHERE ${isKey(key)}`;
}

export function recordApplied(key: FlowKey, epoch: bigint): string {
  return `UPDATE sluice.applied AS a SET epoch = ${bigintLiteral(epoch)}, at = pg_catalog.now() WHERE ${isKey(key)}`;
}

function isKey({ namespace, flow }: FlowKey): string {
  return `a.namespace = ${quoteLiteral(namespace)} AND a.flow = ${quoteLiteral(flow)}`;
}
