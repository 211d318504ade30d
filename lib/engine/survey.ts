import type { FirstAndLast, Frontend, Surveyed } from '../frontend/frontend.ts';
import { INSTANT_MAX, type Instant } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { windowContaining, windowsNearLabel } from '../window/windows.ts';

/** Where inside the range that was asked about source and sink have rows. */
export interface Survey {
  /** Between the first and last row of source and sink, aligned outwards; null where neither has a row. */
  readonly data: TimeRange | null;
  /** Time of the first row of the source. */
  readonly sourceFirst: Instant | null;
  /** Start of the windows that can hold the first row of the sink. */
  readonly sinkStart: Instant | null;
}

/** Asks the frontend where inside `within` the source or the sink has rows. */
export async function takeSurvey(
  frontend: Frontend,
  definition: Surveyed,
  within: TimeRange,
  budgetMs: number,
): Promise<Survey> {
  const window = definition.compiled.window;
  if (window === null) return { data: ALL_TIME, sourceFirst: null, sinkStart: null };
  const { source, sink } = await frontend.timeRange(definition, within, budgetMs);
  return {
    data: dataRange(window.spec, source, sink),
    sourceFirst: source?.first ?? null,
    sinkStart: sink && windowsNearLabel(window.spec, sink.first).start,
  };
}

/** A label may lie outside of its own window, so the sink's side reaches one window further on both ends. */
function dataRange(spec: WindowSpec, source: FirstAndLast | null, sink: FirstAndLast | null): TimeRange | null {
  const sides: TimeRange[] = [];
  if (source !== null) {
    const last = windowContaining(spec, source.last);
    sides.push({ start: windowContaining(spec, source.first).start, end: last.end });
  }
  if (sink !== null) {
    sides.push({ start: windowsNearLabel(spec, sink.first).start, end: windowsNearLabel(spec, sink.last).end });
  }
  if (sides.length === 0) return null;
  return {
    start: sides.reduce((least, side) => (side.start < least ? side.start : least), INSTANT_MAX),
    end: sides.reduce((most, side) => (side.end > most ? side.end : most), ALL_TIME.start),
  };
}
