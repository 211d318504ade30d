import { writeSync } from 'node:fs';
import { createPostgresFrontend } from '../../lib/frontend/postgres/postgres-frontend.ts';
import { instant } from '../../lib/window/instant.ts';
import { hourlyDefinition } from './definitions.ts';
import { StoppingSocket } from './stopping-socket.ts';

/**
 * A process of its own that runs one plan and stops itself (SIGSTOP) instead of sending the first message that begins
 * with a given text. Lines on its standard output: `stopping`, then, once continued, how the plan ended.
 */
const { url, namespace, name, schema, stopAt, from, to, epoch, applied, budgetMs } = JSON.parse(
  process.argv[2] ?? '{}',
);

const frontend = createPostgresFrontend({
  connection: { connectionString: url, stream: () => new StoppingSocket(stopAt) },
  namespace,
});
const definition = hourlyDefinition(name, { schema, table: 'source' }, { schema, table: `sink of ${name}` });
try {
  await frontend.run({
    definition,
    epoch: BigInt(epoch),
    applied: BigInt(applied),
    coverage: 'scoped_base_repair',
    ranges: [{ start: instant(BigInt(from)), end: instant(BigInt(to)) }],
    gridTime: null,
    source: null,
    sinkIdentity: null,
    budgetMs,
  });
  writeSync(1, 'written\n');
} catch (error) {
  writeSync(1, `${(error as { code?: string }).code}\n`);
}
await frontend.close();
