import type { Schedule } from './schedule.ts';

export const EVENT_SOURCE = 'sluice';
export const TICK_DETAIL_TYPE = 'Sluice Tick';
export const MARK_DETAIL_TYPE = 'Sluice Mark';

export type TickReason = 'schedule' | Parameters<Schedule['requestTick']>[1];

/** What a tick is asked for with. `reason` is for the log alone: every tick does the same. */
export interface TickDetail {
  readonly flow: string;
  readonly reason: TickReason;
}
