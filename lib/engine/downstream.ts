import type { FlowDefinition } from '../flow/definition.ts';
import type { InFlightPlan, TableReader } from '../store/flow-store.ts';
import { DAY, type Instant, instant, type Micros } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import { stepWindows } from '../window/windows.ts';
import type { EngineDeps } from './deps.ts';
import { dirtyRanges } from './marks.ts';

/** Marks what a plan may have written dirty in every flow that reads its sink. Marking again does no harm. */
export async function markDownstream(
  deps: EngineDeps,
  definition: FlowDefinition,
  plan: Pick<InFlightPlan, 'coverage' | 'ranges'>,
): Promise<void> {
  const readers = await deps.store.readersOf(definition.options.connection, definition.sink);
  const now = deps.clock();
  const marks = readers.flatMap((reader) => {
    const change = { timestamps: [], ranges: writtenTimes(definition, plan, reader) };
    return dirtyRanges(reader, change, now).map((range) => ({ flow: reader.flow, range }));
  });
  if (marks.length > 0) await deps.store.markDirty(marks);
}

/** Where in the reader's time column rows of the plan lie. Only the column of labels tells. */
function writtenTimes(
  { compiled, sinkColumns }: FlowDefinition,
  { coverage, ranges }: Pick<InFlightPlan, 'coverage' | 'ranges'>,
  reader: TableReader,
): readonly TimeRange[] {
  const { window } = compiled;
  if (window === null || coverage === 'unfiltered_full') return [ALL_TIME];
  const label = sinkColumns[compiled.columns.indexOf(window.column)];
  if (label === undefined || label.name !== reader.timeColumn) return [ALL_TIME];
  const isOnAxis =
    label.type.startsWith('timestamp') &&
    label.type.includes('with time zone') === (window.argumentType === 'timestamptz');
  // As in a survey: a label lies at most a window away from its own, or a day where another zone reads it.
  const windows = isOnAxis && window.spec.kind === 'fixed' ? 0 : 1;
  const skew: Micros = isOnAxis ? 0n : DAY;
  const moved = (t: Instant, by: -1 | 1): Instant =>
    instant(stepWindows(window.spec, t, by * windows) + BigInt(by) * skew);
  return ranges.map(({ start, end }) => ({ start: moved(start, -1), end: moved(end, 1) }));
}
