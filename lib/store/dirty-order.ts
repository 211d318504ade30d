import type { DirtyOrder, LoadedFlow } from './flow-store.ts';

export function wantedOrder({ definition }: LoadedFlow, asked: DirtyOrder): 'newest' | 'oldest' {
  if (asked !== 'as_defined') return asked;
  return definition?.options.order ?? 'newest';
}
