import { SluiceError } from '../errors.ts';
import type { FlowState, Held, RunRecord } from '../store/flow-store.ts';
import type { EngineDeps } from './deps.ts';

/**
 * The end of a plan: the one conditional write, then settle and a line of history, both of which may be lost.
 *
 * Returns null, or why the write was refused: the lease had been taken over, and whoever took it has concluded this plan.
 */
export async function closePlan(
  deps: EngineDeps,
  flow: string,
  how: 'commit' | 'abort',
  held: Held,
  next: FlowState,
  record: RunRecord,
): Promise<string | null> {
  try {
    await deps.store[how](flow, held, next);
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'conflict') return error.message;
    throw error;
  }
  const after = [deps.store.appendRun(flow, record)];
  if (how === 'commit' && next.settle.length > 0) after.push(deps.store.settle(flow, next.settle));
  for (const result of await Promise.allSettled(after)) {
    if (result.status === 'fulfilled') continue;
    deps.log({ flow, action: 'closing_failed', reason: 'settle or history was not written', error: result.reason });
  }
  return null;
}
