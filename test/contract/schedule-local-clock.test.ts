import { createLocalClock } from '../../lib/schedule/local-clock.ts';
import { fromEpochMillis } from '../../lib/window/instant.ts';
import { type ScheduleUnderTest, scheduleSuite } from './schedule-suite.ts';

scheduleSuite('local clock', async (): Promise<ScheduleUnderTest> => {
  const timers = new Set<{ readonly callback: () => void; readonly seconds: number }>();
  const delivered: { flow: string; reason: string }[] = [];
  const clock = createLocalClock({
    tickSeconds: 5,
    deliver: async (flow, { reason }) => void delivered.push({ flow, reason }),
    onError: (_flow, error) => {
      throw error;
    },
    now: () => fromEpochMillis(0),
    setTimer: (callback, milliseconds) => {
      const timer = { callback, seconds: milliseconds / 1000 };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  /** A turn of the event loop: every delivery that can run has run. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    schedule: clock,
    cadence: async (flow) => {
      const due = [...timers];
      timers.clear();
      let cadence: number | null = null;
      for (const { callback, seconds } of due) {
        const before = delivered.length;
        callback();
        await settled();
        if (delivered.slice(before).some((tick) => tick.flow === flow && tick.reason === 'schedule')) cadence = seconds;
      }
      return cadence;
    },
    requested: async (flow) => {
      await settled();
      return delivered.filter((tick) => tick.flow === flow && tick.reason !== 'schedule').map(({ reason }) => reason);
    },
    close: () => clock.stop(),
  };
});
