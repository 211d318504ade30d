import type { Node, SelectStmt, TypeName } from 'libpg-query';
import type { ColumnSource } from './from-tree.ts';
import { stringLiteral } from './literal.ts';
import type { NowCall } from './now-calls.ts';
import type { QueryModel } from './query-model.ts';
import { invalidQuery, type SourceText } from './source-text.ts';
import { quoteString } from './sql-literal.ts';
import { preserved } from './trace.ts';
import { branchesOf, builtinName, isSetOperation, nameParts, nodesUnder } from './tree.ts';

/** The output column of a recording query (`SELECT now() AS ts, …`) that is the time of the run. */
export interface Recording {
  /** Of the column. */
  readonly index: number;
  readonly expression: readonly [string, string];
  /** `hour`: another value at each grid time, but for an hour that a clock without a zone shows twice. `day`: one value per day. */
  readonly grain: 'instant' | 'hour' | 'day';
}

/** Tells when a row was written last rather than what it is about. */
const UPDATE_AT = 'update_at';

const GRAINS = ['instant', 'hour', 'day'] as const;

/**
 * Of several such columns the one that tells most runs apart. The column is `now()` or one of its like under nothing but conversions
 * between times, perhaps passed up by subqueries and by all branches of set operations. Throws `invalid_query`.
 */
export function findRecording(
  source: SourceText,
  model: QueryModel,
  select: SelectStmt,
  nows: readonly NowCall[],
): Recording | null {
  const search = { source, model, nows: new Map(nows.map((now) => [now.node, now])) };
  const [first] = branchesOf(select);
  const found = (model.outputs(first) ?? []).flatMap(({ name }, index): Recording[] => {
    const time = name === UPDATE_AT ? null : outputTime(search, select, index, []);
    return time === null ? [] : [{ index, ...time }];
  });
  for (const grain of GRAINS) {
    const fit = found.find((each) => each.grain === grain);
    if (fit !== undefined) return fit;
  }
  return null;
}

interface Search {
  readonly source: SourceText;
  readonly model: QueryModel;
  readonly nows: ReadonlyMap<object, NowCall>;
}

type RunTime = Omit<Recording, 'index'>;

function outputTime(search: Search, select: SelectStmt, index: number, above: readonly SelectStmt[]): RunTime | null {
  if (above.includes(select)) return null;
  const way = [...above, select];
  if (isSetOperation(select)) {
    const [left, right] = [select.larg, select.rarg].map((branch) => {
      return branch === undefined ? null : outputTime(search, branch, index, way);
    });
    return left != null && left.expression.join() === right?.expression.join() ? left : null;
  }
  const output = search.model.outputs(select)?.[index];
  if (output === undefined) return null;
  const time =
    output.value.kind === 'source'
      ? sourceTime(search, select, output.value.source, way)
      : timeOf(search, select, output.value.node, way);
  if (time !== null) refuseGroupingSets(search, select, index, output.name);
  return time;
}

function timeOf(search: Search, select: SelectStmt, expression: Node, way: readonly SelectStmt[]): RunTime | null {
  const [node] = Object.values(expression);
  const now = node === undefined ? undefined : search.nows.get(node);
  if (now !== undefined) return plainTime(now.type);
  if ('ColumnRef' in expression) {
    const source = search.model.resolve(select, expression.ColumnRef);
    return source === null ? null : sourceTime(search, select, source, way);
  }
  if ('TypeCast' in expression) {
    const { arg, typeName } = expression.TypeCast;
    const type = typeName === undefined ? null : timeType(typeName);
    const inner = arg === undefined || type === null ? null : timeOf(search, select, arg, way);
    return inner === null || type === null ? null : converted(inner, 'CAST(', ` AS ${type})`, grainOf(type));
  }
  if ('FuncCall' in expression && builtinName(expression.FuncCall) === 'timezone') {
    const [zone, value, more] = expression.FuncCall.args ?? [];
    const name = zone === undefined ? null : stringLiteral(zone);
    if (name === null || value === undefined || more !== undefined) return null;
    const inner = timeOf(search, select, value, way);
    return inner === null ? null : converted(inner, `pg_catalog.timezone(${quoteString(name.value)}, `, ')', 'hour');
  }
  return null;
}

function sourceTime(
  search: Search,
  select: SelectStmt,
  source: ColumnSource,
  way: readonly SelectStmt[],
): RunTime | null {
  const { column, blockers } = preserved(search.model.from(select), source);
  if (source.kind === 'merged' || blockers.length > 0 || column.leaf.origin.kind !== 'query') return null;
  return outputTime(search, column.leaf.origin.select, column.index, way);
}

/** `type` as in a {@link NowCall}; null for times of the day, which come again. */
function plainTime(type: string): RunTime | null {
  if (!/^(?:timestamp|date)/.test(type)) return null;
  return { expression: ['CAST(', ` AS ${type})`], grain: grainOf(type) };
}

function converted(inner: RunTime, before: string, after: string, grain: RunTime['grain']): RunTime {
  const coarser = GRAINS.indexOf(grain) > GRAINS.indexOf(inner.grain) ? grain : inner.grain;
  return { expression: [before + inner.expression[0], inner.expression[1] + after], grain: coarser };
}

function grainOf(type: string): RunTime['grain'] {
  if (type === 'date') return 'day';
  return type.endsWith('with time zone') ? 'instant' : 'hour';
}

/** A time type as SQL writes it, with its precision; null for other types. */
function timeType({ names, typmods, arrayBounds }: TypeName): string | null {
  const [first, second] = nameParts(names);
  const name = second === undefined ? first : first === 'pg_catalog' ? second : undefined;
  const [digits] = typmods ?? [];
  if (arrayBounds !== undefined || (digits !== undefined && !('A_Const' in digits))) return null;
  const precision = digits === undefined ? '' : `(${digits.A_Const.ival?.ival ?? 0})`;
  if (name === 'timestamptz') return `timestamp${precision} with time zone`;
  if (name === 'timestamp') return `timestamp${precision}`;
  return name === 'date' ? 'date' : null;
}

/** A key that is rolled up is NULL in some rows, which then belong to no grid time. */
function refuseGroupingSets({ source, nows }: Search, select: SelectStmt, index: number, name: string | null): void {
  for (const item of select.groupClause ?? []) {
    if (!('GroupingSet' in item)) continue;
    for (const { kind, node } of nodesUnder(item.GroupingSet.content)) {
      const isOutput =
        nows.has(node) ||
        (kind === 'A_Const' && (node as { ival?: { ival?: number } }).ival?.ival === index + 1) ||
        (kind === 'ColumnRef' && nameParts(node['fields'] as Node[]).join('.') === name);
      if (!isOutput) continue;
      const reason = 'the time of the run is NULL where it is rolled up; keep it out of ROLLUP, CUBE and GROUPING SETS';
      throw invalidQuery(source, item.GroupingSet.location, reason);
    }
  }
}
