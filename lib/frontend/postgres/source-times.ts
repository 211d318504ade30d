import { SluiceError } from '../../errors.ts';
import type { CompiledQuery, CompiledSource, CompiledWindow, FlowDefinition } from '../../flow/definition.ts';
import { sinkNames } from '../../flow/sink-names.ts';
import { DAY, INSTANT_MAX, INSTANT_MIN, type Instant, instant, type Micros } from '../../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../../window/time-range.ts';
import type { FirstAndLast, Surveyed } from '../frontend.ts';
import { ask, questionSettings } from './ask.ts';
import type { Connections, Row } from './connections.ts';
import { labelAt, timeFilter } from './query-text.ts';
import { instantLiteral, quoteIdentifier, quoteLiteral, quoteTable } from './sql-text.ts';

/** A warning at creation is worth this much of a scan where no index helps, and no more. */
const UNWINDOWED_MS = 3_000;

type FilteredSource = CompiledSource & { readonly timeColumn: string };

/**
 * null: the scan did not end in time, so nothing is known. Columns that are NOT NULL are not scanned for NULL; an index on the column
 * answers the rest at once.
 */
export async function hasUnwindowedRows(
  connections: Connections,
  { compiled, options }: Pick<FlowDefinition, 'compiled' | 'options'>,
): Promise<boolean | null> {
  const conditions = filteredSources(compiled).flatMap((source) => {
    const table = quoteTable(source);
    const column = `s.${quoteIdentifier(source.timeColumn)}`;
    return [
      `NOT ${isNotNull(source)} AND EXISTS (SELECT FROM ${table} AS s WHERE ${column} IS NULL)`,
      `EXISTS (SELECT FROM ${table} AS s WHERE ${column} = 'infinity')`,
      `EXISTS (SELECT FROM ${table} AS s WHERE ${column} = '-infinity')`,
    ];
  });
  if (conditions.length === 0) return false;
  try {
    const settings = questionSettings(UNWINDOWED_MS, options.timeZone);
    const statement = `SELECT ${conditions.join('\nOR ')} AS found`;
    const [row] = await ask(connections, settings, statement, 'looking for rows without a finite time');
    return row?.['found'] === 't';
  } catch (error) {
    if (error instanceof SluiceError && (error.code === 'statement_timeout' || error.code === 'lock_timeout'))
      return null;
    throw error;
  }
}

function isNotNull(source: FilteredSource): string {
  return `(SELECT a.attnotnull FROM pg_attribute AS a
WHERE a.attrelid = ${quoteLiteral(quoteTable(source))}::regclass AND a.attname = ${quoteLiteral(source.timeColumn)}::name)`;
}

/** One question for all sources and the sink; each side of each is one step into an index, where there is one. */
export async function timeRange(
  connections: Connections,
  definition: Surveyed,
  within: TimeRange,
  budgetMs: number,
): Promise<{ readonly source: FirstAndLast | null; readonly sink: FirstAndLast | null }> {
  const { sink, compiled, options } = definition;
  const { window } = compiled;
  if (window === null) throw new SluiceError('internal', 'a flow without a window expression has no time range');
  const [label = ''] = sinkNames(definition, [window.column]);
  const statement = `SELECT min(o.first) AS first, max(o.last) AS last, NULL AS skew FROM (
${endsOfSources(compiled, window, within, { first: 'ASC', last: 'DESC' })}
) AS o UNION ALL
${sink === null ? "SELECT NULL, NULL, '0'" : labelsOfSink(quoteTable(sink), quoteIdentifier(label), window, within)}`;
  const rows = await ask(
    connections,
    questionSettings(budgetMs, options.timeZone),
    statement,
    'asking for the time range of source and sink',
  );
  return { source: rangeOf(rows[0], within, 0n), sink: rangeOf(rows[1], within, BigInt(rows[1]?.['skew'] ?? '0')) };
}

/** One row: the time of the oldest row of all sources in `oldest`, in microseconds; NULL where none has a finite time. */
export function oldestOfSources(compiled: CompiledQuery, window: CompiledWindow): string {
  return `SELECT min(o.first) AS oldest FROM (
${endsOfSources(compiled, window, ALL_TIME, { first: 'ASC' })}
) AS o`;
}

/** One row per source, with the times at the ends that are asked for. */
function endsOfSources(
  compiled: CompiledQuery,
  { argumentType }: CompiledWindow,
  within: TimeRange,
  ends: Readonly<Record<string, 'ASC' | 'DESC'>>,
): string {
  const rows = filteredSources(compiled).map((source) => {
    const type = timeTypeOf(compiled, source);
    const axis = type === 'date' ? argumentType : type;
    const column = `s.${quoteIdentifier(source.timeColumn)}`;
    const from = `FROM ${quoteTable(source)} AS s WHERE ${timeFilter(column, axis, [within])}`;
    const columns = Object.entries(ends).map(
      ([name, direction]) =>
        `(SELECT ${micros(column, axis)} ${from} ORDER BY ${column} ${direction} LIMIT 1) AS ${quoteIdentifier(name)}`,
    );
    return `SELECT ${columns.join(', ')}`;
  });
  return rows.join('\nUNION ALL\n');
}

/**
 * A label may lie outside of its own window, so it is compared with the labels at the bounds, as the server computes them. The value
 * that comes back is a time only where the label has the type that the window expression takes; else it was read in a zone
 * that only the expression knows, and counts as a day earlier and later, which no zone's offset exceeds.
 */
function labelsOfSink(table: string, column: string, window: CompiledWindow, within: TimeRange): string {
  const axis = window.argumentType;
  const sides = [
    within.start === INSTANT_MIN
      ? `s.${column} > '-infinity'`
      : `s.${column} >= (SELECT ${labelAt(window, within.start)})`,
    within.end === INSTANT_MAX ? `s.${column} < 'infinity'` : `s.${column} < (SELECT ${labelAt(window, within.end)})`,
  ];
  const end = (direction: string) =>
    `(SELECT ${micros(`s.${column}`, axis)} FROM ${table} AS s WHERE ${sides.join(' AND ')} ORDER BY s.${column} ${direction} LIMIT 1)`;
  return `SELECT ${end('ASC')}, ${end('DESC')}, CASE WHEN ${isOnAxis(window)} THEN '0' ELSE '${DAY}' END`;
}

function isOnAxis({ expression, argumentType }: CompiledWindow): string {
  const label = `${expression[0]}(${instantLiteral(0n as Instant, argumentType)})${expression[1]}`;
  return `pg_typeof(${label}) = 'pg_catalog.${argumentType}'::regtype`;
}

/** Exact: `extract` gives a numeric with all six digits. The last years do not fit into a bigint of microseconds since 1970. */
function micros(value: string, axis: 'timestamptz' | 'timestamp'): string {
  return `trunc(extract(epoch FROM ${value}::${axis}) * 1000000)`;
}

function rangeOf(row: Row | undefined, within: TimeRange, skew: Micros): FirstAndLast | null {
  if (row?.['first'] == null || row['last'] == null) return null;
  const first = instant(BigInt(row['first']) - skew);
  const last = instant(BigInt(row['last']) + skew);
  const latest = (within.end - 1n) as Instant;
  return { first: first < within.start ? within.start : first, last: last > latest ? latest : last };
}

function filteredSources(compiled: CompiledQuery): FilteredSource[] {
  return compiled.sources.filter((source): source is FilteredSource => source.timeColumn !== null);
}

/** As the hole for the source's scan says, whose column reference ends in the column's quoted name. */
function timeTypeOf(compiled: CompiledQuery, source: FilteredSource): 'timestamptz' | 'timestamp' | 'date' {
  const name = quoteIdentifier(source.timeColumn);
  for (const hole of compiled.holes) {
    if (hole.kind === 'filter' && (hole.column === name || hole.column.endsWith(`.${name}`))) return hole.type;
  }
  return compiled.window?.argumentType ?? 'timestamptz';
}
