import type { FlowDefinition } from '../flow/definition.ts';
import type { SurplusRows } from '../frontend/frontend.ts';
import type { InFlightPlan, LoadedFlow } from '../store/flow-store.ts';
import { normalize } from '../window/dirty-set.ts';
import { INSTANT_MAX, INSTANT_MIN } from '../window/instant.ts';
import { ALL_TIME, type TimeRange } from '../window/time-range.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { typicalLength } from '../window/windows.ts';
import type { EngineDeps } from './deps.ts';
import { effectiveDirty } from './effective-dirty.ts';
import { dirtyRanges } from './marks.ts';
import { planNext } from './planner.ts';
import { NEW_FLOW_STATE } from './state.ts';
import { type Survey, takeSurvey } from './survey.ts';

// What calls would touch, found out without touching it.

const SURVEY_BUDGET_MS = 10_000;
const SURPLUS_BUDGET_MS = 8_000;
const SURPLUS_SHOWN = 20;
/** With more ranges than this the database is not asked for an estimate. */
const MOST_RANGES = 100;

/**
 * What plans would go through if everything were dirty: windows between the first and the last row of source and sink that are not
 * expired; all of time for a flow that runs whole. `sinkIsNew`: there is no such table yet.
 */
export async function rangesOfEverything(
  deps: EngineDeps,
  definition: Omit<FlowDefinition, 'generation'>,
  sinkIsNew: boolean,
): Promise<readonly TimeRange[]> {
  const { compiled, options, expireAfter } = definition;
  if (compiled.window === null) return [ALL_TIME];
  const window = compiled.window.spec;
  const surveyed = { ...definition, sink: sinkIsNew ? null : definition.sink };
  const { data } = await takeSurvey(deps.frontend(options.connection), surveyed, ALL_TIME, SURVEY_BUDGET_MS);
  const change = { timestamps: [], ranges: data === null ? [] : [data] };
  return dirtyRanges({ window, refreshesWhole: false, expireAfter }, change, deps.clock());
}

/** What still needs a plan, as far as it was read. */
export function waitingRanges(loaded: LoadedFlow): readonly TimeRange[] {
  return normalize(effectiveDirty(loaded).pending.flatMap(({ parts }) => parts));
}

/** What the plans over these dirty ranges would do, as far as the database can tell beforehand. */
export interface Foreseen {
  /** Of the sink, where it is new, and of the first plan. */
  readonly statements: readonly string[];
  /** That the query gives for all of the ranges, as the database expects; null: not known. */
  readonly rows: bigint | null;
  /** Rows of the sink that the first plan would delete; null: there is no sink yet, or it was not found out in time. */
  readonly surplus: SurplusRows | null;
}

/** `ranges` hold whole windows; empty: no plan would run. */
export async function foresee(
  deps: EngineDeps,
  definition: FlowDefinition,
  ranges: readonly TimeRange[],
  sinkIsNew: boolean,
  forced = false,
): Promise<Foreseen> {
  const frontend = deps.frontend(definition.options.connection);
  const ddl = sinkIsNew ? frontend.sinkStatements(definition) : [];
  if (ranges.length === 0) return { statements: ddl, rows: null, surplus: null };
  const { generation: epoch } = definition;
  const plan = await firstPlan(deps, definition, ranges, { sinkIsNew, forced });
  if (plan === null) return { statements: ddl, rows: null, surplus: null };
  const first = { definition, epoch, ranges: plan.ranges, gridTime: plan.gridTime };
  const all = { ...first, ranges: definition.compiled.window === null ? [] : ranges };
  return {
    statements: [...ddl, frontend.planStatement(first)],
    rows: ranges.length > MOST_RANGES ? null : await frontend.expectedRows(all),
    surplus: sinkIsNew ? null : await frontend.surplusRows(first, SURPLUS_SHOWN, SURPLUS_BUDGET_MS),
  };
}

/** What the planner would take first if these ranges were all that is dirty; null: none of them. */
async function firstPlan(
  deps: EngineDeps,
  definition: FlowDefinition,
  ranges: readonly TimeRange[],
  { sinkIsNew, forced }: { readonly sinkIsNew: boolean; readonly forced: boolean },
): Promise<Omit<InFlightPlan, 'epoch'> | null> {
  const { name, options } = definition;
  const stored = await deps.store.load(name, { limit: 1, order: 'newest' });
  const before = stored?.state ?? NEW_FLOW_STATE;
  const state = { ...before, settle: [], aside: [], windowLimit: null, failures: 0 };
  const dirty = ranges.map((range) => ({ ...range, version: '', forced }));
  const now = deps.clock();
  const planned = (survey: Survey | null) =>
    planNext(definition, { state, definition, dirty, more: false }, now, 'request', survey);
  let decision = planned(null);
  if (decision.kind === 'survey') {
    const surveyed = { ...definition, sink: sinkIsNew ? null : definition.sink };
    const { within } = decision;
    decision = planned(await takeSurvey(deps.frontend(options.connection), surveyed, within, SURVEY_BUDGET_MS));
  }
  return decision.kind === 'plan' ? decision.plan : null;
}

/** How many windows the ranges hold, by their mean length where a calendar cuts them; null: without windows, or without end. */
export function countWindows(spec: WindowSpec | null, ranges: readonly TimeRange[]): bigint | null {
  if (spec === null || ranges.some(({ start, end }) => start === INSTANT_MIN || end === INSTANT_MAX)) return null;
  const length = typicalLength(spec);
  const counts = ranges.map(({ start, end }) => (end - start + length / 2n) / length);
  return counts.reduce((sum, each) => sum + (each > 0n ? each : 1n), 0n);
}
