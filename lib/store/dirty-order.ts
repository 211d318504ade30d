import type { DirtyOrder, LoadedFlow } from './flow-store.ts';

/** With a delay the newest windows are the ones that no plan takes yet: they must not keep the others out of sight. */
export function wantedOrder({ definition }: LoadedFlow, asked: DirtyOrder): 'newest' | 'oldest' {
  if (asked !== 'as_defined') return asked;
  if (definition === null) return 'newest';
  return definition.options.delay === null ? definition.options.order : 'oldest';
}
