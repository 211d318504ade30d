import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { tick } from '../lib/engine/tick.ts';
import type { TickOutcome } from '../lib/engine/tick-request.ts';
import { SluiceError } from '../lib/errors.ts';
import type { TickDetail } from '../lib/schedule/tick-event.ts';
import { deadlineOf, ownerOf } from './invocation.ts';
import { type HandlerDeps, onFirstEvent } from './runtime.ts';

/** An EventBridge event, of which only the detail is read. */
export interface TickEvent {
  readonly detail: TickDetail;
}

/** A tick's outcome as JSON, which Lambda makes of it and which has no place for a bigint. */
export interface TickAnswer {
  readonly action: TickOutcome['action'];
  readonly reason: string;
  readonly epoch: string | null;
  readonly more: boolean;
}

export type TickHandler = (event: TickEvent, context: Context) => Promise<TickAnswer>;

/**
 * One tick of one flow. An event that is late, doubled or for a flow that is gone ends in an answer; what ends in an error
 * is unexpected, and is logged with its flow before Lambda counts it.
 */
export function createTickHandler({ engine, log }: HandlerDeps): TickHandler {
  return middy(async (event: TickEvent, context: Context) => {
    const { flow, reason } = readDetail(event);
    const {
      action,
      reason: why,
      epoch,
      more,
    } = await tick(engine, {
      flow,
      owner: ownerOf(context),
      deadline: deadlineOf(context, engine.clock()),
      trigger: reason === 'schedule' ? 'schedule' : 'request',
    });
    return { action, reason: why, epoch: epoch === undefined ? null : String(epoch), more };
  }).onError(({ event, error }) => {
    log.error({ flow: event?.detail?.flow, err: error }, 'the tick failed');
  });
}

function readDetail(event: TickEvent): TickDetail {
  const { flow, reason } = event?.detail ?? {};
  if (typeof flow === 'string' && flow !== '' && typeof reason === 'string') return { flow, reason };
  throw new SluiceError('invalid_request', 'a tick event needs detail.flow and detail.reason, both of them texts');
}

export const handler: TickHandler = onFirstEvent(createTickHandler);
