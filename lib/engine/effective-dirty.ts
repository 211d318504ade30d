import type { ConsumedWindow, DirtyWindow, LoadedFlow } from '../store/flow-store.ts';
import type { TimeRange } from '../window/time-range.ts';
import { identity } from './window-identity.ts';

/** A stored dirty window with the parts of it that still need a plan. */
export interface PendingWindow {
  readonly stored: DirtyWindow;
  readonly parts: readonly TimeRange[];
}

export interface EffectiveDirty {
  readonly pending: readonly PendingWindow[];
  /** Consumed by a committed plan, and still shown by the store: settle has to be done again. */
  readonly unsettled: readonly ConsumedWindow[];
}

/**
 * What is really dirty. A window that a committed plan consumed, in the very version that it read, counts only as what
 * that plan left of it. A window marked again since has another version and counts whole.
 */
export function effectiveDirty(loaded: Pick<LoadedFlow, 'state' | 'dirty'>): EffectiveDirty {
  const settled = new Map(loaded.state.settle.map((window) => [identity(window), window]));
  const pending: PendingWindow[] = [];
  const unsettled: ConsumedWindow[] = [];
  for (const stored of loaded.dirty) {
    const consumed = settled.get(identity(stored));
    if (consumed !== undefined) unsettled.push(consumed);
    const parts = consumed === undefined ? [{ start: stored.start, end: stored.end }] : consumed.left;
    if (parts.length > 0) pending.push({ stored, parts });
  }
  return { pending, unsettled };
}
