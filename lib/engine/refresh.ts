import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import type { FlowState } from '../store/flow-store.ts';
import { normalize } from '../window/dirty-set.ts';
import { formatInstant } from '../window/rfc3339.ts';
import type { TimeRange } from '../window/time-range.ts';
import { alignOutwards } from '../window/windows.ts';
import { admissionAt, divide } from './admission.ts';
import type { EngineDeps } from './deps.ts';
import { existing } from './lifecycle.ts';

export interface Refresh {
  readonly ranges: readonly TimeRange[];
  /** Also windows that no plan would take otherwise: expired, frozen, not accepted, or too young. */
  readonly force: boolean;
}

/**
 * Makes the windows of these ranges dirty, whether or not their rows changed, and asks for a tick. Plans then go through them like
 * through any others. Answers with the ranges that were marked.
 *
 * Throws `flow_not_found`, `invalid_request` for a flow that runs whole, and `conflict` where a range reaches windows that no plan
 * would take and `force` is not given: they are not left out without a word.
 */
export async function refreshFlow(deps: EngineDeps, flow: string, refresh: Refresh): Promise<readonly TimeRange[]> {
  const { ranges } = await wouldRefresh(deps, flow, refresh);
  await deps.store.markDirty(ranges.map((range) => ({ flow, range, forced: refresh.force })));
  await deps.schedule.requestTick(flow, 'flush');
  return ranges;
}

/** What {@link refreshFlow} would mark, and of which flow; with the same refusals. */
export async function wouldRefresh(
  deps: EngineDeps,
  flow: string,
  { ranges, force }: Refresh,
): Promise<{ readonly definition: FlowDefinition; readonly ranges: readonly TimeRange[] }> {
  const { definition, state } = existing(flow, await deps.store.load(flow, { limit: 1, order: 'newest' }));
  const { window } = definition.compiled;
  if (window === null) {
    const message = `flow ${flow} runs whole, so that no part of it can be refreshed; flush it instead`;
    throw new SluiceError('invalid_request', message);
  }
  const windows = normalize(ranges.map((range) => alignOutwards(window.spec, range)));
  if (!force) refuseOutside(deps, definition, state, windows);
  return { definition, ranges: windows };
}

/** Windows that only have to wait for the flow's delay are marked like any others. */
function refuseOutside(
  deps: EngineDeps,
  definition: FlowDefinition,
  state: FlowState,
  windows: readonly TimeRange[],
): void {
  const admission = admissionAt(definition, state, deps.clock());
  const { kept } = admission;
  const [expired] = windows.filter(({ start }) => kept === null || start < kept.start);
  const [aside] = divide(windows, admission).aside;
  const outside = expired ?? aside;
  if (outside === undefined) return;
  const why =
    expired !== undefined && kept !== null
      ? `EXPIRE AFTER leaves windows before ${formatInstant(kept.start)} as they are; give a range from there on, alter EXPIRE AFTER, or force it`
      : 'they are frozen or not accepted (on_delete, accept_past, accept_future); give another range, alter the option, or force it';
  throw new SluiceError(
    'conflict',
    `windows from ${formatInstant(outside.start)} on are asked for, but no plan would take them: ${why}`,
  );
}
