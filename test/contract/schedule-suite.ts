import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Schedule } from '../../lib/schedule/schedule.ts';

export interface ScheduleUnderTest {
  readonly schedule: Schedule;
  /** Seconds between two ticks that the clock makes of its own accord; null where it makes none. */
  cadence(flow: string): Promise<number | null>;
  /** Reasons of the ticks that were asked for, in order. */
  requested(flow: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Names that a rule's name, a JSON text or a template could trip over. */
const ODD_NAMES = [
  'plain',
  'MiXed case',
  'a/b?c#d%20',
  '"quoted" \\ <aws.events.event>',
  'имя 流 🌊',
  'x'.repeat(63),
  "o'neil; --",
];

/** What every adapter of the Schedule port does. */
export function scheduleSuite(adapter: string, open: () => Promise<ScheduleUnderTest>): void {
  describe(`Schedule: ${adapter}`, () => {
    let under: ScheduleUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    it('does not tick a flow before put', async () => {
      expect(await under.cadence('f')).toBeNull();
    });

    it('ticks a flow at least as often as put says, and again after a further put', async () => {
      await under.schedule.put('f', 300);
      expect(await under.cadence('f')).toBeGreaterThan(0);
      expect(await under.cadence('f')).toBeLessThanOrEqual(300);
      await under.schedule.put('f', 60);
      expect(await under.cadence('f')).toBeLessThanOrEqual(60);
    });

    it('stops at disable, goes on at enable, and takes each of them twice', async () => {
      await under.schedule.put('f', 60);
      await under.schedule.disable('f');
      await under.schedule.disable('f');
      expect(await under.cadence('f')).toBeNull();
      await under.schedule.enable('f');
      await under.schedule.enable('f');
      expect(await under.cadence('f')).toBeLessThanOrEqual(60);
    });

    it('put starts a disabled flow', async () => {
      await under.schedule.put('f', 60);
      await under.schedule.disable('f');
      await under.schedule.put('f', 60);
      expect(await under.cadence('f')).not.toBeNull();
    });

    it('forgets a flow at remove, and takes it twice', async () => {
      await under.schedule.put('f', 60);
      await under.schedule.remove('f');
      await under.schedule.remove('f');
      expect(await under.cadence('f')).toBeNull();
      await under.schedule.put('f', 60);
      expect(await under.cadence('f')).not.toBeNull();
    });

    it('takes disable and remove of a flow that it never knew', async () => {
      await under.schedule.disable('nobody');
      await under.schedule.remove('nobody');
      expect(await under.cadence('nobody')).toBeNull();
    });

    it('keeps flows apart, whatever their names', async () => {
      for (const name of ODD_NAMES) await under.schedule.put(name, 60);
      await under.schedule.disable('plain');
      await under.schedule.remove('MiXed case');
      for (const name of ODD_NAMES) {
        expect((await under.cadence(name)) === null, name).toBe(name === 'plain' || name === 'MiXed case');
      }
    });

    it('asks for a tick of exactly the flow that was named, once per request', async () => {
      for (const name of ODD_NAMES) {
        await under.schedule.put(name, 3600);
        await under.schedule.requestTick(name, 'continue');
      }
      for (const name of ODD_NAMES) expect(await under.requested(name), name).toEqual(['continue']);
    });

    it('passes each reason on', async () => {
      await under.schedule.put('f', 3600);
      for (const reason of ['created', 'flush', 'continue'] as const) {
        await under.schedule.requestTick('f', reason);
        expect((await under.requested('f')).at(-1)).toBe(reason);
      }
    });
  });
}
