import type { SelectStmt } from 'libpg-query';
import { SluiceError } from '../errors.ts';
import type { FlowOptions, TimeColumnType } from '../flow/definition.ts';
import { parseInterval } from '../flow/interval.ts';
import { nearestName } from '../flow/nearest-name.ts';
import { DAY, type Instant } from '../window/instant.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { branchIdentity, type FoundWindow, type Identity } from './find-window.ts';
import { aggregatesOf } from './group-keys.ts';
import { wallReading } from './label.ts';
import { type NoWindow, no, UNKNOWN_STAR } from './no-window.ts';
import type { Output, QueryModel } from './query-model.ts';
import { filtersOf, halfFiltered } from './scan-filters.ts';
import { traceTime } from './trace.ts';
import { branchesOf, startOf } from './tree.ts';
import { calendarSpec } from './window-definition.ts';

/** The options that make windows for a query that computes none. */
export type WindowOptions = Pick<FlowOptions, 'key' | 'timeZone'> & {
  readonly window: string;
  readonly timeColumn: string;
};

/**
 * The window that the options give to a query whose output has a time column of a table, passed up as it is: that time is the label
 * of its row. A row is known by the group keys if the query has them, else by the option `key`, and then `keys` is empty. Throws
 * `invalid_option`.
 */
export function optionWindow(model: QueryModel, select: SelectStmt, options: WindowOptions): FoundWindow | NoWindow {
  const outputs = model.outputs(branchesOf(select)[0]);
  if (outputs === null) return no(startOf(select), UNKNOWN_STAR);
  const index = columnIndex(outputs, options.timeColumn);
  const name = JSON.stringify(options.timeColumn);
  const trace = traceTime(model, select, index);
  const [blocked] = [...trace.blockers, ...halfFiltered(model, trace.passed)];
  if (blocked !== undefined) return no(blocked.location, `window cannot cut time_column ${name}: ${blocked.reason}`);
  const [first, ...others] = trace.scans;
  const other = others.find(({ column }) => column.timeType !== first?.column.timeType) ?? first;
  const type = first?.column.timeType;
  if (type == null || other?.column.timeType !== type) {
    const location = other?.reference.location ?? -1;
    const found = `${JSON.stringify(other?.column.name)} is of type ${other?.column.type}`;
    return no(
      location,
      `window cannot cut time_column ${name}: ${found}; it must be timestamptz, timestamp or date, of one type in all tables`,
    );
  }
  const filters = filtersOf(trace.scans);
  if ('reason' in filters) return filters;
  const identity = identityOf(model, select, index, options);
  if ('reason' in identity) return identity;
  const argumentType = type === 'timestamp' ? type : 'timestamptz';
  const spec = specOf(options, type);
  const reading = type === 'timestamp' ? [wallReading('UTC')] : [];
  return {
    meaning: { spec, expression: ['', ''], argumentType, labelType: type, reading },
    index,
    filters,
    ...identity,
  };
}

function columnIndex(outputs: readonly Output[], name: string): number {
  const index = outputs.findIndex((output) => output.name === name);
  if (index !== -1) return index;
  const names = outputs.flatMap((output) => output.name ?? []);
  const near = nearestName(name, names);
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  throw invalid(
    `Option time_column names ${JSON.stringify(name)}, which is no column of the query.${meant} Its columns: ${names.join(', ')}.`,
  );
}

function identityOf(model: QueryModel, select: SelectStmt, index: number, { key }: WindowOptions): Identity | NoWindow {
  const aggregates = branchesOf(select).length > 1 ? [] : aggregatesOf(model, select, index);
  const certain = aggregates.some(({ distinct, joined }) => !distinct && !joined);
  if (certain || (key.length === 0 && aggregates.length > 0)) return branchIdentity(model, select, index);
  if (key.length > 0) return { keys: [], joinedAbove: false };
  throw invalid(
    'window and time_column need key, the columns that identify a row of the query, such as key = (id): it has no group keys that would tell.',
  );
}

/** Days and longer are those of the calendar, in the flow's zone where the column has none of its own. */
function specOf({ window, timeZone }: WindowOptions, type: TimeColumnType): WindowSpec {
  const unit = /^\s*(?:1\s+)?(day|week|month|quarter|year)\s*$/i.exec(window)?.[1]?.toLowerCase();
  if (unit !== undefined) return calendarSpec(unit as CalendarLength, type === 'timestamp' ? 'UTC' : timeZone);
  const size = parseInterval(window);
  if (type === 'date' && size % DAY !== 0n) {
    throw invalid(
      `window = '${window}' cannot cut a column of type date; give whole days, such as '1 day' or '1 month'.`,
    );
  }
  return { kind: 'fixed', size, origin: 0n as Instant };
}

type CalendarLength = 'day' | 'week' | 'month' | 'quarter' | 'year';

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_option', message);
}
