import { DatabaseError } from 'pg';
import { SluiceError } from '../../errors.ts';
import type { FlowDefinition } from '../../flow/definition.ts';
import { type Instant, instant } from '../../window/instant.ts';
import { formatInstant } from '../../window/rfc3339.ts';
import type { PlanRequest, PlanResult, SinkTable } from '../frontend.ts';
import { type FlowKey, raiseFence, readFence } from './applied-table.ts';
import { splitBudget, type TransactionBudget } from './budget.ts';
import type { Answer, Connection, Connections } from './connections.ts';
import { fencedOff, withAppliedTable } from './fence.ts';
import { ConnectionLost, isUnknownZone, type Purpose, translate, unknownZone } from './server-error.ts';
import { beginTransaction, limitStatement, lockLimit } from './session.ts';
import { checkAnswer, sinkQuestion } from './sink-catalog.ts';
import { oldestOfSources } from './source-times.ts';
import { type WritingAnswer, writingStatement } from './writing-statement.ts';

/**
 * Three messages: settings, fence and a look at the sink; the writing statement and a second look; COMMIT. The fence has a statement of
 * its own, because under READ COMMITTED the statement after it sees all that was committed while it waited for the row. The first look
 * at the sink tells what has become of it before anything is computed; after the second it cannot change any more, because the
 * writing statement holds a lock on it.
 */
export async function runPlan(connections: Connections, namespace: string, plan: PlanRequest): Promise<PlanResult> {
  const deadline = performance.now() + plan.budgetMs;
  const key: FlowKey = { namespace, flow: plan.definition.name };
  const purpose: Purpose = { doing: 'the plan', sink: plan.definition.sink };
  const look = sinkQuestion(plan.definition.sink, plan.sinkIdentity);
  let budget: TransactionBudget = splitBudget(plan.budgetMs);
  const first = () => {
    // What waiting for a connection took is gone from the budget.
    budget = splitBudget(deadline - performance.now());
    const text = [begin(plan, budget), raiseFence(key, plan.epoch), look].join(';\n');
    return { text, limitMs: budget.fence };
  };
  try {
    return await withAppliedTable(connections, () =>
      connections.use(first, async (connection, answers) => {
        try {
          await checkHistory(connection, answers, plan, key, budget);
          const sink = checkAnswer(plan.definition, answers.at(-1)?.rows ?? [], plan.sinkIdentity);
          const definition = withTypesOf(sink, plan.definition);
          const statements = [writingStatement({ ...plan, definition }, key), look];
          const result = await write(connection, plan, statements, budget);
          await commit(connection, budget, purpose);
          return result;
        } catch (error) {
          // What an error of the first message means is said below; of a later one it would be wrong.
          throw translate(error, purpose);
        }
      }),
    );
  } catch (error) {
    throw isUnknownZone(error) ? unknownZone(plan.definition.options.timeZone) : translate(error, purpose);
  }
}

function begin({ definition }: PlanRequest, budget: TransactionBudget): string {
  return beginTransaction({
    timeZone: definition.options.timeZone,
    readOnly: false,
    statementMs: budget.fence,
    lockMs: lockLimit(budget.fence),
    idleMs: budget.idle,
    transactionMs: budget.total,
  });
}

async function checkHistory(
  connection: Connection,
  answers: readonly Answer[],
  plan: PlanRequest,
  key: FlowKey,
  budget: TransactionBudget,
): Promise<void> {
  const row = answers.at(-2)?.rows[0];
  if (row === undefined) {
    const [seen] = await connection.send({ text: readFence(key), limitMs: budget.fence });
    throw fencedOff(key.flow, plan.epoch, seen?.rows[0]?.['fence'] ?? null);
  }
  const applied = BigInt(row['epoch'] ?? '0');
  if (applied !== plan.applied) {
    throw new SluiceError(
      'history_diverged',
      `the sink's database says that epoch ${applied} was applied last, the plan builds on epoch ${plan.applied}: ` +
        'one of the two was restored; nothing was written',
      { details: { applied } },
    );
  }
}

async function write(
  connection: Connection,
  plan: PlanRequest,
  writing: readonly string[],
  budget: TransactionBudget,
): Promise<PlanResult> {
  const { definition } = plan;
  const { window } = definition.compiled;
  const checksSource = plan.source !== null && window !== null;
  const statements = [
    limitStatement(budget.writing),
    ...writing,
    // Of a later moment than the writing statement: rows that are still there now were there for it too.
    ...(checksSource ? [oldestOfSources(definition.compiled, window)] : []),
    limitStatement(budget.commit),
  ];
  const answers = await connection.send({ text: statements.join(';\n'), limitMs: budget.writing });
  const row = answers[1]?.rows[0] as WritingAnswer | undefined;
  if (row?.aligned === 'f') {
    throw new SluiceError(
      'bounds_not_aligned',
      "the server's window expression does not change at a bound of the plan: its time-zone table differs from the planner's; " +
        'nothing was written. Bring the time-zone data of both to the same release, or use a fixed window',
    );
  }
  if (row?.repeated === 't') {
    throw new SluiceError(
      'duplicate_sink_key',
      `two rows of the query's result have the same key (${definition.compiled.keys.join(', ')}); nothing was written. The query must give each key once`,
    );
  }
  if (row?.recorded !== '1') {
    throw new SluiceError('internal', 'the writing statement did not record its epoch; nothing was written');
  }
  const oldest = checksSource ? (answers[3]?.rows[0]?.['oldest'] ?? null) : null;
  const sourceOldest = oldest === null ? null : instant(BigInt(oldest));
  refuseShrunk(plan, sourceOldest);
  const { identity } = checkAnswer(definition, answers[2]?.rows ?? [], plan.sinkIdentity);
  return {
    inserted: count(row.inserted),
    updated: count(row.updated),
    deleted: count(row.deleted),
    sourceOldest,
    sinkIdentity: identity,
  };
}

/** The sink's columns may have become wider. */
function withTypesOf(sink: SinkTable, definition: FlowDefinition): FlowDefinition {
  const types = new Map(sink.columns.map(({ name, type }) => [name, type]));
  const sinkColumns = definition.sinkColumns.map(({ name, type }) => ({ name, type: types.get(name) ?? type }));
  return { ...definition, sinkColumns };
}

function refuseShrunk({ source }: PlanRequest, oldest: Instant | null): void {
  if (source === null || source.oldest === null || (oldest !== null && oldest <= source.oldest)) return;
  const now = oldest === null ? 'has no row any more' : `begins at ${formatInstant(oldest)}`;
  throw new SluiceError(
    'source_shrunk',
    `the source began at ${formatInstant(source.oldest)} and now ${now}; nothing was written`,
    { retryable: true, details: { oldest } },
  );
}

/** An answer that never came, or a session that ended over it, leaves open whether the transaction was committed. */
async function commit(connection: Connection, budget: TransactionBudget, purpose: Purpose): Promise<void> {
  let answers: readonly Answer[];
  try {
    answers = await connection.send({ text: 'COMMIT', limitMs: budget.commit });
  } catch (error) {
    if (error instanceof ConnectionLost && error.sent) throw outcomeUnknown(error.message);
    if (!(error instanceof DatabaseError)) throw error;
    // The server ends a session that was idle for too long before it reads COMMIT; that much is certain.
    if (error.code !== '25P03' && !(await connection.rollBack())) throw outcomeUnknown(`SQLSTATE ${error.code}`);
    throw translate(error, purpose);
  }
  if (answers[0]?.command !== 'COMMIT') {
    throw new SluiceError('query_failed', 'the server rolled the transaction back at COMMIT; nothing was written');
  }
}

function outcomeUnknown(reason: string): SluiceError {
  return new SluiceError(
    'outcome_unknown',
    `COMMIT was sent and its answer did not come (${reason}); raising the fence tells whether the plan was applied`,
    { retryable: true },
  );
}

function count(value: string | null): bigint {
  return BigInt(value ?? '0');
}
