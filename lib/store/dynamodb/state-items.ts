import { SluiceError } from '../../errors.ts';
import { checkFlowName, checkState } from '../bounds.ts';
import { wantedOrder } from '../dirty-order.ts';
import type { DirtyWindow, FlowState, FlowStore, Held, LoadedFlow } from '../flow-store.ts';
import type { Attributes } from './attribute-codec.ts';
import { decodeDefinition, decodeDirty, decodeState, decodeWriteId, encodeState, keyOf } from './codec.ts';
import { NOT_STORED, stateUnchanged } from './conditions.ts';
import { type ItemTable, takeItems } from './item-table.ts';
import { DEFINITION_SK, DIRTY_PREFIX, flowPk, STATE_SK, stateKey } from './keys.ts';

type StatePart = Pick<FlowStore, 'load' | 'begin' | 'commit' | 'abort'>;

export function createStateItems(table: ItemTable, random: () => string): StatePart {
  const write = createStateWrite(table, random);
  return {
    async load(flow, { limit, order }) {
      checkFlowName(flow);
      const newest = await loadBackwards(table, flow, limit);
      if (newest === null || wantedOrder(newest, order) === 'newest') return newest;
      if (!newest.more) return { ...newest, dirty: newest.dirty.toReversed() };
      // The state was read before these windows. One that a plan has consumed in between is missing here, but then the state has
      // another version and whoever uses this one to begin a plan is refused.
      const oldest = await takeItems(table, { pk: flowPk(flow), sk: DIRTY_ONLY }, limit + 1);
      return { ...newest, dirty: oldest.slice(0, limit).map(decodeDirty), more: oldest.length > limit };
    },
    begin: write,
    commit: write,
    abort: write,
  };
}

export const DIRTY_ONLY = { condition: 'begins_with(#sk, :dirty)', values: { ':dirty': DIRTY_PREFIX } };

/** State and definition come first in this direction, whatever else is kept in the flow's partition. */
async function loadBackwards(table: ItemTable, flow: string, limit: number): Promise<LoadedFlow | null> {
  let state: Attributes | undefined;
  let definition: Attributes | undefined;
  const dirty: DirtyWindow[] = [];
  // One dirty window past the bound tells that there are more.
  const pageSize = limit + 3;
  for await (const page of table.query({ pk: flowPk(flow), backwards: true, pageSize })) {
    for (const item of page) {
      const { sk } = keyOf(item);
      if (sk === STATE_SK) state = item;
      else if (sk === DEFINITION_SK) definition = item;
      else if (sk.startsWith(DIRTY_PREFIX)) dirty.push(decodeDirty(item));
    }
    if (dirty.length > limit) break;
  }
  if (state === undefined) return null;
  return {
    state: decodeState(state),
    definition: definition === undefined ? null : decodeDefinition(definition),
    dirty: dirty.slice(0, limit),
    more: dirty.length > limit,
  };
}

/**
 * The one conditional write of a flow's state.
 *
 * An answer can be lost after the write was applied; the repeated request then fails on its own effect. The write's id, stored
 * with the item, tells the two cases apart. It belongs to the object `next`, so that a caller that repeats its call after
 * `store_unavailable` is recognised as well. Equal content would not do: two changes of a definition can write equal states.
 */
function createStateWrite(table: ItemTable, random: () => string) {
  const writeIds = new WeakMap<FlowState, string>();

  return async function write(flow: string, held: Held, next: FlowState): Promise<void> {
    checkState(flow, next);
    const writeId = writeIds.get(next) ?? random();
    writeIds.set(next, writeId);
    const condition = held === null ? NOT_STORED : stateUnchanged(held);
    if (await table.put(encodeState(flow, next, writeId), condition)) return;

    const found = await table.get(stateKey(flow));
    if (found !== null && decodeWriteId(found) === writeId) return;
    throw stateConflict(flow, found === null ? null : decodeState(found));
  };
}

function stateConflict(flow: string, found: FlowState | null): SluiceError {
  const holder = found?.lease?.owner;
  const by = holder === undefined ? '' : ` by ${holder}`;
  return new SluiceError('conflict', `flow ${flow} was changed${by} since it was read; load it again`, {
    details: holder === undefined ? {} : { holder },
  });
}
