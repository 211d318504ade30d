import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What becomes of a message of a client. `pass`; `cut`: the connection ends and the server never sees it; `lose_answer`: the server
 * acts on it and the connection ends as soon as the server has answered; `hold`: it goes nowhere, and nothing comes back.
 */
export type Fate = 'pass' | 'cut' | 'lose_answer' | 'hold';

/** `type` is the protocol's letter, `text` all that follows its length. */
export type Decide = (message: { readonly type: string; readonly text: string }) => Fate | Promise<Fate>;

/** Stands between a PostgreSQL client and its server and decides about each message of the client. */
export class PostgresProxy {
  readonly #server = createServer((client) => this.#serve(client));
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  /** Each message that clients sent, in order. */
  readonly messages: { readonly type: string; readonly text: string }[] = [];
  connections = 0;
  decide: Decide = () => 'pass';

  private constructor(target: URL) {
    this.#target = target;
  }

  static async start(url: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const url = new URL(this.#target);
    url.hostname = '127.0.0.1';
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** The next message with such a text meets this fate; resolves when the proxy has it. */
  once(wanted: RegExp, fate: Fate | (() => Promise<Fate>)): Promise<void> {
    return new Promise((resolve) => {
      this.decide = ({ text }) => {
        if (!wanted.test(text)) return 'pass';
        this.decide = () => 'pass';
        resolve();
        return typeof fate === 'string' ? fate : fate();
      };
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client: Socket): void {
    this.connections += 1;
    const server = connect(Number(this.#target.port || 5432), this.#target.hostname);
    const end = () => {
      client.destroy();
      server.destroy();
    };
    let silent = false;
    let cutAtAnswer = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        if (!silent) end();
      });
    }
    server.on('data', (chunk) => {
      if (cutAtAnswer) end();
      else if (!silent) client.write(chunk);
    });

    let waiting = Buffer.alloc(0);
    let started = false;
    let turn = Promise.resolve();
    client.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      for (let size = messageSize(waiting, started); size !== null; size = messageSize(waiting, started)) {
        const bytes = waiting.subarray(0, size);
        const isStartup = !started;
        started = true;
        waiting = waiting.subarray(size);
        turn = turn.then(async () => {
          if (isStartup) {
            server.write(bytes);
            return;
          }
          const message = { type: String.fromCharCode(bytes[0] ?? 0), text: bytes.subarray(5).toString() };
          this.messages.push(message);
          const fate = silent ? 'hold' : await this.decide(message);
          if (fate === 'cut') return end();
          if (fate === 'hold') silent = true;
          if (fate === 'lose_answer') cutAtAnswer = true;
          if (fate !== 'hold') server.write(bytes);
        });
      }
    });
  }
}

/** A startup message has no type letter. null: it is not complete yet. */
function messageSize(bytes: Buffer, started: boolean): number | null {
  const header = started ? 1 : 0;
  if (bytes.length < header + 4) return null;
  const size = header + bytes.readInt32BE(header);
  return bytes.length < size ? null : size;
}
