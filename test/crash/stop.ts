import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Fate, PostgresProxy } from '../support/postgres-proxy.ts';

/** Where a worker stops: at its `at`th request to the store, or its `at`th message to the database, counted from 1. */
export interface StopPoint {
  readonly side: 'store' | 'database';
  readonly at: number;
  /**
   * `dies_before`: the request is not sent, and the worker never goes on. `dies_after`: it is carried out, and the worker never goes
   * on. `answer_lost`: it is carried out, and the worker goes on without the answer.
   */
  readonly how: 'dies_before' | 'dies_after' | 'answer_lost';
}

const HOWS = ['dies_before', 'dies_after', 'answer_lost'] as const;

export function stopPoints(requests: { readonly store: number; readonly database: number }): StopPoint[] {
  return (['store', 'database'] as const).flatMap((side) =>
    Array.from({ length: requests[side] }, (_, index) => index + 1).flatMap((at) =>
      HOWS.map((how) => ({ side, at, how })),
    ),
  );
}

/** Counts what one worker sends, and stops it at one point. */
export class Stop {
  readonly counted = { store: 0, database: 0 };
  /** Resolves when the worker has died. */
  readonly died: Promise<void>;
  readonly #point: StopPoint | null;
  #die: () => void = () => undefined;
  #dead = false;

  constructor(point: StopPoint | null, client: DynamoDBClient, proxy: PostgresProxy) {
    this.#point = point;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.#watchStore(client);
    proxy.decide = ({ type }) => (type === 'Q' ? this.#database() : this.#dead ? 'hold' : 'pass');
  }

  get reached(): boolean {
    return this.#point === null || this.counted[this.#point.side] >= this.#point.at;
  }

  #hit(side: StopPoint['side']): StopPoint['how'] | null {
    this.counted[side] += 1;
    const here = this.#point?.side === side && this.#point.at === this.counted[side];
    return here && this.#point !== null ? this.#point.how : null;
  }

  #kill(): void {
    this.#dead = true;
    this.#die();
  }

  /** Inside of the SDK's retries: a worker that is alive sends a request again when its answer does not come. */
  #watchStore(client: DynamoDBClient): void {
    const never = () => new Promise<never>(() => undefined);
    client.middlewareStack.add(
      (next) => async (args) => {
        if (this.#dead) return never();
        const how = this.#hit('store');
        if (how === null) return next(args);
        if (how === 'dies_before') {
          this.#kill();
          return never();
        }
        await next(args);
        if (how === 'answer_lost') throw Object.assign(new Error('the answer is lost'), { code: 'ECONNRESET' });
        this.#kill();
        return never();
      },
      { step: 'deserialize', name: 'stop', priority: 'low' },
    );
  }

  #database(): Fate {
    if (this.#dead) return 'hold';
    const how = this.#hit('database');
    if (how === null) return 'pass';
    if (how !== 'answer_lost') this.#kill();
    return how === 'dies_before' ? 'hold' : 'lose_answer';
  }
}
