import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState } from '../store/flow-store.ts';
import { INSTANT_MIN, type Instant } from '../window/instant.ts';
import type { WindowSpec } from '../window/window-spec.ts';
import { windowContaining } from '../window/windows.ts';
import type { Survey } from './survey.ts';

type SourceAge = Pick<FlowState, 'sourceOldest' | 'frozenBefore'>;

/**
 * With `on_delete = keep`, before the first plan: a sink that has rows as old as the oldest row of the source, or older, may have
 * them from rows that the source has lost since, so those windows are frozen from the start. A sink without such rows
 * has nothing to lose.
 *
 * `unknown`: source and sink have to be asked over all time first. Otherwise what is to be recorded.
 */
export function firstSight(
  { compiled, options }: Pick<FlowDefinition, 'compiled' | 'options'>,
  { sourceOldest, frozenBefore }: SourceAge,
  survey: Survey | null,
  now: Instant,
): Partial<SourceAge> | 'unknown' {
  if (options.onDelete !== 'keep' || compiled.window === null || sourceOldest !== null) return {};
  if (survey === null) return 'unknown';
  const { spec } = compiled.window;
  const { sourceFirst, sinkStart } = survey;
  const isOld = sinkStart !== null && (sourceFirst === null || sinkStart < windowContaining(spec, sourceFirst).end);
  return {
    sourceOldest: sourceFirst,
    frozenBefore: isOld ? frozenBound(spec, sourceFirst, frozenBefore, now) : frozenBefore,
  };
}

/**
 * What is to be recorded when a plan was refused because the oldest row of the source is not what it was: `oldest` now, null where
 * no row is left.
 */
export function afterShrinking(
  { compiled }: Pick<FlowDefinition, 'compiled'>,
  { sourceOldest, frozenBefore }: SourceAge,
  oldest: Instant | null,
  now: Instant,
): Pick<FlowState, 'sourceOldest' | 'frozenBefore' | 'sourceShrunk'> {
  return {
    sourceOldest: oldest,
    frozenBefore: compiled.window === null ? null : frozenBound(compiled.window.spec, oldest, frozenBefore, now),
    sourceShrunk: { from: sourceOldest ?? INSTANT_MIN, to: oldest, at: now },
  };
}

/**
 * Windows that start before it start before the oldest row that the source still has; if it has none, they start before the end of
 * the window of now. It never moves back: what was frozen once came from more rows than there are.
 */
function frozenBound(spec: WindowSpec, oldest: Instant | null, before: Instant | null, now: Instant): Instant {
  const { start, end } = windowContaining(spec, oldest ?? now);
  const bound = start === oldest ? start : end;
  return before !== null && before > bound ? before : bound;
}
