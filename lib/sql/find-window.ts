import type { RangeVar, SelectStmt } from 'libpg-query';
import { columnName, UNNAMED } from './column-name.ts';
import { type Aggregate, aggregatesOf, keyColumns, type MissingKey } from './group-keys.ts';
import { sameLabels, type WindowMeaning } from './label.ts';
import { rowMultiplier } from './multiplied-rows.ts';
import { type NoWindow, no, UNKNOWN_STAR } from './no-window.ts';
import type { PlainGroupItem, QueryModel } from './query-model.ts';
import { filtersOf, halfFiltered, type ScanFilter } from './scan-filters.ts';
import { traceWindow, type WindowTrace } from './trace.ts';
import { branchesOf, nameParts, startOf } from './tree.ts';
import { distinguishingColumns } from './union-branches.ts';
import { windowCall } from './window-call.ts';
import { windowMeaning } from './window-definition.ts';
import { unwrap } from './wrappers.ts';

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

const NONE_IN_BRANCHES =
  'the branches of the set operation have no window among their group keys; group each by one, or aggregate over all of it: SELECT … FROM (…) AS x GROUP BY …';

const SAME_KEYS =
  "two branches of the UNION ALL could give rows of the same key; add a column that is another constant in each, such as 'web' AS kind, or put the UNION ALL below one GROUP BY: SELECT … FROM (…) AS x GROUP BY …";

const NONE =
  "the query has no window among its group keys; group by date_bin('5 minutes', time) or date_trunc('hour', time), or select it DISTINCT, where time is a column of a table";

/**
 * The window among the keys of the outermost GROUP BY or DISTINCT, and the scans that a plan filters by it. Branches of a UNION ALL
 * at the top have one each.
 */
export function findWindow(model: QueryModel, select: SelectStmt, sessionZone: string): FoundWindow | NoWindow {
  const branches = branchesOf(select);
  const [leading] = branches;
  for (const branch of branches) {
    if (model.outputs(branch) !== null) continue;
    return no(startOf(branch.targetList), UNKNOWN_STAR);
  }
  let first: NoWindow | null = null;
  for (const index of (model.outputs(leading) ?? []).keys()) {
    const trace = traceWindow(model, select, index);
    if (trace === null || !branches.some((branch) => aggregatesOf(model, branch, index).length > 0)) continue;
    const found = judge(model, select, index, trace, sessionZone);
    if ('meaning' in found) return found;
    if (first === null || (found.hopeless && !first.hopeless)) first = found;
  }
  if (first !== null) return first;
  if (branches.length > 1) return no(startOf(select), NONE_IN_BRANCHES);
  return hiddenWindow(model, select) ?? no(startOf(select.groupClause), NONE);
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
  const [blocked] = [...trace.blockers, ...halfFiltered(model, trace.passed)];
  if (blocked !== undefined) {
    return no(blocked.location, `a filter on the window's time would change the answer: ${blocked.reason}`);
  }
  const [meaning, ...others] = meanings;
  const location = trace.calls[0]?.call.location ?? -1;
  if (meaning === undefined) return no(location, NONE);
  const other = others.findIndex((each) => !sameLabels(each, meaning));
  if (other !== -1) {
    return no(
      trace.calls[other + 1]?.call.location ?? location,
      'the branches of the UNION ALL cut time into different windows, or label them otherwise; give all of them one length or unit, one zone and one type',
    );
  }
  const filters = filtersOf(trace.calls.flatMap(({ scans }) => scans));
  if ('reason' in filters) return filters;
  // A date has no type of its own to be compared in.
  const dates = [...filters.values()].find(({ type }) => type === 'date');
  if (dates !== undefined && others.some(({ argumentType }) => argumentType !== meaning.argumentType)) {
    const reason =
      'the branches of the UNION ALL read a date and a time otherwise; cast the date to the type of the time';
    return no(dates.scan.reference.location ?? -1, reason);
  }
  const identity = identityOf(model, branchesOf(select), index);
  if ('reason' in identity) return identity;
  return { meaning, index, filters, ...identity };
}

export type Identity = Pick<FoundWindow, 'keys' | 'joinedAbove'>;

/** Keys of a branch are keys of the whole where rows of two branches differ anyway. */
function identityOf(model: QueryModel, branches: readonly SelectStmt[], index: number): Identity | NoWindow {
  const keys = new Set([index]);
  let joinedAbove = false;
  for (const branch of branches) {
    const own = branchIdentity(model, branch, index);
    if ('reason' in own) return own;
    for (const key of own.keys) keys.add(key);
    joinedAbove ||= own.joinedAbove;
  }
  if (branches.length > 1) {
    const marks = distinguishingColumns(model, branches);
    if (marks === null) return no(startOf(branches[1]), SAME_KEYS);
    for (const key of marks) keys.add(key);
  }
  return { keys: [...keys], joinedAbove };
}

/** By an aggregate that nothing is joined to if there is one: then no two rows can have one key. */
export function branchIdentity(model: QueryModel, select: SelectStmt, index: number): Identity | NoWindow {
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
    if ('length' in keys) return { keys, joinedAbove: aggregate.joined };
    first ??= missingKey(model, aggregate, keys);
  }
  return first ?? no(startOf(select), NONE);
}

function missingKey(model: QueryModel, { select, distinct }: Aggregate, key: MissingKey): NoWindow {
  if ('repeated' in key) {
    return no(
      key.repeated.location,
      'grouping sets that are the same give a row twice; write GROUP BY DISTINCT, or each once',
    );
  }
  if ('untold' in key) {
    const names = key.untold.map((item) => itemName(model, select, item) ?? '…');
    const grouping = `GROUPING(${[...new Set(names)].join(', ')})`;
    return no(
      key.location,
      `a key that is rolled up is NULL, and so may be one that is not, so two rows of the sink could have the same key; select ${grouping} AS level too, which tells them apart`,
    );
  }
  const name = itemName(model, select, key.missing);
  const quoted = name === null ? null : JSON.stringify(name);
  const missing = distinct
    ? `${quoted ?? 'this'}, a column of the SELECT DISTINCT,`
    : quoted === null
      ? 'this group key'
      : `the group key ${quoted}`;
  return no(
    itemLocation(key.missing),
    `${missing} is not in the select list as it is, so two rows of the sink could have the same key; select it too, without a cast`,
  );
}

function itemName(model: QueryModel, select: SelectStmt, item: PlainGroupItem): string | null {
  const name = item.kind === 'output' ? model.outputs(select)?.[item.index]?.name : columnName(item.node);
  return name == null || name === UNNAMED ? null : name;
}

/** One for each call. */
function meaningsOf({ calls }: WindowTrace, sessionZone: string): WindowMeaning[] | NoWindow {
  const meanings: WindowMeaning[] = [];
  for (const { call, functionName, wrappers, conversions, scans } of calls) {
    // Without a scan there is a blocker; what is wrong with the constants is still found out.
    const types = scans.length === 0 ? (['timestamptz'] as const) : scans.map(({ column }) => column.timeType);
    let first: WindowMeaning | null = null;
    for (const [at, column] of types.entries()) {
      if (column === null) {
        const { name = '', type = '' } = scans[at]?.column ?? {};
        const reason = `column ${JSON.stringify(name)} is of type ${type}; a window is cut from timestamptz, timestamp or date`;
        return no(call.location, reason);
      }
      const meaning = windowMeaning({ call, functionName, wrappers, conversions, column }, sessionZone);
      if ('bad' in meaning) return { reason: meaning.bad, location: call.location, hopeless: true };
      if ('obstacle' in meaning) return no(call.location, meaning.obstacle);
      first ??= meaning;
      if (describe(meaning) !== describe(first)) {
        return no(
          call.location,
          'the branches of the UNION ALL give it times of different types; cast them to one type above the UNION ALL, or cut each branch by itself',
        );
      }
    }
    if (first !== null) meanings.push(first);
  }
  return meanings;
}

function describe(meaning: WindowMeaning): string {
  return JSON.stringify(meaning, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** A window that is grouped by but not selected. */
function hiddenWindow(model: QueryModel, select: SelectStmt): NoWindow | null {
  for (const item of model.groupItems(select)) {
    if (item.kind === 'grouping_sets') {
      return no(
        item.location,
        'ROLLUP, CUBE and GROUPING SETS make groups that span windows; group by the window outside of them',
      );
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

function itemLocation(item: PlainGroupItem): number {
  return item.kind === 'expression' ? startOf(item.node) : item.location;
}
