import { SluiceError } from '../../errors.ts';
import type { CompiledHistory } from '../../flow/definition.ts';
import { sinkNames } from '../../flow/sink-names.ts';
import type { PlanText } from '../frontend.ts';
import { type FlowKey, recordApplied } from './applied-table.ts';
import {
  boundsTable,
  historyAt,
  labelAt,
  labelFilter,
  labelFromBounds,
  plannedRanges,
  queryText,
} from './query-text.ts';
import { quoteIdentifier, quoteTable } from './sql-text.ts';

/** Columns of the one row that the statement answers with: two verdicts, then counts. Nothing was written unless both are fine. */
export interface WritingAnswer {
  readonly aligned: string | null;
  readonly repeated: string | null;
  readonly recorded: string | null;
  readonly inserted: string | null;
  readonly updated: string | null;
  readonly deleted: string | null;
}

/**
 * One statement, one snapshot: brings the sink's rows of the planned windows to what the query gives, and records
 * the plan's epoch as applied.
 *
 * All of it hangs on `verdict`: parts that write run whether or not anybody reads their result, so each takes its
 * rows from a table that is empty when the verdict is bad.
 *
 * Names of the statement's own parts cannot capture a table of the query, because all names in a compiled query are qualified.
 * Columns get names of their own (`c0`, `c1`, …), so that no user's column name collides with them.
 */
export function writingStatement(plan: PlanText, key: FlowKey): string {
  const { compiled } = plan.definition;
  const columns = answerColumns(plan);
  return `WITH ${boundsAndFresh(plan)}, verdict AS MATERIALIZED (
SELECT aligned, ${repeatedKeys(plan)} AS repeated FROM bounds
), ${compiled.keys.length === 0 ? replaceAll(plan, columns) : replaceChanged(plan, columns)}, recorded AS (
${recordApplied(key, plan.epoch)} AND ${FINE} RETURNING 1
)
SELECT aligned, repeated, (SELECT count(*) FROM recorded) AS recorded, (SELECT count(*) FROM added) AS inserted,
(SELECT count(*) FROM changed) AS updated, (SELECT count(*) FROM removed) AS deleted FROM verdict`;
}

/**
 * Reads, by the parts that {@link writingStatement} writes by, the rows that it would delete: `aligned`, how many in `count`, and the
 * keys of the first `limit` as text in `k0`, `k1`, …; one row without keys where there are none.
 */
export function surplusStatement(plan: PlanText, limit: number): string {
  const { sink } = plan.definition;
  const names = columnsOfSink(plan);
  const keys = keyPositions(plan);
  const record = (alias: string) => `ROW(${keys.map((position) => `${alias}.c${position}`).join(', ')})::record`;
  const ofWindows = `SELECT ${['TRUE AS present', ...names.map((name, index) => `s.${name} AS c${index}`)].join(', ')}
FROM ${quoteTable(sink)} AS s WHERE ${sinkFilter(plan, (position) => `s.${names[position]}`)}`;
  const vanished =
    keys.length === 0
      ? ofWindows
      : `SELECT t.* FROM (${ofWindows}) AS t LEFT JOIN (SELECT TRUE AS given, fresh.* FROM fresh) AS f
ON ${record('f')} *= ${record('t')} WHERE f.given IS NULL`;
  return `WITH ${boundsAndFresh(plan)}, surplus AS MATERIALIZED (
${vanished} AND (SELECT aligned FROM bounds)${keepsVanished(plan) ? ' AND FALSE' : ''}
)
SELECT ${['b.aligned', '(SELECT count(*) FROM surplus) AS count', 's.present', ...keys.map((position, index) => `s.c${position}::text AS k${index}`)].join(', ')}
FROM bounds AS b LEFT JOIN (SELECT * FROM surplus LIMIT ${limit}) AS s ON TRUE`;
}

/** The labels at the bounds, and the rows that the query gives for the planned windows. */
function boundsAndFresh(plan: PlanText): string {
  const { compiled } = plan.definition;
  const ranges = plannedRanges(compiled, plan.ranges);
  const query = queryText(compiled, { ranges, gridTime: plan.gridTime });
  const columns = answerColumns(plan).join(', ');
  // OFFSET 0 keeps the label filter out of the query, whose scans are filtered by time already: the planner would take both
  // filters for independent of each other and expect far too few rows.
  return `bounds AS MATERIALIZED (
${boundsTable(compiled.window, ranges ?? [])}
), fresh (${columns}) AS MATERIALIZED (
${asStored(plan, `SELECT q.* FROM (SELECT * FROM (\n${query}) AS answer OFFSET 0) AS q (${columns})\nWHERE ${freshFilter(plan)} AND (SELECT aligned FROM bounds)`)}
)`;
}

/**
 * Rows in the sink's own types, as images are compared only within a type. An empty table of these types in front makes the server
 * convert as it does implicitly, which refuses what could lose something, should the query give another type than when the flow was
 * created. A collation of the query's columns prevails over the default one of the empty table. Modifiers are lost in that; those
 * that shape the image of a value (digits after the point, padding) are given back.
 */
function asStored(plan: PlanText, rows: string): string {
  const columns = answerColumns(plan);
  const types = plan.definition.sinkColumns.map(({ type }) => type);
  const values = columns.map((column, index) =>
    SHAPED.test(types[index] ?? '') ? `CAST(v.${column} AS ${types[index]})` : `v.${column}`,
  );
  return `SELECT ${values.join(', ')} FROM (
SELECT ${types.map((type) => `CAST(NULL AS ${type})`).join(', ')} WHERE FALSE UNION ALL
${rows}
) AS v (${columns.join(', ')})`;
}

const SHAPED = /^(?:numeric|character)\(/;

function answerColumns({ definition }: PlanText): string[] {
  return definition.compiled.columns.map((_, index) => `c${index}`);
}

const FINE = '(SELECT aligned AND NOT repeated FROM verdict)';

/**
 * Rows are matched by key in one full join, which the planner can only do by sorting: neither a bad estimate nor NULLs in the
 * keys make it compare every row with every other. Records are compared by the images of their values (`*=`). That works for
 * values without an equality operator, sees every change of what is stored, and asks for no collation, which may be another one
 * in the sink than in the query. A key that is equal and spelt otherwise (1.0, 1.00) is a deleted and an inserted row.
 *
 * The rows to change are then found by their place on disk. A pair of comparisons picks each kind because the planner expects little
 * of a pair: it fetches the rows one by one and does not scan the sink for them, and it has no other estimate there to be wrong
 * about.
 */
function replaceChanged(plan: PlanText, columns: readonly string[]): string {
  const { definition } = plan;
  const names = columnsOfSink(plan);
  const sink = quoteTable(definition.sink);
  const keys = keyPositions(plan).map((position) => `c${position}`);
  const record = (alias: string, of: readonly string[]) => `ROW(${of.map((name) => `${alias}.${name}`)})::record`;
  // Written out, the bounds are compared with the statistics of the sink's labels: its index is used exactly where it helps.
  const ofWindows = sinkFilter(plan, (position) => `s.${names[position]}`);
  const isKind = (kind: number) =>
    `d.kind >= ${kind} AND d.kind <= ${kind} AND s.tableoid = d.place AND s.ctid = d.row`;
  const assignments = names.map((name, index) => `${name} = d.${columns[index]}`);
  if (definition.updateAt) assignments.push('"update_at" = now()');
  return `diff AS MATERIALIZED (
SELECT CASE WHEN f.present IS NULL THEN 0 WHEN t.row IS NULL THEN 1 ELSE 2 END AS kind, t.place, t.row,
${columns.map((column) => `f.${column}`).join(', ')}
FROM (SELECT TRUE AS present, fresh.* FROM fresh) AS f FULL JOIN (
SELECT s.tableoid AS place, s.ctid AS row, ${names.map((name, index) => `s.${name} AS ${columns[index]}`).join(', ')}
FROM ${sink} AS s WHERE ${ofWindows}
) AS t ON ${record('f', keys)} *= ${record('t', keys)}
WHERE ${FINE}
AND (f.present IS NULL OR t.row IS NULL OR ${record('f', columns)} *<> ${record('t', columns)})
), removed AS (
${keepsVanished(plan) ? 'SELECT 1 WHERE FALSE' : `DELETE FROM ${sink} AS s USING diff AS d WHERE ${isKind(0)} RETURNING 1`}
), changed AS (
UPDATE ${sink} AS s SET ${assignments.join(', ')} FROM diff AS d WHERE ${isKind(2)} RETURNING 1
), ${added(plan, columns, 'diff AS d WHERE d.kind = 1 AND')}`;
}

/** Without a key no row can be matched with another: all of them go, and the answer takes their place. */
function replaceAll(plan: PlanText, columns: readonly string[]): string {
  const names = columnsOfSink(plan);
  return `removed AS (
DELETE FROM ${quoteTable(plan.definition.sink)} AS s WHERE ${FINE} AND ${sinkFilter(plan, (position) => `s.${names[position]}`)} RETURNING 1
), changed AS (
SELECT 1 WHERE FALSE
), ${added(plan, columns, `fresh AS d WHERE ${FINE} AND`)}`;
}

/** Counting the removed rows first puts the insertion behind the deletion, for the sake of further unique indexes. */
function added(plan: PlanText, columns: readonly string[], from: string): string {
  const { definition } = plan;
  const names = columnsOfSink(plan);
  const values = columns.map((column) => `d.${column}`);
  if (definition.updateAt) {
    names.push('"update_at"');
    values.push('now()');
  }
  if (definition.placeholder) {
    names.push('"__ts_placeholder"');
    values.push("'epoch'");
  }
  return `added AS (
INSERT INTO ${quoteTable(definition.sink)} (${names.join(', ')})
SELECT ${values.join(', ')} FROM ${from} (SELECT count(*) FROM removed) >= 0
${onConflict(plan, names)}RETURNING 1
)`;
}

/**
 * A kept row whose key is equal and spelt otherwise (1.0, 1.00) is the one that a new row is about. So is a row of another window
 * where the window is not part of the key: its time has changed, and the plan that takes it out of there has not run yet.
 */
function onConflict(plan: PlanText, names: readonly string[]): string {
  if (!keepsVanished(plan) && !mayMove(plan)) return '';
  const keys = sinkNames(plan.definition, plan.definition.compiled.keys).map(quoteIdentifier);
  const assignments = names.map((name) => `${name} = excluded.${name}`);
  return `ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${assignments.join(', ')} `;
}

/**
 * A query that is run whole has no windows to tell old rows by: with `keep`, what a run no longer gives stays. The rows of one grid
 * time of a recording query are always those of its last run.
 */
function keepsVanished({ definition }: PlanText): boolean {
  const { window, history, keys } = definition.compiled;
  return definition.options.onDelete === 'keep' && window === null && history === null && keys.length > 0;
}

function mayMove({ definition }: PlanText): boolean {
  const { window, keys } = definition.compiled;
  return window !== null && keys.length > 0 && !keys.includes(window.column);
}

/** In the order of the query's columns. */
function columnsOfSink({ definition }: PlanText): string[] {
  return sinkNames(definition, definition.compiled.columns).map(quoteIdentifier);
}

function repeatedKeys(plan: PlanText): string {
  const keys = keyPositions(plan).map((position) => `fresh.c${position}`);
  if (keys.length === 0) return 'FALSE';
  return `EXISTS (SELECT 1 FROM fresh GROUP BY ${keys.join(', ')} HAVING count(*) > 1)`;
}

function freshFilter(plan: PlanText): string {
  const { window, history } = plan.definition.compiled;
  if (history !== null) return isOfGridTime(plan, history, (position) => `q.c${position}`);
  if (window === null || plan.ranges.length === 0) return 'TRUE';
  return labelFilter(`q.c${positionOf(plan, window.column)}`, plan.ranges, labelFromBounds(plan.ranges));
}

function sinkFilter(plan: PlanText, reference: (position: number) => string): string {
  const { window, history } = plan.definition.compiled;
  if (history !== null) return isOfGridTime(plan, history, reference);
  if (window === null || plan.ranges.length === 0) return 'TRUE';
  return labelFilter(reference(positionOf(plan, window.column)), plan.ranges, (bound) => labelAt(window, bound));
}

/** Rows of other grid times are history. */
function isOfGridTime(plan: PlanText, history: CompiledHistory, reference: (position: number) => string): string {
  return `${reference(positionOf(plan, history.column))} = ${historyAt(history, plan.gridTime)}`;
}

function keyPositions(plan: PlanText): number[] {
  return plan.definition.compiled.keys.map((key) => positionOf(plan, key));
}

function positionOf({ definition }: PlanText, column: string): number {
  const position = definition.compiled.columns.indexOf(column);
  if (position === -1) {
    throw new SluiceError('internal', 'the compiled query of the flow has no output column for one of its keys');
  }
  return position;
}
