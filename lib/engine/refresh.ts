import { SluiceError } from '../errors.ts';
import { normalize } from '../window/dirty-set.ts';
import { formatInstant } from '../window/rfc3339.ts';
import type { TimeRange } from '../window/time-range.ts';
import { alignOutwards } from '../window/windows.ts';
import type { EngineDeps } from './deps.ts';
import { existing } from './lifecycle.ts';
import { expiryBound } from './planner.ts';

/**
 * Makes the windows of these ranges dirty, whether or not their rows changed, and asks for a tick. Plans then go through them like
 * through any others. Answers with the ranges that were marked.
 *
 * Throws `flow_not_found`, `invalid_request` for a flow that runs whole, and `conflict` where a range reaches windows that are
 * expired: no plan would take them, and they are not left out without a word.
 */
export async function refreshFlow(
  deps: EngineDeps,
  flow: string,
  ranges: readonly TimeRange[],
): Promise<readonly TimeRange[]> {
  const { ranges: marked } = await wouldRefresh(deps, flow, ranges);
  await deps.store.markDirty(marked.map((range) => ({ flow, range })));
  await deps.schedule.requestTick(flow, 'flush');
  return marked;
}

/** What {@link refreshFlow} would mark, and of which flow; with the same refusals. */
export async function wouldRefresh(
  deps: EngineDeps,
  flow: string,
  ranges: readonly TimeRange[],
): Promise<Pick<ReturnType<typeof existing>, 'definition'> & { readonly ranges: readonly TimeRange[] }> {
  const { definition } = existing(flow, await deps.store.load(flow, { limit: 1, order: 'newest' }));
  const { window } = definition.compiled;
  if (window === null) {
    const message = `flow ${flow} runs whole, so that no part of it can be refreshed; flush it instead`;
    throw new SluiceError('invalid_request', message);
  }
  const windows = normalize(ranges.map((range) => alignOutwards(window.spec, range)));
  const bound = expiryBound(definition, deps.clock());
  const expired = windows.find(({ start }) => start < bound);
  if (expired === undefined) return { definition, ranges: windows };
  throw new SluiceError(
    'conflict',
    `windows from ${formatInstant(expired.start)} on are asked for, and EXPIRE AFTER leaves those before ${formatInstant(bound)} as they are; give a range from there on, or alter EXPIRE AFTER`,
  );
}
