import { SluiceError } from '../errors.ts';
import type { Micros } from '../window/instant.ts';
import type { FlowOptions } from './definition.ts';
import { type FlowInput, type OptionalClauses, readOptionalClauses } from './flow-input.ts';
import { readOption } from './options.ts';

/** What ALTER FLOW changes of a flow; what is absent stays. An option that is reset has its default as value. */
export interface FlowChange {
  readonly expireAfter?: Micros | null;
  readonly evalInterval?: Micros | null;
  readonly comment?: string | null;
  readonly options: Partial<FlowOptions>;
}

/** The flow with the change applied. Throws `invalid_option` for what cannot be changed in place. */
export function applyChange(flow: FlowInput, change: FlowChange): FlowInput {
  const { connection = flow.options.connection } = change.options;
  if (connection !== flow.options.connection) {
    throw new SluiceError(
      'invalid_option',
      `The connection of a flow cannot be altered: its sink, and what was written there, are in the database ${JSON.stringify(flow.options.connection)}. Use CREATE OR REPLACE FLOW with the whole definition, which fills a sink in the other database from the start.`,
    );
  }
  const { name, sink, query, expireAfter, evalInterval, comment, options } = flow;
  return {
    name,
    sink,
    query,
    expireAfter,
    evalInterval,
    comment,
    ...change,
    options: { ...options, ...change.options },
  };
}

/** Whether the change says nothing but the comment, so that the query need not be looked at again. */
export function isCommentOnly(change: FlowChange): boolean {
  return (
    change.expireAfter === undefined && change.evalInterval === undefined && Object.keys(change.options).length === 0
  );
}

/**
 * A change in its JSON form, as a merge patch of the flow's own: `{ expire_after?, eval_interval?, comment?, options? }`, in which
 * null resets. Throws `invalid_request`, `invalid_option`.
 */
export function flowChangeFromJson(
  body: OptionalClauses & { readonly options?: Record<string, unknown> | undefined },
): FlowChange {
  const { options = {}, ...clauses } = body;
  const read = Object.entries(options).map(([name, value]) => readOption(name, value));
  return { ...readOptionalClauses(clauses), options: Object.assign({}, ...read) as Partial<FlowOptions> };
}
