import { SluiceError } from '../errors.ts';
import type { FlowDefinition, TableName } from '../flow/definition.ts';
import { tablesRead } from '../flow/tables-read.ts';
import type { FlowState } from './flow-store.ts';

/** UTF-8 bytes. With them every stored item stays far under DynamoDB's 400 KB. */
const MAX_QUERY_BYTES = 64 * 1024;
export const MAX_FLOW_NAME_BYTES = 63;
/** Dirty windows that one plan consumes. */
const MAX_CONSUMED = 100;
/** Those of a plan, and those of earlier ones that one load still shows. */
const MAX_SETTLE = 2 * MAX_CONSUMED;
const MAX_PAGE = 1000;
/** UTF-8 bytes of connection, schema and table together: escaped, they still fit a DynamoDB key of 2,048. */
const MAX_TABLE_BYTES = 600;

export function checkFlowName(flow: string): void {
  checkWellFormed('a flow name', flow);
  const bytes = Buffer.byteLength(flow);
  if (bytes >= 1 && bytes <= MAX_FLOW_NAME_BYTES) return;
  throw new SluiceError(
    'invalid_request',
    `a flow name of ${bytes} bytes was given; 1 to ${MAX_FLOW_NAME_BYTES} are allowed, choose a shorter one`,
  );
}

/** Without it two different names, each with half a surrogate pair, would become the same UTF-8 and share a key. */
function checkWellFormed(what: string, text: string): void {
  if (text.isWellFormed()) return;
  throw new SluiceError('invalid_request', `${what} was given with half a surrogate pair; send well-formed Unicode`);
}

export function checkTable(connection: string, { schema, table }: TableName): void {
  const names = [connection, schema, table];
  for (const name of names) checkWellFormed('a connection or table name', name);
  const bytes = Buffer.byteLength(names.join(''));
  if (bytes <= MAX_TABLE_BYTES) return;
  throw new SluiceError(
    'invalid_request',
    `connection, schema and table of ${bytes} bytes together were given; at most ${MAX_TABLE_BYTES} are allowed`,
  );
}

export function checkDefinition(definition: FlowDefinition): void {
  checkFlowName(definition.name);
  for (const source of tablesRead(definition.compiled)) checkTable(definition.options.connection, source);
  checkWellFormed('a query', definition.query);
  checkWellFormed('a comment', definition.comment ?? '');
  const bytes = Buffer.byteLength(definition.query);
  if (bytes <= MAX_QUERY_BYTES) return;
  throw new SluiceError(
    'invalid_request',
    `the query of flow ${definition.name} has ${bytes} bytes; at most ${MAX_QUERY_BYTES} are allowed, shorten it or move a part into a view`,
  );
}

export function checkState(flow: string, state: FlowState): void {
  checkFlowName(flow);
  const consumed = state.inFlight?.consumed.length ?? 0;
  if (consumed > MAX_CONSUMED) throw overBound(flow, 'a plan consumes', consumed, MAX_CONSUMED);
  const settle = state.settle.length;
  if (settle > MAX_SETTLE) throw overBound(flow, 'a commit leaves to settle', settle, MAX_SETTLE);
}

function overBound(flow: string, what: string, count: number, most: number): SluiceError {
  return new SluiceError('internal', `flow ${flow}: ${what} ${count} dirty windows; at most ${most} are allowed`);
}

export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE) return;
  throw new SluiceError(
    'invalid_request',
    `a page of ${limit} was asked for; give a whole number from 1 to ${MAX_PAGE}`,
  );
}
