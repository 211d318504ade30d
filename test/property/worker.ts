import type { EngineDeps } from '../../lib/engine/deps.ts';
import { SluiceError } from '../../lib/errors.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import type { FlowStore } from '../../lib/store/flow-store.ts';
import type { Instant } from '../../lib/window/instant.ts';
import { GatedSocket } from '../support/gated-socket.ts';

/** What becomes of a worker in the middle of what it does. */
export type Mishap =
  /** Dies before, or right after, its `at`th call of the store. */
  | { readonly kind: 'dies'; readonly at: number; readonly sent: boolean }
  /** Gets no answer to its `at`th call of the store, which was carried out all the same. */
  | { readonly kind: 'no answer'; readonly at: number }
  /** Stands still before its `at`th message to the database, transaction and socket open. */
  | { readonly kind: 'freezes'; readonly at: number };

/** A worker with a database connection of its own, on which one mishap at a time can be set. */
export class Worker {
  readonly deps: EngineDeps;
  /** Expected while things go wrong; shown when a history does not come to rest. */
  readonly refusals: string[] = [];
  readonly #frontend: Frontend & { close(): Promise<void> };
  readonly #sockets: GatedSocket[] = [];
  #mishap: Mishap | null = null;
  #calls = 0;
  #die: () => void = () => undefined;
  #frozen: Promise<unknown> = Promise.resolve();

  constructor(store: FlowStore, databaseUrl: string, clock: () => Instant) {
    const stream = () => {
      const socket = new GatedSocket();
      this.#sockets.push(socket);
      return socket;
    };
    this.#frontend = createPostgresFrontend({
      connection: { connectionString: databaseUrl, stream },
      namespace: 'property',
    });
    const nothing = () => Promise.resolve();
    this.deps = {
      store: this.#minded(store),
      frontend: () => this.#frontend,
      schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
      clock,
      wait: nothing,
      log: () => undefined,
    };
  }

  /**
   * Runs `work` with a mishap under way; settles when the work ends or the worker stops, for good or for now. A worker does one
   * thing at a time: what was frozen goes on first.
   */
  async run(work: (deps: EngineDeps) => Promise<unknown>, mishap: Mishap | null): Promise<void> {
    await this.thaw();
    this.#mishap = mishap;
    this.#calls = 0;
    const died = Promise.withResolvers<void>();
    const froze = Promise.withResolvers<void>();
    this.#die = died.resolve;
    if (mishap?.kind === 'freezes') this.#sockets.at(-1)?.freezeBefore(mishap.at, froze.resolve);
    const ended = work(this.deps).catch((error: unknown) => {
      if (!(error instanceof SluiceError) || error.code === 'internal') throw error;
      this.refusals.push(`${error.code}: ${error.message}`);
    });
    this.#frozen = Promise.race([ended, died.promise]);
    await Promise.race([this.#frozen, froze.promise]);
  }

  /** Lets what was frozen go on, and waits until it has ended. */
  async thaw(): Promise<void> {
    for (const socket of this.#sockets) socket.thaw();
    await this.#frozen;
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return this.#frontend.close();
  }

  #minded(store: FlowStore): FlowStore {
    const mind =
      <A extends unknown[], R>(method: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        const mishap = this.#mishap;
        this.#calls += 1;
        if (mishap === null || mishap.kind === 'freezes' || mishap.at !== this.#calls)
          return method.apply(store, given);
        if (mishap.kind === 'no answer') {
          await method.apply(store, given);
          throw new SluiceError('store_unavailable', 'no answer', { retryable: true });
        }
        if (mishap.sent) await method.apply(store, given);
        this.#die();
        return new Promise<never>(() => undefined);
      };
    return {
      load: mind(store.load),
      begin: mind(store.begin),
      commit: mind(store.commit),
      abort: mind(store.abort),
      settle: mind(store.settle),
      markDirty: mind(store.markDirty),
      clearDirty: mind(store.clearDirty),
      readersOf: mind(store.readersOf),
      sinkHolder: mind(store.sinkHolder),
      claimSink: mind(store.claimSink),
      releaseSink: mind(store.releaseSink),
      putDefinition: mind(store.putDefinition),
      removeDefinition: mind(store.removeDefinition),
      list: mind(store.list),
      appendRun: mind(store.appendRun),
      runs: mind(store.runs),
    };
  }
}
