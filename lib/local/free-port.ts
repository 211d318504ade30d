import { createServer } from 'node:net';
import { SluiceError } from '../errors.ts';

export const LOOPBACK = '127.0.0.1';

/** `exact`: this port or an error. `from`: this port or the next free one. Neither: any free port. */
export type PortWish = { readonly exact: number } | { readonly from: number } | undefined;

const ATTEMPTS = 200;

/** Another process may take the port before the caller does; `except` lets the caller ask again. */
export async function freePort(wish: PortWish, except: ReadonlySet<number> = new Set()): Promise<number> {
  if (wish === undefined) {
    for (;;) {
      const port = await tryPort(0);
      if (port !== null && !except.has(port)) return port;
    }
  }
  if ('exact' in wish) {
    if (!except.has(wish.exact) && (await tryPort(wish.exact)) !== null) return wish.exact;
    throw new SluiceError(
      'invalid_request',
      `Port ${wish.exact} on ${LOOPBACK} is in use. Give another port, or none for the next free one.`,
    );
  }
  const last = Math.min(65_535, wish.from + ATTEMPTS);
  for (let port = wish.from; port <= last; port++) {
    if (!except.has(port) && (await tryPort(port)) !== null) return port;
  }
  throw new SluiceError(
    'invalid_request',
    `No port from ${wish.from} to ${last} on ${LOOPBACK} is free. Give one that is.`,
  );
}

/** The port, or null when it is in use or forbidden. */
async function tryPort(port: number): Promise<number | null> {
  const server = createServer();
  const listening = new Promise<number | null>((resolve) => {
    server.once('error', () => resolve(null));
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : null);
    });
  });
  const found = await listening;
  if (found !== null) await new Promise((resolve) => server.close(resolve));
  return found;
}
