import { mkdir } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import dynalite from 'dynalite';
import { SluiceError } from '../errors.ts';
import { LOOPBACK } from './free-port.ts';

export interface DynaliteServer {
  /** Takes any region and any credentials. */
  readonly endpoint: string;
  stop(): Promise<void>;
}

/**
 * DynamoDB's protocol, in this process, on a free loopback port. Without `dataDir` the tables live in memory. The caller sees to it
 * that no other process uses the folder, which would end this one at the first request.
 */
export async function startDynalite(options: { readonly dataDir?: string } = {}): Promise<DynaliteServer> {
  const path = options.dataDir === undefined ? undefined : resolve(options.dataDir);
  if (path !== undefined) await mkdir(path, { recursive: true, mode: 0o700 });
  const server = dynalite({
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
    ...(path === undefined ? {} : { path }),
  });
  surviveBrokenRequests(server);

  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen({ port: 0, host: LOOPBACK }, listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new SluiceError('internal', 'dynalite listens on no port.');

  return {
    endpoint: `http://${LOOPBACK}:${address.port}`,
    async stop() {
      const closed = Promise.withResolvers<void>();
      server.close((error) => (error ? closed.reject(error) : closed.resolve()));
      server.closeAllConnections();
      await closed.promise;
    },
  };
}

/** dynalite throws what goes wrong with a connection, such as a client that hangs up early, which would end this process. */
function surviveBrokenRequests(server: Server): void {
  const [handle] = server.listeners('request') as ((request: IncomingMessage, response: ServerResponse) => void)[];
  if (handle === undefined) return;
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    handle.call(server, request, response);
    request.removeAllListeners('error');
    request.on('error', () => response.destroy());
  });
}
