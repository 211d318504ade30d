import { checkFlowName } from '../bounds.ts';
import type { FlowStore } from '../flow-store.ts';
import { boolean, text } from './attribute-codec.ts';
import { decodeDirty, decodeState, SCHEMA_ATTRIBUTE } from './codec.ts';
import { markUnchanged } from './conditions.ts';
import { inParallel } from './in-parallel.ts';
import type { ItemTable } from './item-table.ts';
import { dirtyKey, flowPk, type ItemKey, stateKey } from './keys.ts';
import { DIRTY_ONLY } from './state-items.ts';

/** Requests of one call that are under way at a time. */
const WIDTH = 16;

export function createDirtyItems(
  table: ItemTable,
  random: () => string,
): Pick<FlowStore, 'markDirty' | 'settle' | 'clearDirty'> {
  const mark = (key: ItemKey, forced: boolean) => {
    const force = forced ? { forced: boolean.encode(true) } : {};
    return table.set(key, { v: text.encode(random()), ...force, ...SCHEMA_ATTRIBUTE });
  };

  return {
    async markDirty(marks) {
      const distinct = new Map<string, { readonly key: ItemKey; readonly forced: boolean }>();
      for (const { flow, range, forced = false } of marks) {
        checkFlowName(flow);
        const key = dirtyKey(flow, range);
        // The sort key has a fixed width: no two pairs give the same text.
        const pair = key.sk + key.pk;
        distinct.set(pair, { key, forced: forced || distinct.get(pair)?.forced === true });
      }
      await inParallel([...distinct.values()], WIDTH, ({ key, forced }) => mark(key, forced));
    },

    async settle(flow, consumed) {
      checkFlowName(flow);
      await inParallel(consumed, WIDTH, async (window) => {
        // First what is left: ending between the two leaves too much dirty, never too little.
        for (const range of window.left) await mark(dirtyKey(flow, range), window.forced);
        await table.remove(dirtyKey(flow, window), markUnchanged(window.version));
      });
    },

    async clearDirty(flow) {
      checkFlowName(flow);
      for await (const page of table.query({ pk: flowPk(flow), sk: DIRTY_ONLY })) {
        const windows = page.map(decodeDirty);
        if (windows.length === 0) continue;
        // Read after the marks: if the flow is still dropped now, none of them was made for a successor of the same name.
        if (await isAlive(table, flow)) return;
        await inParallel(windows, WIDTH, async (window) => {
          await table.remove(dirtyKey(flow, window), markUnchanged(window.version));
        });
      }
    },
  };
}

async function isAlive(table: ItemTable, flow: string): Promise<boolean> {
  const item = await table.get(stateKey(flow));
  if (item === null) return false;
  const { status } = decodeState(item);
  return status !== 'dropping' && status !== 'dropped';
}
