import { SluiceError } from '../../errors.ts';
import type { TableName } from '../../flow/definition.ts';
import { checkFlowName } from '../bounds.ts';
import type { FlowStore } from '../flow-store.ts';
import { sinkTaken } from '../sink-taken.ts';
import { decodeClaim, encodeClaim } from './codec.ts';
import { heldBy, unclaimedOrHeldBy } from './conditions.ts';
import type { ItemTable } from './item-table.ts';
import { claimKey } from './keys.ts';

/** Between a refused claim and the question who holds it, the holder may release it. */
const ATTEMPTS = 3;

export function createClaimItems(table: ItemTable): Pick<FlowStore, 'sinkHolder' | 'claimSink' | 'releaseSink'> {
  async function sinkHolder(connection: string, sink: TableName): Promise<string | null> {
    const item = await table.get(claimKey(connection, sink));
    return item === null ? null : decodeClaim(item);
  }

  return {
    sinkHolder,

    async claimSink(connection, sink, flow) {
      checkFlowName(flow);
      const claim = encodeClaim(connection, sink, flow);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        if (await table.put(claim, unclaimedOrHeldBy(flow))) return;
        const holder = await sinkHolder(connection, sink);
        if (holder === flow) return;
        if (holder !== null) throw sinkTaken(sink, holder);
      }
      throw new SluiceError('conflict', `the sink of flow ${flow} keeps changing hands; try again`, {
        retryable: true,
      });
    },

    async releaseSink(connection, sink, flow) {
      checkFlowName(flow);
      await table.remove(claimKey(connection, sink), heldBy(flow));
    },
  };
}
