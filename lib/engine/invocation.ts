import { type Instant, instant, type Micros } from '../window/instant.ts';
import type { TickRequest } from './tick-request.ts';

/** Kept free at the end of an invocation for the commit, the settle and the line of history. */
const CLOSING_MS = 3_000;
/** An invocation with less time left than this for its plan does not begin one. */
export const LEAST_BUDGET_MS = 1_000;
/** The lease outlives the invocation by this much: whatever the invocation left on the server has ended by then. */
const LEASE_GRACE: Micros = 2_000_000n;

/** Milliseconds that a plan may take from now on. */
export function millisLeft(request: TickRequest, now: Instant): number {
  return millisBetween(now, request.deadline) - CLOSING_MS;
}

export function leaseEnd(request: TickRequest): Instant {
  return instant(request.deadline + LEASE_GRACE);
}

export function millisBetween(from: Instant, to: Instant): number {
  return Number((to - from) / 1000n);
}
