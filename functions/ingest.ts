import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { applyMarkEvent } from '../lib/api/mark-event.ts';
import { type HandlerDeps, onFirstEvent } from './runtime.ts';

/** An EventBridge event of type `Sluice Mark`, of which only the detail is read. */
export interface MarkEvent {
  readonly id?: string;
  readonly detail: unknown;
}

/** How many dirty windows were written, by flow. */
export type IngestAnswer = readonly { readonly flow: string; readonly windows: number }[];

export type IngestHandler = (event: MarkEvent, context: Context) => Promise<IngestAnswer>;

/**
 * Marks windows dirty. Whatever cannot be marked ends in an error, so that Lambda tries again and at last keeps the event
 * in the dead-letter queue: a mark that is swallowed is a sink that stays wrong.
 */
export function createIngestHandler({ engine, log }: HandlerDeps): IngestHandler {
  return middy(async (event: MarkEvent) => {
    const marked = await applyMarkEvent(engine, event?.detail);
    for (const { flow, marked: ranges } of marked) {
      log.info({ flow, action: 'marked', event: event.id }, `${ranges.length} dirty windows from an event`);
    }
    return marked.map(({ flow, marked: ranges }) => ({ flow, windows: ranges.length }));
  }).onError(({ event, error }) => {
    log.error({ event: event?.id, err: error }, 'the mark event failed');
  });
}

export const handler: IngestHandler = onFirstEvent(createIngestHandler);
