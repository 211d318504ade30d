import type { EngineDeps } from '../../lib/engine/deps.ts';
import { createFlow } from '../../lib/engine/lifecycle.ts';
import { markTable } from '../../lib/engine/marks.ts';
import { tick } from '../../lib/engine/tick.ts';
import type { Frontend } from '../../lib/frontend/frontend.ts';
import { HOUR, instant, SECOND } from '../../lib/window/instant.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { createMemoryFrontend, MemoryDatabase } from '../support/memory-frontend.ts';
import { createMemoryStore } from '../support/memory-store.ts';
import { print } from './ratio.ts';

const TICKS = 3_000;
const MARKED = 10;

/** The engine's own work per tick: ports in memory, of which the frontend does nothing. */
export async function benchEngineCpu(): Promise<void> {
  let now = instant(1_700_000_000n * SECOND);
  let versions = 0;
  const store = createMemoryStore({ random: () => `v${++versions}` });
  const database = new MemoryDatabase();
  const nothingDone = { inserted: 0n, updated: 0n, deleted: 0n, sourceOldest: null, sinkIdentity: '1' };
  const memory = createMemoryFrontend(database, () => now);
  const frontend: Frontend = { ...memory, run: () => Promise.resolve(nothingDone) };
  const nothing = () => Promise.resolve();
  const deps: EngineDeps = {
    store,
    frontend: () => frontend,
    schedule: { put: nothing, enable: nothing, disable: nothing, remove: nothing, requestTick: nothing },
    clock: () => now,
    wait: nothing,
    log: () => undefined,
  };
  const source = { schema: 'public', table: 'source' };
  const { generation: _, ...draft } = hourlyDefinition('bench', source, { schema: 'public', table: 'sink' });
  await createFlow(deps, { ...draft, options: { ...draft.options, mergeDistance: 0 } }, 'create');
  const request = () => ({
    flow: 'bench',
    owner: 'bench',
    deadline: instant(now + 60n * SECOND),
    trigger: 'request' as const,
  });
  await tick(deps, request());

  const busy = async (ticks: number): Promise<number> => {
    let spent = 0;
    for (let index = 0; index < ticks; index++) {
      const timestamps = Array.from({ length: MARKED }, (_each, n) => instant(now - BigInt(n * 4 + 1) * HOUR));
      await markTable(deps, 'default', source, { timestamps, ranges: [] });
      const before = process.cpuUsage();
      const outcome = await tick(deps, request());
      const { user, system } = process.cpuUsage(before);
      spent += user + system;
      if (outcome.action !== 'committed') throw new Error(`the tick did not commit: ${outcome.reason}`);
      now = instant(now + SECOND);
    }
    return spent;
  };
  await busy(500);
  const spent = await busy(TICKS);
  print('Engine CPU per tick, ports stubbed');
  print(
    `  ${TICKS} ticks of ${MARKED} dirty windows: ${(spent / TICKS / 1000).toFixed(3)} ms a tick (aim: under 1 ms)`,
  );
}
