import { SluiceError } from '../../errors.ts';
import type { CompiledHistory, CompiledQuery, CompiledWindow, QueryHole } from '../../flow/definition.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, plus } from '../../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../../window/time-range.ts';
import { instantLiteral } from './sql-text.ts';

/** What a plan fills into the holes of a compiled query. */
export interface Filling {
  /** null: rows are not filtered by time at all. */
  readonly ranges: readonly TimeRange[] | null;
  /** null: the time of the transaction. */
  readonly gridTime: Instant | null;
}

/** The whole query with its holes filled. It ends in a line break, so that a trailing comment ends too. */
export function queryText(compiled: CompiledQuery, filling: Filling): string {
  return `${compiled.text
    .map((text, index) => {
      const hole = compiled.holes[index];
      return hole === undefined ? text : text + holeText(compiled, hole, filling);
    })
    .join('')}\n`;
}

function holeText(compiled: CompiledQuery, hole: QueryHole, { ranges, gridTime }: Filling): string {
  switch (hole.kind) {
    case 'filter': {
      if (ranges === null) return 'TRUE';
      const type = hole.type === 'date' ? (compiled.window?.argumentType ?? 'timestamptz') : hole.type;
      return timeFilter(hole.column, type, ranges);
    }
    case 'now':
      return gridTime === null ? 'pg_catalog.now()' : instantLiteral(gridTime, 'timestamptz');
    default:
      return hole satisfies never;
  }
}

/**
 * Finite times inside the ranges. A date column is compared with a literal of the type that the window expression takes,
 * which the server does as if the date were cast in the session's zone, and with the help of an index on it.
 */
export function timeFilter(column: string, type: 'timestamptz' | 'timestamp', ranges: readonly TimeRange[]): string {
  return anyOf(
    ranges.map(({ start, end }) => {
      const from = start === INSTANT_MIN ? `> '-infinity'::pg_catalog.${type}` : `>= ${instantLiteral(start, type)}`;
      const to = end === INSTANT_MAX ? `'infinity'::pg_catalog.${type}` : instantLiteral(end, type);
      return `(${column} ${from} AND ${column} < ${to})`;
    }),
  );
}

/**
 * A one-row table of the labels at each bound of the ranges, as the server evaluates the window expression (`b0`, `b1`, …), and of
 * whether each bound is a break: a window on both sides of a bound would be cut in two.
 */
export function boundsTable(window: CompiledWindow | null, ranges: readonly TimeRange[]): string {
  const bounds = window === null ? [] : finiteBounds(ranges);
  const labels = bounds.map((bound, index) => `${labelAt(window, bound)} AS b${index}`);
  const breaks = bounds.map(
    (bound) => `${labelAt(window, plus(bound, -1n))} IS DISTINCT FROM ${labelAt(window, bound)}`,
  );
  return `SELECT ${[...labels, `${breaks.join(' AND ') || 'TRUE'} AS aligned`].join(',\n')}`;
}

/** Rows whose label belongs to the ranges. `labelOf` writes the label at a bound. */
export function labelFilter(label: string, ranges: readonly TimeRange[], labelOf: (bound: Instant) => string): string {
  return anyOf(
    ranges.map(({ start, end }) => {
      const sides = [
        ...(start === INSTANT_MIN ? [] : [`${label} >= ${labelOf(start)}`]),
        ...(end === INSTANT_MAX ? [] : [`${label} < ${labelOf(end)}`]),
      ];
      return sides.length === 0 ? 'TRUE' : `(${sides.join(' AND ')})`;
    }),
  );
}

/** Evaluated once for the whole statement. */
export function labelFromBounds(ranges: readonly TimeRange[]): (bound: Instant) => string {
  const bounds = finiteBounds(ranges);
  return (bound) => `(SELECT b${bounds.indexOf(bound)} FROM bounds)`;
}

/** Each once, ascending; a bound at the limits of time is none. */
function finiteBounds(ranges: readonly TimeRange[]): Instant[] {
  const bounds = new Set(ranges.flatMap(({ start, end }) => [start, end]));
  bounds.delete(INSTANT_MIN);
  bounds.delete(INSTANT_MAX);
  return [...bounds];
}

/** The value of the history column at a grid time, which is never taken from the clock. */
export function historyAt({ expression }: CompiledHistory, gridTime: Instant | null): string {
  if (gridTime === null) throw new SluiceError('internal', 'a recording query has no grid time to write under');
  return `(${expression[0]}${instantLiteral(gridTime, 'timestamptz')}${expression[1]})`;
}

/** The ranges that a plan writes: a whole query over a window writes every window. */
export function plannedRanges(compiled: CompiledQuery, ranges: readonly TimeRange[]): readonly TimeRange[] | null {
  if (compiled.window === null) {
    if (ranges.length > 0) {
      throw new SluiceError('internal', 'a plan has ranges, but its query has no window expression');
    }
    return null;
  }
  return ranges.length === 0 ? [ALL_TIME] : ranges;
}

export function labelAt(window: CompiledWindow | null, t: Instant): string {
  if (window === null) throw new SluiceError('internal', 'a query without a window expression has no labels');
  return `(${window.expression[0]}(${instantLiteral(t, window.argumentType)})${window.expression[1]})`;
}

function anyOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'FALSE' : `(${conditions.join(' OR ')})`;
}
