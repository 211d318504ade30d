import { beforeEach, describe, expect, it } from 'vitest';
import { createLocalClock, type LocalClock } from '../../../lib/schedule/local-clock.ts';
import { fromEpochMillis } from '../../../lib/window/instant.ts';

/** Elapsed time that moves when told; the time of day is set apart from it. */
class FakeTime {
  elapsed = 0;
  timeOfDay = Date.UTC(2026, 0, 1);
  readonly #timers = new Map<number, { at: number; callback: () => void }>();
  #next = 0;

  readonly setTimer = (callback: () => void, milliseconds: number): (() => void) => {
    const id = this.#next++;
    this.#timers.set(id, { at: this.elapsed + milliseconds, callback });
    return () => this.#timers.delete(id);
  };

  get pending(): number {
    return this.#timers.size;
  }

  /** Moves both clocks, fires what falls due in order, and lets the ticks that can end do so. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.elapsed + milliseconds;
    for (;;) {
      const [due] = [...this.#timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (due === undefined) break;
      const [id, timer] = due;
      this.#timers.delete(id);
      this.timeOfDay += timer.at - this.elapsed;
      this.elapsed = timer.at;
      timer.callback();
      await turn();
    }
    this.timeOfDay += end - this.elapsed;
    this.elapsed = end;
    await turn();
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('local clock', () => {
  let time: FakeTime;
  let clock: LocalClock;
  let ticks: { flow: string; reason: string; at: bigint }[];
  let errors: { flow: string; error: unknown }[];
  /** Ticks of a flow in this map last until they are let go. */
  let held: Map<string, PromiseWithResolvers<void>>;
  const flows = () => ticks.map(({ flow }) => flow);
  const reasons = () => ticks.map(({ reason }) => reason);

  beforeEach(() => {
    time = new FakeTime();
    ticks = [];
    errors = [];
    held = new Map();
    clock = createLocalClock({
      tickSeconds: 5,
      concurrency: 2,
      deliver: (flow, { reason, at }) => {
        ticks.push({ flow, reason, at });
        return held.get(flow)?.promise ?? Promise.resolve();
      },
      onError: (flow, error) => void errors.push({ flow, error }),
      now: () => fromEpochMillis(time.timeOfDay),
      setTimer: time.setTimer,
    });
  });

  function hold(flow: string): PromiseWithResolvers<void> {
    const gate = Promise.withResolvers<void>();
    held.set(flow, gate);
    return gate;
  }

  it('ticks a flow every tickSeconds, with the time of day', async () => {
    await clock.put('f', 60);
    await time.pass(4_999);
    expect(ticks).toEqual([]);
    await time.pass(1);
    await time.pass(10_000);
    const start = Date.UTC(2026, 0, 1);
    expect(ticks).toEqual(
      [5, 10, 15].map((s) => ({ flow: 'f', reason: 'schedule', at: BigInt(start + s * 1000) * 1000n })),
    );
  });

  it('ticks more often than tickSeconds where a flow asks for it', async () => {
    await clock.put('f', 2);
    await time.pass(10_000);
    expect(ticks).toHaveLength(5);
  });

  it('a put that changes nothing does not put the next tick off', async () => {
    await clock.put('f', 60);
    await time.pass(4_000);
    await clock.put('f', 60);
    await time.pass(1_000);
    expect(ticks).toHaveLength(1);
  });

  it.each([-3_600_000, 3_600_000, 86_400_000 * 365])(
    'neither loses nor doubles a tick when the time of day jumps by %d ms',
    async (jump) => {
      await clock.put('f', 60);
      await time.pass(7_000);
      time.timeOfDay += jump;
      await time.pass(8_000);
      expect(ticks).toHaveLength(3);
      expect(ticks[2]!.at - ticks[1]!.at).toBe(5_000_000n);
      expect(ticks[1]!.at - ticks[0]!.at).toBe(BigInt(jump + 5_000) * 1000n);
    },
  );

  it('delivers a tick that is asked for at once', async () => {
    await clock.put('f', 60);
    await clock.requestTick('f', 'flush');
    expect(ticks).toMatchObject([{ flow: 'f', reason: 'flush' }]);
  });

  it('keeps at most one tick waiting behind the one that runs, of the reason that somebody gave', async () => {
    const gate = hold('f');
    await clock.put('f', 60);
    await clock.requestTick('f', 'created');
    await time.pass(20_000);
    await clock.requestTick('f', 'continue');
    await clock.requestTick('f', 'flush');
    expect(reasons()).toEqual(['created']);
    held.clear();
    gate.resolve();
    await turn();
    expect(reasons()).toEqual(['created', 'continue']);
  });

  it('runs ticks of different flows at once, up to the bound, and lets them take turns', async () => {
    const gates = ['a', 'b', 'c'].map(hold);
    for (const flow of ['a', 'b', 'c']) await clock.requestTick(flow, 'continue');
    expect(flows()).toEqual(['a', 'b']);
    await clock.requestTick('a', 'continue');
    held.delete('a');
    gates[0]!.resolve();
    await turn();
    expect(flows()).toEqual(['a', 'b', 'c']);
    gates[1]!.resolve();
    await turn();
    expect(flows()).toEqual(['a', 'b', 'c', 'a']);
  });

  it('goes on after a tick that failed, and reports it', async () => {
    const gate = hold('f');
    await clock.put('f', 60);
    await clock.requestTick('f', 'continue');
    gate.reject(new Error('no database'));
    await turn();
    held.clear();
    await time.pass(5_000);
    expect(errors).toMatchObject([{ flow: 'f', error: { message: 'no database' } }]);
    expect(ticks).toHaveLength(2);
  });

  it('disable stops what is due and leaves what was asked for', async () => {
    const gate = hold('f');
    await clock.put('f', 60);
    await time.pass(5_000);
    await time.pass(5_000);
    await clock.disable('f');
    gate.resolve();
    await time.pass(60_000);
    expect(reasons()).toEqual(['schedule']);
    await clock.requestTick('f', 'flush');
    expect(reasons()).toEqual(['schedule', 'flush']);
    await clock.enable('f');
    await time.pass(5_000);
    expect(reasons()).toEqual(['schedule', 'flush', 'schedule']);
  });

  it('remove and put again while a tick runs: still one at a time', async () => {
    const gate = hold('f');
    await clock.put('f', 60);
    await clock.requestTick('f', 'continue');
    await clock.remove('f');
    await clock.put('f', 60);
    await clock.requestTick('f', 'created');
    expect(ticks).toHaveLength(1);
    gate.resolve();
    await turn();
    expect(reasons()).toEqual(['continue', 'created']);
  });

  it('stop waits for the ticks that run, and starts no other', async () => {
    const gate = hold('f');
    await clock.put('f', 60);
    await clock.requestTick('f', 'continue');
    await clock.requestTick('f', 'continue');
    let stopped = false;
    const stop = clock.stop().then(() => (stopped = true));
    await turn();
    expect(stopped).toBe(false);
    gate.resolve();
    await stop;
    await clock.requestTick('f', 'flush');
    await time.pass(60_000);
    expect(ticks).toHaveLength(1);
    expect(time.pending).toBe(0);
  });
});
