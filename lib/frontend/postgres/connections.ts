import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { SluiceError } from '../../errors.ts';
import { ConnectionLost, connectFailure, isUnavailable, socketReason } from './server-error.ts';

export type Row = Readonly<Record<string, string | null>>;

/** What one statement answered. Values are the server's own text; nothing is guessed from their types. */
export interface Answer {
  /** `SELECT`, `COMMIT`, … */
  readonly command: string;
  readonly rows: readonly Row[];
}

export interface Message {
  /** One or more statements. */
  readonly text: string;
  /** Milliseconds that the server grants it. */
  readonly limitMs: number;
}

/** Granted to the network and to a busy client on top of what the server grants a message. */
const GRACE_MS = 1000;
/** More callers than this at the same time wait for one another. */
const MOST_CONNECTIONS = 8;

/** One session of the server. It speaks the simple protocol only, so that a pooler in between has nothing to remember. */
export class Connection {
  readonly #client: Client;
  readonly #socket: Duplex;
  #lost: string | null = null;
  /** Whether the last message was answered in full, which left the session outside of a transaction. */
  #settled = true;

  private constructor(client: Client, socket: Duplex) {
    this.#client = client;
    this.#socket = socket;
    // Without a listener an idle disconnect would end the process.
    client.on('error', (error) => {
      this.#lost ??= reasonOf(error);
    });
    client.on('end', () => {
      this.#lost ??= 'the connection ended';
    });
  }

  /** Throws `frontend_unavailable`. */
  static async open(config: ClientConfig): Promise<Connection> {
    const socket = config.stream?.() ?? new Socket();
    const client = new Client({ ...config, stream: () => socket });
    const connection = new Connection(client, socket);
    try {
      await client.connect();
      return connection;
    } catch (error) {
      socket.destroy();
      // Only what the translation says of it may be shown: the original quotes users and addresses.
      throw connectFailure(error);
    }
  }

  /** Between transactions, and not known to be broken. */
  get reusable(): boolean {
    return this.#lost === null && this.#settled;
  }

  /** Throws {@link ConnectionLost}, or the server's `DatabaseError`. */
  async send({ text, limitMs }: Message): Promise<readonly Answer[]> {
    if (this.#lost !== null) throw new ConnectionLost(this.#lost, false);
    this.#settled = false;
    let waiting = true;
    const giveUp = () => {
      if (!waiting) return;
      this.#lost ??= 'no answer in time';
      this.#socket.destroy();
    };
    // A process that was frozen runs its timers before it reads what arrived meanwhile: let it read first.
    const watchdog = setTimeout(() => setImmediate(() => setImmediate(giveUp)), limitMs + GRACE_MS);
    try {
      const answered: unknown = await this.#client.query(text);
      this.#settled = this.#client.getTransactionStatus() === 'I';
      return (Array.isArray(answered) ? answered : [answered]) as Answer[];
    } catch (error) {
      if (error instanceof DatabaseError) throw error;
      throw lostWhile(this.#lost, error);
    } finally {
      waiting = false;
      clearTimeout(watchdog);
    }
  }

  /** Leaves any transaction. False: the session is gone. */
  async rollBack(): Promise<boolean> {
    try {
      await this.send({ text: 'ROLLBACK', limitMs: GRACE_MS });
      return true;
    } catch {
      return false;
    }
  }

  async end(): Promise<void> {
    const deadline = setTimeout(() => this.#socket.destroy(), GRACE_MS);
    await this.#client.end();
    clearTimeout(deadline);
  }

  discard(): void {
    this.#lost ??= 'the connection was given up';
    this.#socket.destroy();
  }
}

function lostWhile(lost: string | null, cause: unknown): ConnectionLost {
  return new ConnectionLost(lost ?? reasonOf(cause), true, { cause });
}

function reasonOf(error: unknown): string {
  return error instanceof DatabaseError ? `SQLSTATE ${error.code ?? 'unknown'}` : socketReason(error);
}

/**
 * Opens connections when they are needed and keeps them for the next caller. One caller at a time, as in a Lambda
 * function, uses one connection for its whole life; callers at the same time get one each.
 */
export class Connections {
  readonly #config: ClientConfig;
  readonly #idle: Connection[] = [];
  readonly #waiting: (() => void)[] = [];
  #used = 0;
  #closed = false;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /**
   * A unit of work: `first` makes its first message, `rest` goes on with the answers. A kept connection may have died
   * unnoticed; then `first`, which must do no harm when sent twice, is made and sent again over a new one, once.
   * Nothing after it ever is. What a failed unit leaves open is rolled back.
   */
  async use<T>(
    first: () => Message,
    rest: (connection: Connection, answers: readonly Answer[]) => Promise<T>,
  ): Promise<T> {
    await this.#turn();
    try {
      const { connection, answers } = await this.#start(first);
      try {
        return await rest(connection, answers);
      } finally {
        await this.#release(connection);
      }
    } finally {
      this.#used -= 1;
      this.#waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting.splice(0)) wake();
    await Promise.all(this.#idle.splice(0).map((connection) => connection.end()));
  }

  async #turn(): Promise<void> {
    while (this.#used >= MOST_CONNECTIONS) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) throw new SluiceError('internal', 'the frontend was used after it had been closed');
    this.#used += 1;
  }

  async #start(first: () => Message): Promise<{ connection: Connection; answers: readonly Answer[] }> {
    const kept = this.#idle.pop();
    if (kept?.reusable) {
      try {
        return { connection: kept, answers: await kept.send(first()) };
      } catch (error) {
        if (!isStale(error)) {
          await this.#release(kept);
          throw error;
        }
      }
    }
    // Whatever ended one kept connection has most likely ended the others.
    if (kept !== undefined) for (const dead of [kept, ...this.#idle.splice(0)]) dead.discard();
    const opened = await Connection.open(this.#config);
    try {
      return { connection: opened, answers: await opened.send(first()) };
    } catch (error) {
      await this.#release(opened);
      throw error;
    }
  }

  async #release(connection: Connection): Promise<void> {
    if (!connection.reusable) await connection.rollBack();
    if (!connection.reusable) connection.discard();
    else if (this.#closed) await connection.end();
    else this.#idle.push(connection);
  }
}

function isStale(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof DatabaseError && isUnavailable(error.code ?? ''));
}
