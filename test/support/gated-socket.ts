import { Socket } from 'node:net';

/**
 * A connection that can be frozen before a message that it is about to send: what a stopped process looks like to the server,
 * which still has its socket open.
 */
export class GatedSocket extends Socket {
  #countdown = Number.POSITIVE_INFINITY;
  #held: (() => void) | null = null;
  #frozen: (() => void) | null = null;

  /** Freezes before the `n`th message from now on, counted from 1; `frozen` is called then. */
  freezeBefore(n: number, frozen: () => void): void {
    this.#countdown = n;
    this.#frozen = frozen;
  }

  thaw(): void {
    this.#countdown = Number.POSITIVE_INFINITY;
    const send = this.#held;
    this.#held = null;
    send?.();
  }

  override _write(chunk: unknown, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#pass(() => super._write(chunk, encoding, callback));
  }

  override _writev(
    chunks: { chunk: unknown; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    this.#pass(() => super._writev?.(chunks, callback));
  }

  #pass(send: () => void): void {
    this.#countdown -= 1;
    if (this.#countdown > 0) {
      send();
      return;
    }
    this.#held = send;
    const tell = this.#frozen;
    this.#frozen = null;
    tell?.();
  }
}
