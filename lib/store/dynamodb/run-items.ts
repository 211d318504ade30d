import { type Instant, plus, SECOND } from '../../window/instant.ts';
import { checkFlowName, checkLimit } from '../bounds.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import type { FlowStore } from '../flow-store.ts';
import { decodeRun, encodeRun, keyOf, RUN_KEPT_SECONDS } from './codec.ts';
import { type ItemTable, takeItems } from './item-table.ts';
import { runsPk, sortableInstant } from './keys.ts';

export function createRunItems(table: ItemTable, clock: () => Instant): Pick<FlowStore, 'appendRun' | 'runs'> {
  return {
    /** The key is the line's time and epoch: a repeated call writes the same item again. */
    async appendRun(flow, run) {
      checkFlowName(flow);
      await table.put(encodeRun(flow, run));
    },

    async runs(flow, { limit, cursor }) {
      checkFlowName(flow);
      checkLimit(limit);
      const oldest = sortableInstant(plus(clock(), -SECOND * BigInt(RUN_KEPT_SECONDS)));
      const after = cursor === undefined ? undefined : fromCursor('runs', cursor);
      if (after !== undefined && after <= oldest) return { runs: [] };
      // DynamoDB removes expired lines some time later than they expire.
      const query = {
        pk: runsPk(flow),
        sk: { condition: '#sk > :oldest', values: { ':oldest': oldest } },
        backwards: true,
        ...(after === undefined ? {} : { after }),
      };
      const items = await takeItems(table, query, limit + 1);
      const page = items.slice(0, limit);
      const last = page.at(-1);
      const runs = page.map(decodeRun);
      return items.length > limit && last !== undefined ? { runs, cursor: toCursor('runs', keyOf(last).sk) } : { runs };
    },
  };
}
