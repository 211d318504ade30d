import { type Instant, instant, type Micros } from '../window/instant.ts';

/**
 * The grid time that a moment belongs to: the latest multiple of the interval, counted from the epoch, that is not after
 * it. Delivery times of a clock jitter and its phase is arbitrary; the grid does not.
 */
export function gridTimeOf(now: Instant, interval: Micros): Instant {
  const past = now % interval;
  return instant(now - (past < 0n ? past + interval : past));
}

export function nextGridTime(now: Instant, interval: Micros): Instant {
  return instant(gridTimeOf(now, interval) + interval);
}
