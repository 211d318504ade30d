import type { FlowState } from '../flow-store.ts';
import { type Attributes, bigintText, text } from './attribute-codec.ts';
import { sortableBigint } from './codec.ts';

/** What must be true of the stored item for a write to happen; spread into the request. */
export interface Condition {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Attributes;
}

/** No item of this key is stored. */
export const NOT_STORED: Condition = {
  ConditionExpression: 'attribute_not_exists(#pk)',
  ExpressionAttributeNames: { '#pk': 'pk' },
};

/** Nobody has written the state since it was read. The epoch alone would do for plans, the version also tells a repeated write. */
export function stateUnchanged(held: Pick<FlowState, 'epoch' | 'version'>): Condition {
  return {
    ConditionExpression: '#epoch = :epoch AND #version = :version',
    ExpressionAttributeNames: { '#epoch': 'epoch', '#version': 'version' },
    ExpressionAttributeValues: { ':epoch': bigintText.encode(held.epoch), ':version': bigintText.encode(held.version) },
  };
}

/** The window has not been marked again. */
export function markUnchanged(version: string): Condition {
  return {
    ConditionExpression: '#v = :v',
    ExpressionAttributeNames: { '#v': 'v' },
    ExpressionAttributeValues: { ':v': text.encode(version) },
  };
}

/** Nothing is stored, or something that a definition up to this generation has written. */
export function notNewerThan(generation: bigint): Condition {
  return {
    ConditionExpression: 'attribute_not_exists(#generation) OR #generation <= :generation',
    ExpressionAttributeNames: { '#generation': 'generation' },
    ExpressionAttributeValues: { ':generation': sortableBigint.encode(generation) },
  };
}

/** Written by the definition of this very generation. */
export function ofGeneration(generation: bigint): Condition {
  return {
    ConditionExpression: '#generation = :generation',
    ExpressionAttributeNames: { '#generation': 'generation' },
    ExpressionAttributeValues: { ':generation': sortableBigint.encode(generation) },
  };
}

export function unclaimedOrHeldBy(flow: string): Condition {
  return {
    ConditionExpression: 'attribute_not_exists(#flow) OR #flow = :flow',
    ExpressionAttributeNames: { '#flow': 'flow' },
    ExpressionAttributeValues: { ':flow': text.encode(flow) },
  };
}

export function heldBy(flow: string): Condition {
  return {
    ConditionExpression: '#flow = :flow',
    ExpressionAttributeNames: { '#flow': 'flow' },
    ExpressionAttributeValues: { ':flow': text.encode(flow) },
  };
}
