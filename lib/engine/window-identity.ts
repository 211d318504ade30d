import type { DirtyWindow } from '../store/flow-store.ts';

/** One mark of one window: the same window marked again has another identity. */
export function identity(window: DirtyWindow): string {
  return `${window.start}#${window.end}#${window.version}`;
}
