import { setTimeout as delay } from 'node:timers/promises';
import { SluiceError } from '../errors.ts';
import { parseInstant } from '../window/rfc3339.ts';
import { intersect, rangeLength, type TimeRange } from '../window/time-range.ts';
import type { ApiClient, StateAnswer } from './api-client.ts';

const POLL_MS = 200;
/** Plans of one flow that failed in a row; more would be a fault that does not pass. */
const MOST_FAILURES = 5;

/** Nothing dirty, nothing in flight, nobody at work. */
function isQuiet(state: StateAnswer): boolean {
  return state.dirty.ranges.length === 0 && !state.dirty.more && state.in_flight === null && state.lease === null;
}

/** How much of `within` is up to date, from 0 to 1. */
export function upToDate(state: StateAnswer, within: TimeRange): number {
  let left = 0n;
  for (const [from, to] of state.dirty.ranges) {
    const part = intersect({ start: parseInstant(from), end: parseInstant(to) }, within);
    if (part !== null) left += rangeLength(part);
  }
  return 1 - Number(left) / Number(rangeLength(within));
}

/** Waits until every flow is quiet. Throws `query_failed` where one is blocked or goes on failing. */
export async function untilQuiet(
  api: ApiClient,
  flows: readonly string[],
  signal: AbortSignal,
  onStates: (states: readonly StateAnswer[]) => void,
): Promise<void> {
  for (;;) {
    const states = await Promise.all(flows.map((flow) => api.state(flow)));
    for (const state of states) refuseStuck(state);
    onStates(states);
    if (states.every(isQuiet)) return;
    await delay(POLL_MS, undefined, { signal });
  }
}

function refuseStuck(state: StateAnswer): void {
  const stuck = state.blocked ?? (state.back_off.failures >= MOST_FAILURES ? state.last_error : null);
  if (stuck === null) return;
  throw new SluiceError('query_failed', `Flow ${state.name} does not get ahead: ${stuck.message} (${stuck.code})`);
}
