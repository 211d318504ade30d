// Starts a server, says where, and then does nothing: for tests that end its process in every way there is.
import { startPostgres } from '../../lib/local/postgres-server.ts';

const [dataDir] = process.argv.slice(2);
const server = await startPostgres(dataDir === undefined ? {} : { dataDir });
process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.url })}\n`);
process.on('SIGUSR2', () => {
  throw new Error('uncaught, as the test wants it');
});
