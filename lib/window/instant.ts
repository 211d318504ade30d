/**
 * Microseconds since 1970-01-01T00:00:00Z. For a `timestamp` column without a zone it is the wall-clock reading taken
 * as if it were UTC.
 */
export type Instant = bigint & { readonly __brand: 'Instant' };

/** A length of time in microseconds. */
export type Micros = bigint;

export const SECOND: Micros = 1_000_000n;
export const MINUTE: Micros = 60n * SECOND;
export const HOUR: Micros = 60n * MINUTE;
export const DAY: Micros = 24n * HOUR;

/** PostgreSQL's first timestamp, 4714-11-24 00:00:00 BC (`MIN_TIMESTAMP` of its `datatype/timestamp.h`). */
export const INSTANT_MIN = -210_866_803_200_000_000n as Instant;
/** The first instant past PostgreSQL's last timestamp, 294277-01-01 00:00:00 (`END_TIMESTAMP`). */
export const INSTANT_MAX = 9_224_318_016_000_000_000n as Instant;

/** Saturates at the limits of the type, so that arithmetic near them never throws. */
export function instant(micros: bigint): Instant {
  if (micros < INSTANT_MIN) return INSTANT_MIN;
  if (micros > INSTANT_MAX) return INSTANT_MAX;
  return micros as Instant;
}

export function plus(t: Instant, by: Micros): Instant {
  return instant(t + by);
}

export function fromEpochMillis(ms: number): Instant {
  return instant(BigInt(Math.trunc(ms)) * 1000n);
}

export function toEpochMillis(t: Instant): number {
  return Number(t / 1000n);
}
