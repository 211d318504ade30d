import type { Instant } from '../window/instant.ts';
import type { Schedule } from './schedule.ts';
import type { TickReason } from './tick-event.ts';

export interface LocalClockOptions {
  /** Every flow is ticked at least this often, even if it asked for less. */
  readonly tickSeconds: number;
  /** Ticks of different flows that may run at once. Default 4. */
  readonly concurrency?: number;
  /** Runs one tick and settles when it is over. A rejection is given to `onError`; the next tick comes all the same. */
  readonly deliver: (flow: string, occasion: { readonly reason: TickReason; readonly at: Instant }) => Promise<void>;
  readonly onError: (flow: string, error: unknown) => void;
  /** The time of day, only passed on to `deliver`: it may jump either way without a tick being lost or doubled. */
  readonly now: () => Instant;
  /** Calls back once, after so many milliseconds of elapsed time; returns the way to call it off. */
  readonly setTimer: (callback: () => void, milliseconds: number) => () => void;
}

/** A {@link Schedule} that can be brought to an end. */
export interface LocalClock extends Schedule {
  /** No tick starts any more; settles when those that run are over. */
  stop(): Promise<void>;
}

interface Entry {
  /** null: known only because somebody asked for a tick. */
  everySeconds: number | null;
  enabled: boolean;
  cancelTimer: (() => void) | null;
  running: boolean;
  /** The one tick that waits for its turn; whatever else is asked for in the meantime is the same tick. */
  waiting: TickReason | null;
}

/**
 * The clock of flows within this process, in place of EventBridge. One tick per flow at a time. A tick that is
 * due or asked for while one runs or waits is merged with the one that waits, so that slow ticks never pile up.
 */
export function createLocalClock(options: LocalClockOptions): LocalClock {
  const concurrency = options.concurrency ?? 4;
  const entries = new Map<string, Entry>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  function entryOf(flow: string): Entry {
    let entry = entries.get(flow);
    if (entry === undefined) {
      entry = { everySeconds: null, enabled: false, cancelTimer: null, running: false, waiting: null };
      entries.set(flow, entry);
    }
    return entry;
  }

  function ask(flow: string, entry: Entry, reason: TickReason): void {
    if (stopped) return;
    // A tick that somebody asked for outlives `disable`; one that was merely due does not.
    if (entry.waiting === null || entry.waiting === 'schedule') entry.waiting = reason;
    // Moved to the end: flows take turns.
    entries.delete(flow);
    entries.set(flow, entry);
    startWaiting();
  }

  function startWaiting(): void {
    for (const [flow, entry] of entries) {
      if (stopped || running.size >= concurrency) return;
      if (entry.waiting === null || entry.running) continue;
      const reason = entry.waiting;
      entry.waiting = null;
      entry.running = true;
      const run = deliver(flow, reason);
      running.add(run);
      const over = () => {
        running.delete(run);
        entry.running = false;
        if (entry.everySeconds === null && entry.waiting === null) forget(flow, entry);
        startWaiting();
      };
      run.then(over, over);
    }
  }

  async function deliver(flow: string, reason: TickReason): Promise<void> {
    try {
      await options.deliver(flow, { reason, at: options.now() });
    } catch (error) {
      options.onError(flow, error);
    }
  }

  function setTimer(flow: string, entry: Entry): void {
    entry.cancelTimer?.();
    entry.cancelTimer = null;
    if (stopped || !entry.enabled || entry.everySeconds === null) return;
    const seconds = Math.min(entry.everySeconds, options.tickSeconds);
    entry.cancelTimer = options.setTimer(() => {
      setTimer(flow, entry);
      ask(flow, entry, 'schedule');
    }, seconds * 1000);
  }

  function forget(flow: string, entry: Entry): void {
    if (entries.get(flow) === entry) entries.delete(flow);
  }

  return {
    put(flow, everySeconds) {
      const entry = entryOf(flow);
      // Calling it again with nothing new must not put off the tick that is due.
      if (entry.everySeconds !== everySeconds || !entry.enabled) {
        entry.everySeconds = everySeconds;
        entry.enabled = true;
        setTimer(flow, entry);
      }
      return Promise.resolve();
    },
    enable(flow) {
      const entry = entries.get(flow);
      if (entry !== undefined && !entry.enabled) {
        entry.enabled = true;
        setTimer(flow, entry);
      }
      return Promise.resolve();
    },
    disable(flow) {
      const entry = entries.get(flow);
      if (entry !== undefined) {
        entry.enabled = false;
        if (entry.waiting === 'schedule') entry.waiting = null;
        setTimer(flow, entry);
      }
      return Promise.resolve();
    },
    remove(flow) {
      const entry = entries.get(flow);
      if (entry !== undefined) {
        entry.enabled = false;
        entry.everySeconds = null;
        entry.waiting = null;
        setTimer(flow, entry);
        // One that runs is kept until it is over, so that a flow of the same name cannot run beside it.
        if (!entry.running) forget(flow, entry);
      }
      return Promise.resolve();
    },
    requestTick(flow, reason) {
      ask(flow, entryOf(flow), reason);
      return Promise.resolve();
    },
    async stop() {
      stopped = true;
      for (const [flow, entry] of entries) {
        entry.waiting = null;
        setTimer(flow, entry);
      }
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}
