/**
 * The clock of flows. `put` is idempotent and convergent: calling it again after any half-finished call repairs. Throws
 * `schedule_unavailable` (retryable).
 */
export interface Schedule {
  /** From now on the flow is ticked at least every `everySeconds`. */
  put(flow: string, everySeconds: number): Promise<void>;
  enable(flow: string): Promise<void>;
  disable(flow: string): Promise<void>;
  remove(flow: string): Promise<void>;
  /** One tick of the flow as soon as possible. May be delivered twice, late, or after the flow is gone. */
  requestTick(flow: string, reason: 'flush' | 'continue' | 'created'): Promise<void>;
}
