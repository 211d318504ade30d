import type { PlanResult } from '../frontend/frontend.ts';
import type { Instant } from '../window/instant.ts';
import type { Trigger } from './planner.ts';

export interface TickRequest {
  readonly flow: string;
  /** Names this invocation as holder of the lease. */
  readonly owner: string;
  /** When the invocation is ended from outside. */
  readonly deadline: Instant;
  readonly trigger: Trigger;
}

export type TickAction = 'idle' | 'skipped' | 'committed' | 'recovered' | 'failed' | 'abandoned' | 'adopted' | 'healed';

export interface TickOutcome {
  readonly action: TickAction;
  readonly reason: string;
  readonly epoch?: bigint;
  readonly rows?: Omit<PlanResult, 'sinkIdentity'>;
  /** Work is left, and a further tick is asked for at once. */
  readonly more: boolean;
}
