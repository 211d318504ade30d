import { SluiceError } from '../../errors.ts';

/** Milliseconds that the server grants each part of a plan's transaction. */
export interface TransactionBudget {
  readonly total: number;
  /** For the first message: settings, then the fence statement with its wait for the row. */
  readonly fence: number;
  /** For each of the two times the server waits for the client: before the writing statement and before COMMIT. */
  readonly idle: number;
  readonly writing: number;
  /** For COMMIT, where deferred triggers may run. */
  readonly commit: number;
}

const SMALLEST_BUDGET_MS = 500;

/**
 * `fence + idle + writing + idle + commit` stays below the total, so that the server ends the transaction in time wherever
 * the client stops. The smaller parts get an eighth each, at most two seconds. Throws `statement_timeout`
 * (retryable) where so little is left that only luck would finish.
 */
export function splitBudget(totalMs: number): TransactionBudget {
  const total = Math.floor(totalMs);
  if (!(total >= SMALLEST_BUDGET_MS)) {
    throw new SluiceError(
      'statement_timeout',
      `${Math.max(0, total || 0)} ms are left for a transaction that needs at least ${SMALLEST_BUDGET_MS} ms; nothing was started`,
      { retryable: true },
    );
  }
  const part = Math.min(2000, Math.floor(total / 8));
  // What the settings and the switching between parts cost on the server.
  const overhead = Math.min(100, Math.floor(total / 16));
  return { total, fence: part, idle: part, writing: total - 4 * part - overhead, commit: part };
}
