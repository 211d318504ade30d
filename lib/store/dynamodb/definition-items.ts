import { SluiceError } from '../../errors.ts';
import type { FlowDefinition, TableName } from '../../flow/definition.ts';
import { tablesRead } from '../../flow/tables-read.ts';
import { checkDefinition, checkFlowName, checkLimit } from '../bounds.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import type { FlowStore } from '../flow-store.ts';
import { listingOf, readersOfDefinition } from '../readers.ts';
import type { Attributes } from './attribute-codec.ts';
import { decodeListing, decodeReader, encodeDefinition, encodeListing, encodeReader, keyOf } from './codec.ts';
import { notNewerThan, ofGeneration } from './conditions.ts';
import { inParallel } from './in-parallel.ts';
import { type ItemTable, takeItems } from './item-table.ts';
import { definitionKey, type ItemKey, LISTING_PK, listingKey, READER_PREFIX, readerKey, tablePk } from './keys.ts';

const WIDTH = 16;

type DefinitionPart = Pick<FlowStore, 'putDefinition' | 'removeDefinition' | 'list' | 'readersOf'>;

/**
 * Everything that a definition writes carries its generation and gives way to a later one: a change of the definition that was
 * frozen for a while cannot undo what came after it.
 */
export function createDefinitionItems(table: ItemTable): DefinitionPart {
  async function putInTurn(items: readonly Attributes[], generation: bigint): Promise<boolean> {
    let lost = false;
    await inParallel(items, WIDTH, async (item) => {
      if (!(await table.put(item, notNewerThan(generation)))) lost = true;
    });
    return !lost;
  }

  return {
    async putDefinition(definition, previous) {
      checkDefinition(definition);
      const { name, generation } = definition;
      const { connection } = definition.options;
      const readers = readersOfDefinition(definition).map(({ table: source, reader }) =>
        encodeReader(connection, source, reader, generation),
      );
      const written =
        (await putInTurn(readers, generation)) &&
        (await putInTurn([encodeDefinition(definition)], generation)) &&
        (await putInTurn([encodeListing(listingOf(definition), generation)], generation));
      if (!written) {
        // The later definition wrote its own readers first: what is still of this generation is nobody's.
        await inParallel(readers.map(keyOf), WIDTH, async (key) => {
          await table.remove(key, ofGeneration(generation));
        });
        throw new SluiceError('conflict', `flow ${name} was changed by a later definition; load it again`);
      }
      const kept = new Set(readers.map((item) => keyOf(item).pk));
      const stale = previous === null ? [] : readerKeys(previous).filter((key) => !kept.has(key.pk));
      await removeAll(table, stale, generation);
    },

    async removeDefinition(definition) {
      const { name, generation } = definition;
      checkFlowName(name);
      await removeAll(table, [listingKey(name)], generation);
      await removeAll(table, readerKeys(definition), generation);
      await removeAll(table, [definitionKey(name)], generation);
    },

    async list({ limit, cursor }) {
      checkLimit(limit);
      const after = cursor === undefined ? {} : { after: fromCursor('flows', cursor) };
      const items = await takeItems(table, { pk: LISTING_PK, ...after }, limit + 1);
      const flows = items.slice(0, limit).map(decodeListing);
      const last = flows.at(-1);
      return items.length > limit && last !== undefined ? { flows, cursor: toCursor('flows', last.name) } : { flows };
    },

    async readersOf(connection, source) {
      const readers: Attributes[] = [];
      const sk = { condition: 'begins_with(#sk, :reader)', values: { ':reader': READER_PREFIX } };
      for await (const page of table.query({ pk: tablePk(connection, source), sk })) readers.push(...page);
      return readers.map(decodeReader);
    },
  };
}

function readerKeys({ name, options, compiled }: FlowDefinition): ItemKey[] {
  return tablesRead(compiled).map((source: TableName) => readerKey(options.connection, source, name));
}

async function removeAll(table: ItemTable, keys: readonly ItemKey[], generation: bigint): Promise<void> {
  await inParallel(keys, WIDTH, async (key) => {
    await table.remove(key, notNewerThan(generation));
  });
}
