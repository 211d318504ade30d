import type { RangeVar, SelectStmt } from 'libpg-query';
import type { TimeColumnType } from '../flow/definition.ts';
import { columnName, UNNAMED } from './column-name.ts';
import { type Aggregate, aggregatesOf, keyColumns } from './group-keys.ts';
import type { WindowMeaning } from './label.ts';
import { rowMultiplier } from './multiplied-rows.ts';
import type { GroupItem, QueryModel } from './query-model.ts';
import { type Blocker, type Scan, traceWindow, type WindowTrace } from './trace.ts';
import { isSetOperation, nameParts, startOf } from './tree.ts';
import { windowCall } from './window-call.ts';
import { windowMeaning } from './window-definition.ts';
import { unwrap } from './wrappers.ts';

/** A column of a scan that is filtered by window. */
export interface ScanFilter {
  readonly scan: Scan;
  readonly type: TimeColumnType;
}

export interface FoundWindow {
  readonly meaning: WindowMeaning;
  /** Of the label among the output columns. */
  readonly index: number;
  /** Output columns that identify a row, the label first. */
  readonly keys: readonly number[];
  readonly filters: ReadonlyMap<RangeVar, ScanFilter>;
  /** Other tables are joined above the aggregate, and may multiply its rows. */
  readonly joinedAbove: boolean;
}

/** Why the query has no window that a plan could be cut by. */
export interface NoWindow {
  readonly reason: string;
  readonly location: number;
  /** The query names a window that cannot be: no eval interval makes it right. */
  readonly hopeless: boolean;
}

const NONE =
  "the query has no window among its group keys; group by date_bin('5 minutes', time) or date_trunc('hour', time), or select it DISTINCT, where time is a column of a table";

/** The window among the keys of the outermost GROUP BY or DISTINCT, and the scans that a plan filters by it. */
export function findWindow(model: QueryModel, select: SelectStmt, sessionZone: string): FoundWindow | NoWindow {
  if (isSetOperation(select)) {
    return no(
      startOf(select),
      'rows of a set operation have no key; aggregate over it: SELECT … FROM (…) AS x GROUP BY …',
    );
  }
  const outputs = model.outputs(select);
  if (outputs === null) {
    return no(startOf(select.targetList), 'the star stands for columns that are not known here; list the columns');
  }
  let first: NoWindow | null = null;
  for (const index of outputs.keys()) {
    const trace = traceWindow(model, select, index);
    if (trace === null || aggregatesOf(model, select, index).length === 0) continue;
    const found = judge(model, select, index, trace, sessionZone);
    if ('meaning' in found) return found;
    if (first === null || (found.hopeless && !first.hopeless)) first = found;
  }
  return first ?? hiddenWindow(model, select) ?? no(startOf(select.groupClause), NONE);
}

function judge(
  model: QueryModel,
  select: SelectStmt,
  index: number,
  trace: WindowTrace,
  sessionZone: string,
): FoundWindow | NoWindow {
  const meanings = meaningsOf(trace, sessionZone);
  if ('reason' in meanings) return meanings;
  const [blocked] = [...trace.blockers, ...halfFiltered(model, trace)];
  if (blocked !== undefined) {
    return no(blocked.location, `a filter on the window's time would change the answer: ${blocked.reason}`);
  }
  const [meaning, ...others] = meanings;
  const location = trace.calls[0]?.call.location ?? -1;
  if (meaning === undefined) return no(location, NONE);
  const text = describe(meaning);
  if (others.some((other) => describe(other) !== text)) {
    return no(location, 'the branches of the UNION ALL cut time into different windows');
  }
  const filters = filtersOf(trace);
  if ('reason' in filters) return filters;
  const identity = identityOf(model, select, index);
  if ('reason' in identity) return identity;
  return { meaning, index, filters, ...identity };
}

/** By an aggregate that nothing is joined to if there is one: then no two rows can have one key. */
function identityOf(
  model: QueryModel,
  select: SelectStmt,
  index: number,
): Pick<FoundWindow, 'keys' | 'joinedAbove'> | NoWindow {
  const aggregates = aggregatesOf(model, select, index);
  let first: NoWindow | null = null;
  for (const aggregate of [...aggregates].sort((a, b) => Number(a.joined) - Number(b.joined))) {
    const multiplier = rowMultiplier(model, select, aggregate);
    if (multiplier !== null) {
      const name = nameParts(multiplier.funcname).at(-1);
      const reason = `${name}() makes several rows of one group, which then have the same key; call it in FROM, and group by what it gives`;
      first ??= no(multiplier.location ?? -1, reason);
      continue;
    }
    const keys = keyColumns(model, select, aggregate, index);
    if (!('missing' in keys)) return { keys, joinedAbove: aggregate.joined };
    first ??= missingKey(model, aggregate, keys.missing);
  }
  return first ?? no(startOf(select.groupClause), NONE);
}

function missingKey(model: QueryModel, { select, distinct }: Aggregate, item: GroupItem): NoWindow {
  const name =
    item.kind === 'output'
      ? model.outputs(select)?.[item.index]?.name
      : item.kind === 'expression'
        ? columnName(item.node)
        : null;
  const quoted = name == null || name === UNNAMED ? null : JSON.stringify(name);
  const key = distinct
    ? `${quoted ?? 'this'}, a column of the SELECT DISTINCT,`
    : quoted === null
      ? 'this group key'
      : `the group key ${quoted}`;
  return no(
    itemLocation(item),
    `${key} is not in the select list as it is, so two rows of the sink could have the same key; select it too, without a cast`,
  );
}

function meaningsOf({ calls }: WindowTrace, sessionZone: string): WindowMeaning[] | NoWindow {
  const meanings: WindowMeaning[] = [];
  for (const { call, functionName, wrappers, conversions, scans } of calls) {
    // Without a scan there is a blocker; what is wrong with the constants is still found out.
    const types = scans.length === 0 ? (['timestamptz'] as const) : scans.map(({ column }) => column.timeType);
    for (const [at, column] of types.entries()) {
      if (column === null) {
        const { name = '', type = '' } = scans[at]?.column ?? {};
        const reason = `column ${JSON.stringify(name)} is of type ${type}; a window is cut from timestamptz, timestamp or date`;
        return no(call.location, reason);
      }
      const meaning = windowMeaning({ call, functionName, wrappers, conversions, column }, sessionZone);
      if ('bad' in meaning) return { reason: meaning.bad, location: call.location, hopeless: true };
      if ('obstacle' in meaning) return no(call.location, meaning.obstacle);
      meanings.push(meaning);
    }
  }
  return meanings;
}

function describe(meaning: WindowMeaning): string {
  return JSON.stringify(meaning, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** WITH queries that are also read elsewhere, where the filter inside of them would take rows away. */
function halfFiltered(model: QueryModel, { passed }: WindowTrace): Blocker[] {
  const { ctes } = model.references;
  return passed.flatMap((reference) => {
    const cte = ctes.get(reference);
    const other = [...ctes].find(([each, of]) => of === cte && !passed.includes(each));
    if (cte === undefined || other === undefined) return [];
    const reason = `${JSON.stringify(cte.name)} is read again here, where its rows must not be filtered; write it out a second time`;
    return [{ reason, location: other[0].location ?? -1 }];
  });
}

function filtersOf({ calls }: WindowTrace): ReadonlyMap<RangeVar, ScanFilter> | NoWindow {
  const filters = new Map<RangeVar, ScanFilter>();
  const columns = new Map<string, string>();
  for (const scan of calls.flatMap(({ scans }) => scans)) {
    const { reference, relation, column } = scan;
    const location = reference.location ?? -1;
    const table = JSON.stringify([relation.schema, relation.table]);
    const known = columns.get(table);
    if (known !== undefined && known !== column.name) {
      const both = `${JSON.stringify(known)} and by ${JSON.stringify(column.name)}`;
      return no(location, `this table would be filtered by ${both}; a table has one time column in a flow`);
    }
    columns.set(table, column.name);
    filters.set(reference, { scan, type: column.timeType ?? 'timestamptz' });
  }
  return filters;
}

/** A window that is grouped by but not selected. */
function hiddenWindow(model: QueryModel, select: SelectStmt): NoWindow | null {
  for (const item of model.groupItems(select)) {
    if (item.kind === 'grouping_sets') {
      return no(item.location, 'ROLLUP, CUBE and GROUPING SETS make groups that span windows; group by plain keys');
    }
    if (item.kind === 'expression' && windowCall(unwrap(item.node).inner) !== null) {
      return no(
        startOf(item.node),
        'the window is grouped by but not in the select list; select it too, it is the label of the rows',
      );
    }
  }
  return null;
}

function itemLocation(item: GroupItem): number {
  return item.kind === 'expression' ? startOf(item.node) : item.location;
}

function no(location: number, reason: string): NoWindow {
  return { reason, location, hopeless: false };
}
