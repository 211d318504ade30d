import type { StoreOperation } from './memory-store.ts';

/** `answer_lost`: the request is applied. `throttled`, `server_error`, `not_sent`: it is not. */
export type StoreFault = 'answer_lost' | 'throttled' | 'server_error' | 'not_sent';

/** Which of the next requests go wrong, and what happens just before which. The same plan serves every kind of store. */
export class StoreFaults {
  #faults: { operation: StoreOperation; fault: StoreFault | null; left: number }[] = [];
  #interposed: { operation: StoreOperation; action: () => Promise<unknown> }[] = [];

  /** `times` attempts of `operation` go wrong, after `passing` that do not. A store retries twice: 3 exhaust it. */
  plan(operation: StoreOperation, fault: StoreFault, times = 1, passing = 0): void {
    if (passing > 0) this.#faults.push({ operation, fault: null, left: passing });
    this.#faults.push({ operation, fault, left: times });
  }

  /** `action` runs just before an attempt of `operation` is sent: the next one, or the one after `passing` others. */
  before(operation: StoreOperation, action: () => Promise<unknown>, passing = 0): void {
    for (let i = 0; i < passing; i++) this.#interposed.push({ operation, action: () => Promise.resolve() });
    this.#interposed.push({ operation, action });
  }

  /** Forgets what has not happened yet. */
  clear(): void {
    this.#faults = [];
    this.#interposed = [];
  }

  /** True when everything planned has happened. */
  get spent(): boolean {
    return this.#faults.length === 0 && this.#interposed.length === 0;
  }

  /** For a transport: what is to happen to this attempt. */
  async onAttempt(operation: StoreOperation): Promise<StoreFault | null> {
    const interposed = this.#interposed.find((planned) => planned.operation === operation);
    if (interposed !== undefined) {
      this.#interposed = this.#interposed.filter((planned) => planned !== interposed);
      await interposed.action();
    }
    const next = this.#faults.find((planned) => planned.operation === operation);
    if (next === undefined) return null;
    next.left -= 1;
    if (next.left === 0) this.#faults = this.#faults.filter((planned) => planned !== next);
    return next.fault;
  }
}
