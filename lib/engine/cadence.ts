import type { FlowDefinition } from '../flow/definition.ts';
import { type Instant, instant, type Micros, SECOND } from '../window/instant.ts';
import { typicalLength } from '../window/windows.ts';

const LEAST_REST: Micros = 5n * SECOND;
const LONGEST_REST: Micros = 600n * SECOND;

/**
 * Rest after a plan that left no work behind: as long as it took, so that a flow takes up at most half of its database's time; with
 * `cadence = window` as long as a window too, so that a window is rewritten about once while it fills. Five seconds at
 * least, ten minutes at most.
 */
export function restAfter({ compiled, options }: Pick<FlowDefinition, 'compiled' | 'options'>, took: Micros): Micros {
  const window = options.cadence === 'window' && compiled.window !== null ? typicalLength(compiled.window.spec) : 0n;
  const rest = [LEAST_REST, took, window].reduce((most, each) => (each > most ? each : most));
  return rest < LONGEST_REST ? rest : LONGEST_REST;
}

/** null: the next scheduled tick may begin a plan. A flow with an eval interval follows its grid. */
export function nextDueAt(
  definition: Pick<FlowDefinition, 'compiled' | 'options' | 'evalInterval'>,
  plan: { readonly startedAt: Instant; readonly more: boolean },
  endedAt: Instant,
): Instant | null {
  if (definition.evalInterval !== null || plan.more) return null;
  return instant(endedAt + restAfter(definition, endedAt - plan.startedAt));
}

/** A rest that is longer than any was made before the clock was set back. */
export function isResting(due: Instant | null, now: Instant): due is Instant {
  return due !== null && now < due && due - now <= LONGEST_REST;
}
