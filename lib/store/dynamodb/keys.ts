import { SluiceError } from '../../errors.ts';
import type { TableName } from '../../flow/definition.ts';
import type { Instant } from '../../window/instant.ts';
import type { TimeRange } from '../../window/time-range.ts';
import { checkTable } from '../bounds.ts';

/**
 * Keys of the one table. Within `FLOW#<name>` the sort keys are named so that a Query backwards meets `STATE`, `FLOW`,
 * `FILL#…` and then the dirty windows, newest first.
 */
export interface ItemKey {
  readonly pk: string;
  readonly sk: string;
}

export const STATE_SK = 'STATE';
export const DEFINITION_SK = 'FLOW';
export const DIRTY_PREFIX = 'DIRTY#';
export const READER_PREFIX = 'FLOW#';
export const LISTING_PK = 'FLOWS';
const CLAIM_SK = 'SINK';

export function flowPk(flow: string): string {
  return `FLOW#${flow}`;
}

export function stateKey(flow: string): ItemKey {
  return { pk: flowPk(flow), sk: STATE_SK };
}

export function definitionKey(flow: string): ItemKey {
  return { pk: flowPk(flow), sk: DEFINITION_SK };
}

export function dirtyKey(flow: string, range: TimeRange): ItemKey {
  return { pk: flowPk(flow), sk: `${DIRTY_PREFIX}${sortableInstant(range.start)}#${sortableInstant(range.end)}` };
}

const DIRTY_SK = /^DIRTY#(\d{20})#(\d{20})$/;

export function parseDirtySk(sk: string): TimeRange {
  const match = DIRTY_SK.exec(sk);
  const [, start, end] = match ?? [];
  if (start === undefined || end === undefined) {
    throw new SluiceError(
      'internal',
      `a stored dirty window has the key ${JSON.stringify(sk)}; expected ${DIRTY_SK.source}`,
    );
  }
  return { start: parseSortableInstant(start), end: parseSortableInstant(end) };
}

export function tablePk(connection: string, table: TableName): string {
  checkTable(connection, table);
  return `TABLE#${[connection, table.schema, table.table].map(keyPart).join('/')}`;
}

export function readerKey(connection: string, table: TableName, flow: string): ItemKey {
  return { pk: tablePk(connection, table), sk: READER_PREFIX + flow };
}

export function claimKey(connection: string, sink: TableName): ItemKey {
  return { pk: tablePk(connection, sink), sk: CLAIM_SK };
}

export function listingKey(flow: string): ItemKey {
  return { pk: LISTING_PK, sk: flow };
}

export function runsPk(flow: string): string {
  return `RUNS#${flow}`;
}

/** The epoch makes it unique: a flow never runs two plans under one. */
export function runKey(flow: string, at: Instant, epoch: bigint): ItemKey {
  return { pk: runsPk(flow), sk: `${sortableInstant(at)}#${sortableUnsigned(epoch)}` };
}

const OFFSET = 2n ** 63n;

/** 20 digits of `t + 2^63`: text order is time order, before 1970 too. */
export function sortableInstant(t: Instant): string {
  return sortableUnsigned(t + OFFSET);
}

function parseSortableInstant(text: string): Instant {
  return (BigInt(text) - OFFSET) as Instant;
}

/** 20 digits: text order is number order from 0 to 2^64 - 1. */
export function sortableUnsigned(n: bigint): string {
  return n.toString().padStart(20, '0');
}

/** Leaves no separator in a part, so that schema `a/b`, table `c` and schema `a`, table `b/c` have different keys. */
function keyPart(name: string): string {
  return name.replace(/[%#/]/g, encodeURIComponent);
}
