import { writeSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * A connection of a process that stops itself (SIGSTOP) instead of sending the first database message that begins with a given
 * text, and says `stopping` on its standard output before.
 */
export class StoppingSocket extends Socket {
  readonly #stopAt: string;

  constructor(stopAt: string) {
    super();
    this.#stopAt = stopAt;
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // A simple query: the letter Q, four bytes of length, the text.
    if (chunk[0] === 0x51 && chunk.toString('utf8', 5).startsWith(this.#stopAt)) {
      writeSync(1, 'stopping\n');
      process.kill(process.pid, 'SIGSTOP');
    }
    super._write(chunk, encoding, done);
  }
}
