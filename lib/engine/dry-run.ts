import type { FlowDefinition } from '../flow/definition.ts';
import type { LoadedFlow } from '../store/flow-store.ts';
import { normalize } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { typicalLength } from '../window/windows.ts';
import type { EngineDeps } from './deps.ts';
import { effectiveDirty } from './effective-dirty.ts';
import { dirtyRanges } from './marks.ts';
import { takeSurvey } from './survey.ts';

// What calls would touch, found out without touching it.

const SURVEY_BUDGET_MS = 10_000;

/**
 * What plans would go through if everything were dirty: windows between the first and the last row of source and sink that are not
 * expired; all of time for a flow that runs whole. `sinkIsNew`: there is no such table yet.
 */
export async function rangesOfEverything(
  deps: EngineDeps,
  definition: Omit<FlowDefinition, 'generation'>,
  sinkIsNew: boolean,
): Promise<readonly TimeRange[]> {
  const { name, compiled, options, expireAfter } = definition;
  if (compiled.window === null) return [ALL_TIME];
  const window = compiled.window.spec;
  const surveyed = { compiled, options, sink: sinkIsNew ? null : definition.sink };
  const { data } = await takeSurvey(deps.frontend(options.connection), surveyed, ALL_TIME, SURVEY_BUDGET_MS);
  const change = { timestamps: [], ranges: data === null ? [] : [data] };
  return dirtyRanges({ flow: name, window, expireAfter }, change, deps.clock());
}

/** What still needs a plan, as far as it was read. */
export function waitingRanges(loaded: LoadedFlow): readonly TimeRange[] {
  return normalize(effectiveDirty(loaded).pending.flatMap(({ parts }) => parts));
}

/** How many windows the ranges hold, by their mean length where a calendar cuts them; null: without windows, or without end. */
export function countWindows(spec: WindowSpec | null, ranges: readonly TimeRange[]): bigint | null {
  if (spec === null || ranges.some(({ start, end }) => start === INSTANT_MIN || end === INSTANT_MAX)) return null;
  const length = typicalLength(spec);
  const counts = ranges.map(({ start, end }) => (end - start + length / 2n) / length);
  return counts.reduce((sum, each) => sum + (each > 0n ? each : 1n), 0n);
}
