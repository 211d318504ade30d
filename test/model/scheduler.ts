import { setImmediate as nextTurn } from 'node:timers/promises';

interface Call {
  readonly process: number;
  readonly label: string;
  readonly ready: () => boolean;
  /** Sends the request; the answer, or the error, reaches the caller afterwards. */
  readonly answer: () => Promise<void>;
  readonly applyOnly: () => Promise<void>;
  readonly fail: () => void;
}

export type Fault = 'none' | 'not_sent' | 'answer_lost';

/**
 * Interleaves asynchronous processes at their calls to the outside: a call waits until it is released, in whatever order
 * the schedule says. A process that is never released again is a frozen one; one that is killed never hears of its calls.
 */
export class Scheduler {
  readonly trace: string[] = [];
  #calls: Call[] = [];
  readonly #killed = new Set<number>();
  readonly #frozen = new Set<number>();

  call<T>(
    process: number,
    label: string,
    request: () => T | Promise<T>,
    faultError: (applied: boolean) => Error,
    ready: () => boolean = () => true,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#killed.has(process)) return;
      this.#calls.push({
        process,
        label,
        ready,
        answer: async () => {
          try {
            resolve(await request());
          } catch (error) {
            reject(error);
          }
        },
        applyOnly: async () => {
          try {
            await request();
          } catch {
            // The answer is lost either way, and with it the refusal.
          }
          reject(faultError(true));
        },
        fail: () => reject(faultError(false)),
      });
    });
  }

  /** Calls that could be released now. */
  get waiting(): number {
    return this.#ready().length;
  }

  #ready(): Call[] {
    return this.#calls.filter((call) => !this.#frozen.has(call.process) && call.ready());
  }

  /** Its calls wait while all others go on. */
  freeze(process: number): void {
    this.trace.push(`${process}: frozen`);
    this.#frozen.add(process);
  }

  thaw(process?: number): void {
    if (process === undefined) this.#frozen.clear();
    else if (this.#frozen.delete(process)) this.trace.push(`${process}: thawed`);
  }

  async release(choice: number, fault: Fault): Promise<void> {
    const ready = this.#ready();
    const call = ready[choice % Math.max(1, ready.length)];
    if (call !== undefined) await this.#releaseCall(call, fault);
  }

  /** Lets one process make its next `calls` calls while all others stand still. */
  async burst(process: number, calls: number): Promise<void> {
    for (let made = 0; made < calls; made++) {
      const call = this.#ready().find((waiting) => waiting.process === process);
      if (call === undefined) return;
      await this.#releaseCall(call, 'none');
    }
  }

  async #releaseCall(call: Call, fault: Fault): Promise<void> {
    this.#calls = this.#calls.filter((other) => other !== call);
    this.trace.push(`${call.process}: ${call.label}${fault === 'none' ? '' : ` [${fault}]`}`);
    if (fault === 'none') await call.answer();
    else if (fault === 'answer_lost') await call.applyOnly();
    else call.fail();
    await nextTurn();
  }

  /** The process never runs again. `sent`: the request it was about to make still reaches the other side. */
  async kill(process: number, sent: boolean): Promise<void> {
    this.#killed.add(process);
    const own = this.#calls.filter((call) => call.process === process);
    this.#calls = this.#calls.filter((call) => call.process !== process);
    this.trace.push(
      `${process}: killed${own.length > 0 && sent ? ` after sending ${own.map((c) => c.label).join(', ')}` : ''}`,
    );
    if (sent) for (const call of own) if (call.ready()) await call.applyOnly();
    await nextTurn();
  }
}
