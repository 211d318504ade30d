import { SluiceError } from '../../errors.ts';
import type { PlanText, SurplusRows } from '../frontend.ts';
import { ask, QUESTION_MS, questionSettings } from './ask.ts';
import type { Connections } from './connections.ts';
import { plannedRanges, queryText } from './query-text.ts';
import { surplusStatement } from './writing-statement.ts';

// What is known of a plan before it is run. All of it only reads.

/** The estimate is the planner's, and as good as the statistics are. */
export async function expectedRows(connections: Connections, plan: PlanText): Promise<bigint | null> {
  const { compiled, options } = plan.definition;
  const query = queryText(compiled, { ranges: plannedRanges(compiled, plan.ranges), gridTime: plan.gridTime });
  const settings = questionSettings(QUESTION_MS, options.timeZone);
  const [row] = await ask(connections, settings, `EXPLAIN (FORMAT JSON)\n${query}`, 'planning the query');
  const [, rows] = /"Plan Rows": (\d+)/.exec(row?.['QUERY PLAN'] ?? '') ?? [];
  return rows === undefined ? null : BigInt(rows);
}

export async function surplusRows(
  connections: Connections,
  plan: PlanText,
  limit: number,
  budgetMs: number,
): Promise<SurplusRows | null> {
  const { options, compiled } = plan.definition;
  const settings = questionSettings(budgetMs, options.timeZone);
  try {
    const rows = await ask(connections, settings, surplusStatement(plan, limit), 'looking for rows to be deleted');
    if (rows[0]?.['aligned'] !== 't') return null;
    const keyed = compiled.keys.length === 0 ? [] : rows.filter((row) => row['present'] === 't');
    return {
      count: BigInt(rows[0]['count'] ?? '0'),
      keys: keyed.map((row) => compiled.keys.map((_, index) => row[`k${index}`] ?? null)),
    };
  } catch (error) {
    if (error instanceof SluiceError && (error.code === 'statement_timeout' || error.code === 'lock_timeout'))
      return null;
    throw error;
  }
}
