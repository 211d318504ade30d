import { SluiceError } from '../../errors.ts';
import type { FlowDefinition, TableName } from '../../flow/definition.ts';
import { toEpochMillis } from '../../window/instant.ts';
import type { DirtyWindow, FlowListing, FlowState, RunRecord, TableReader } from '../flow-store.ts';
import { type AttributeCodec, type Attributes, boolean, number, record, text, withDefault } from './attribute-codec.ts';
import {
  claimKey,
  definitionKey,
  type ItemKey,
  listingKey,
  parseDirtySk,
  READER_PREFIX,
  readerKey,
  runKey,
  sortableUnsigned,
  stateKey,
} from './keys.ts';
import { flowDefinition, flowListing, flowState, runRecord, tableReader } from './shapes.ts';
import { TTL_ATTRIBUTE } from './table-definition.ts';

/**
 * Of every item. It grows only with a change that an older release would misread, which an added attribute is not. An item
 * of a higher schema is refused rather than guessed at.
 */
const SCHEMA = 1;
export const SCHEMA_ATTRIBUTE = { schema: number.encode(SCHEMA) };

/** How long a line of history is kept, in seconds. */
export const RUN_KEPT_SECONDS = 30 * 24 * 3600;

/** Fixed width, so that DynamoDB's comparison of texts compares numbers. */
export const sortableBigint: AttributeCodec<bigint> = {
  encode: (value) => text.encode(sortableUnsigned(value)),
  decode: (value, path) => BigInt(text.decode(value, path)),
};

const generated = record({ generation: sortableBigint });
const written = record({ writeId: withDefault(text, '') });
const marked = record({ v: text, forced: withDefault(boolean, false) });
const claimed = record({ flow: text });

/** `writeId` tells the writer of a state item that what it finds is its own write. */
export function encodeState(flow: string, state: FlowState, writeId: string): Attributes {
  return item(stateKey(flow), { ...flowState.encodeFields(state), ...written.encodeFields({ writeId }) });
}

export function decodeState(attributes: Attributes): FlowState {
  return flowState.decodeFields(attributes, checkedPath(attributes));
}

export function decodeWriteId(attributes: Attributes): string {
  return written.decodeFields(attributes, checkedPath(attributes)).writeId;
}

export function encodeDefinition(definition: FlowDefinition): Attributes {
  return item(definitionKey(definition.name), {
    ...flowDefinition.encodeFields(definition),
    ...generated.encodeFields(definition),
  });
}

export function decodeDefinition(attributes: Attributes): FlowDefinition {
  const path = checkedPath(attributes);
  return { ...flowDefinition.decodeFields(attributes, path), ...generated.decodeFields(attributes, path) };
}

export function decodeDirty(attributes: Attributes): DirtyWindow {
  const { v, forced } = marked.decodeFields(attributes, checkedPath(attributes));
  return { ...parseDirtySk(keyOf(attributes).sk), version: v, forced };
}

/** `generation`: that of the definition which the flow reads the table by. */
export function encodeReader(
  connection: string,
  source: TableName,
  reader: TableReader,
  generation: bigint,
): Attributes {
  const key = readerKey(connection, source, reader.flow);
  return item(key, { ...tableReader.encodeFields(reader), ...generated.encodeFields({ generation }) });
}

export function decodeReader(attributes: Attributes): TableReader {
  const flow = keyOf(attributes).sk.slice(READER_PREFIX.length);
  return { flow, ...tableReader.decodeFields(attributes, checkedPath(attributes)) };
}

export function encodeClaim(connection: string, sink: TableName, flow: string): Attributes {
  return item(claimKey(connection, sink), claimed.encodeFields({ flow }));
}

export function decodeClaim(attributes: Attributes): string {
  return claimed.decodeFields(attributes, checkedPath(attributes)).flow;
}

export function encodeListing(listing: FlowListing, generation: bigint): Attributes {
  const attributes = { ...flowListing.encodeFields(listing), ...generated.encodeFields({ generation }) };
  return item(listingKey(listing.name), attributes);
}

export function decodeListing(attributes: Attributes): FlowListing {
  return flowListing.decodeFields(attributes, checkedPath(attributes));
}

export function encodeRun(flow: string, run: RunRecord): Attributes {
  const expiresAt = Math.ceil(toEpochMillis(run.at) / 1000) + RUN_KEPT_SECONDS;
  return item(runKey(flow, run.at, run.epoch), {
    ...runRecord.encodeFields(run),
    [TTL_ATTRIBUTE]: number.encode(expiresAt),
  });
}

export function decodeRun(attributes: Attributes): RunRecord {
  return runRecord.decodeFields(attributes, checkedPath(attributes));
}

export function encodeKey(key: ItemKey): Attributes {
  return { pk: text.encode(key.pk), sk: text.encode(key.sk) };
}

export function keyOf(attributes: Attributes): ItemKey {
  return { pk: text.decode(attributes.pk, 'pk'), sk: text.decode(attributes.sk, 'sk') };
}

function item(key: ItemKey, attributes: Attributes): Attributes {
  return { ...attributes, ...encodeKey(key), ...SCHEMA_ATTRIBUTE };
}

/** Names the item in errors. */
function checkedPath(attributes: Attributes): string {
  const { pk, sk } = keyOf(attributes);
  const path = `${pk}/${sk}`;
  const schema = number.decode(attributes.schema, `${path}.schema`);
  if (schema <= SCHEMA) return path;
  throw new SluiceError(
    'internal',
    `stored item ${path} has schema ${schema}, this release reads up to ${SCHEMA}: deploy the release that wrote it`,
  );
}
