import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState } from '../store/flow-store.ts';
import { type Instant, instant } from '../window/instant.ts';
import type { TimeRange } from '../window/time-range.ts';
import { alignOutwards } from '../window/windows.ts';

/**
 * What a run at `now` is to refresh whether it was marked or not; null: nothing. It begins so long before the last time that the
 * lookback was made dirty, so that runs that did not happen leave no gap.
 */
export function lookbackRange(
  { compiled, options }: Pick<FlowDefinition, 'compiled' | 'options'>,
  { lookbackAt }: Pick<FlowState, 'lookbackAt'>,
  now: Instant,
): TimeRange | null {
  if (options.lookback === null || compiled.window === null) return null;
  const since = lookbackAt !== null && lookbackAt < now ? lookbackAt : now;
  const end = instant(now - (options.delay ?? 0n) + 1n);
  const start = instant(since - options.lookback);
  return start < end ? alignOutwards(compiled.window.spec, { start, end }) : null;
}
