import { flushFlow } from '../engine/flush.ts';
import { dropFlow, pauseFlow, resumeFlow } from '../engine/lifecycle.ts';
import type { Call, Outcome } from './route.ts';

// What a route and a statement do alike, with their answers.

/** An HTTP API gives up after 30 s; what is left is for the way back. */
const FLUSH_WAIT_MS = 25_000;
const FLUSH_MARGIN_MS = 3_000;

export async function drop({ deps }: Call, name: string, dropSink: boolean): Promise<Outcome> {
  await dropFlow(deps.engine, name, { dropSink });
  return { status: 200, body: { outcome: 'dropped', name, sink: dropSink ? 'dropped' : 'kept' } };
}

export async function pause({ deps }: Call, name: string): Promise<Outcome> {
  await pauseFlow(deps.engine, name);
  return { status: 200, body: { name, status: 'paused' } };
}

export async function resume({ deps }: Call, name: string): Promise<Outcome> {
  await resumeFlow(deps.engine, name);
  return { status: 200, body: { name, status: 'active' } };
}

export async function flush({ deps, millisLeft }: Call, name: string): Promise<Outcome> {
  const waitMs = Math.max(0, Math.min(FLUSH_WAIT_MS, millisLeft - FLUSH_MARGIN_MS));
  const outcome = await flushFlow(deps.engine, name, { waitMs });
  if (outcome.done) return { status: 200, body: { affected_rows: String(outcome.rowsWritten) } };
  const state = `/flows/${encodeURIComponent(name)}/state`;
  const message = 'the flush goes on; its dirty windows are gone from the state when it is through';
  return { status: 202, body: { state, message }, headers: { location: state } };
}
