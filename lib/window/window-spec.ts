import type { Instant, Micros } from './instant.ts';

export type CalendarUnit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'decade' | 'century' | 'millennium';

/**
 * How a window expression cuts time.
 *
 * `fixed`: steps of `size` from `origin` in both directions (`date_bin`; `date_trunc` up to the hour where the zone cannot
 * matter). `calendar`: `date_trunc(unit, …)` read in `zone` (an IANA name, or `UTC`; a column without a zone is cut in
 * `UTC`). ISO weeks begin on Monday. `hour` is a calendar unit where the zone's offset is not whole hours or changes by
 * less than one.
 */
export type WindowSpec =
  | { readonly kind: 'fixed'; readonly size: Micros; readonly origin: Instant }
  | { readonly kind: 'calendar'; readonly unit: CalendarUnit; readonly zone: string };
