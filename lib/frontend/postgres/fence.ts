import { DatabaseError } from 'pg';
import { SluiceError } from '../../errors.ts';
import { CREATE_APPLIED_TABLE, type FlowKey, raiseFence, readFence } from './applied-table.ts';
import { ask, QUESTION_MS, questionSettings } from './ask.ts';
import type { Connections } from './connections.ts';
import { translate } from './server-error.ts';
import { beginTransaction, lockLimit } from './session.ts';

/** One message: the whole transaction. Sending it twice does no harm. */
export async function fence(
  connections: Connections,
  key: FlowKey,
  epoch: bigint,
  budgetMs: number,
): Promise<{ readonly applied: bigint }> {
  const limitMs = Math.max(1, Math.floor(budgetMs));
  const begin = beginTransaction({
    timeZone: 'UTC',
    readOnly: false,
    statementMs: limitMs,
    lockMs: lockLimit(limitMs),
    idleMs: limitMs,
    transactionMs: 2 * limitMs,
  });
  const text = [begin, raiseFence(key, epoch), readFence(key), 'COMMIT'].join(';\n');
  try {
    return await withAppliedTable(connections, () =>
      connections.use(
        () => ({ text, limitMs }),
        (_, answers) => {
          const applied = answers.at(-3)?.rows[0]?.['epoch'];
          if (applied == null) throw fencedOff(key.flow, epoch, answers.at(-2)?.rows[0]?.['fence'] ?? null);
          return Promise.resolve({ applied: BigInt(applied) });
        },
      ),
    );
  } catch (error) {
    throw translate(error, { doing: 'raising the fence' });
  }
}

export function fencedOff(flow: string, epoch: bigint, fence: string | null): SluiceError {
  return new SluiceError(
    'fenced',
    `flow ${JSON.stringify(flow)} is fenced at epoch ${fence ?? 'unknown'}; epoch ${epoch} may not write any more`,
    fence === null ? {} : { details: { fence: BigInt(fence) } },
  );
}

/**
 * Runs a unit of work whose first message needs `sluice.applied`; where the table is missing (a new database, or a
 * restored one) it is created and the unit runs again. It was rolled back before it had done anything else.
 */
export async function withAppliedTable<T>(connections: Connections, unit: () => Promise<T>): Promise<T> {
  try {
    return await unit();
  } catch (error) {
    if (!isMissing(error)) throw error;
    await createAppliedTable(connections);
    return await unit();
  }
}

/** Undefined table or schema: the first message names no other. */
function isMissing(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '42P01' || error.code === '3F000');
}

async function createAppliedTable(connections: Connections): Promise<void> {
  const [row] = await ask(
    connections,
    questionSettings(QUESTION_MS),
    `SELECT pg_catalog.to_regnamespace('sluice') IS NULL AS no_schema`,
    'looking for the schema sluice',
  );
  // Asked for by IF NOT EXISTS it would need the privilege to create schemas even where it exists.
  const statements = [
    ...(row?.['no_schema'] === 't' ? ['CREATE SCHEMA IF NOT EXISTS sluice'] : []),
    CREATE_APPLIED_TABLE,
  ];
  const settings = { ...questionSettings(QUESTION_MS), readOnly: false };
  for (let attempt = 1; ; attempt += 1) {
    try {
      await ask(connections, settings, statements.join(';\n'), 'creating the table sluice.applied');
      return;
    } catch (error) {
      // IF NOT EXISTS looks before it creates: of two sessions that create at the same time, one fails on a catalog's key.
      const raced = error instanceof SluiceError && /SQLSTATE (23505|42P06|42P07|42710)/.test(error.message);
      if (!raced || attempt === 5) throw error;
    }
  }
}
