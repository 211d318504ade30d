import type { TableName } from '../flow/definition.ts';
import type { TableReader } from '../store/flow-store.ts';
import { clip, normalize } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN, type Instant, instant } from '../window/instant.ts';
import { ALL_TIME, intersect, type TimeRange } from '../window/time-range.ts';
import { alignOutwards, windowContaining } from '../window/windows.ts';
import type { EngineDeps } from './deps.ts';
import { existing } from './lifecycle.ts';

/** Times of changed rows. It must follow the commit of those rows, or a plan between the two would miss them. */
export interface Change {
  readonly timestamps: readonly Instant[];
  readonly ranges: readonly TimeRange[];
}

export interface MarkedFlow {
  readonly flow: string;
  /** Ranges written: aligned outwards, touching ones joined. */
  readonly marked: readonly TimeRange[];
}

/** Marks windows of one flow dirty. A flow without windows is run whole at its next tick. Throws `flow_not_found`. */
export async function markFlow(deps: EngineDeps, flow: string, change: Change): Promise<MarkedFlow> {
  const marks = await marksOfFlow(deps, flow, change);
  await writeMarks(deps, [marks]);
  return marks;
}

/** Marks windows of every flow that reads a table by time. The answer names also those that it dirties nothing of. */
export async function markTable(
  deps: EngineDeps,
  connection: string,
  table: TableName,
  change: Change,
): Promise<readonly MarkedFlow[]> {
  const marks = await marksOfTable(deps, connection, table, change);
  await writeMarks(deps, marks);
  return marks;
}

/** What {@link markFlow} would write. */
export async function marksOfFlow(deps: EngineDeps, flow: string, change: Change): Promise<MarkedFlow> {
  const { definition } = existing(flow, await deps.store.load(flow, { limit: 1, order: 'newest' }));
  const { window } = definition.compiled;
  const marked =
    window === null
      ? [ALL_TIME]
      : dirtyRanges(
          { window: window.spec, refreshesWhole: false, expireAfter: definition.expireAfter },
          change,
          deps.clock(),
        );
  return { flow, marked };
}

/** What {@link markTable} would write. */
export async function marksOfTable(
  deps: EngineDeps,
  connection: string,
  table: TableName,
  change: Change,
): Promise<readonly MarkedFlow[]> {
  const now = deps.clock();
  const readers = await deps.store.readersOf(connection, table);
  return readers.map((reader) => ({ flow: reader.flow, marked: dirtyRanges(reader, change, now) }));
}

async function writeMarks({ store }: EngineDeps, marks: readonly MarkedFlow[]): Promise<void> {
  await store.markDirty(marks.flatMap(({ flow, marked }) => marked.map((range) => ({ flow, range }))));
}

/**
 * The windows of a change: aligned outwards, joined where they touch, without those that are expired. A change of a table that is
 * read whole dirties everything, or nothing.
 */
export function dirtyRanges(
  reader: Pick<TableReader, 'window' | 'refreshesWhole' | 'expireAfter'>,
  change: Change,
  now: Instant,
): readonly TimeRange[] {
  const spec = reader.window;
  if (spec === null) return reader.refreshesWhole ? [ALL_TIME] : [];
  const windows = [
    ...change.timestamps.map((t) => windowContaining(spec, t)),
    ...change.ranges.map((range) => alignOutwards(spec, range)),
  ];
  const bound =
    reader.expireAfter === null ? INSTANT_MIN : windowContaining(spec, instant(now - reader.expireAfter)).start;
  const live = intersect(ALL_TIME, { start: bound, end: INSTANT_MAX });
  return live === null ? [] : clip(normalize(windows), live);
}
