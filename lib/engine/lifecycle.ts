import { SluiceError } from '../errors.ts';
import type { FlowDefinition } from '../flow/definition.ts';
import { tablesRead } from '../flow/tables-read.ts';
import type { Frontend } from '../frontend/frontend.ts';
import type { FlowState, LoadedFlow } from '../store/flow-store.ts';
import { refuseCycle } from './cycle.ts';
import { FENCE_BUDGET_MS, inForce, raiseFence, takeForChange } from './definition-change.ts';
import type { EngineDeps } from './deps.ts';
import { type Rebuild, rebuildOf, sameSink } from './rebuild.ts';
import { markEverything } from './restored.ts';
import { leaseIsActive, NEW_FLOW_STATE } from './state.ts';

/** A compiled definition that has not been given its generation yet. */
export type FlowDraft = Omit<FlowDefinition, 'generation'>;
export type CreateMode = 'create' | 'if_not_exists' | 'or_replace';
export interface CreateOutcome extends Rebuild {
  readonly outcome: 'created' | 'replaced' | 'exists';
}

const LEFT_ALONE: CreateOutcome = {
  outcome: 'exists',
  rebuild: false,
  reason: 'the flow is there already, and stays as it is',
};

/** The shortest period of the clock. */
const CLOCK_SECONDS = 60;

/**
 * Brings a definition into force: claim the sink, create it where it is absent, take a new epoch, raise the fence, store the
 * definition, mark everything dirty, give the lease back, start the clock. Each step may be repeated and a repeated call
 * repairs one that ended anywhere; a tick adopts a definition that was stored but not brought into force.
 *
 * `basedOn`: the generation of the definition that the draft was made from, if any. Throws `flow_exists`, `sink_taken`, `conflict`
 * (another change is under way, or came between).
 */
export async function createFlow(
  deps: EngineDeps,
  draft: FlowDraft,
  mode: CreateMode,
  basedOn: bigint | null = null,
): Promise<CreateOutcome> {
  const before = await deps.store.load(draft.name, { limit: 1, order: 'newest' });
  if (exists(before)) {
    if (mode === 'create') throw flowExists(draft.name);
    if (mode === 'if_not_exists') {
      await startClock(deps, draft);
      return LEFT_ALONE;
    }
  }
  await refuseTakenSink(deps, draft);
  await refuseCycle(deps, draft);
  const frontend = deps.frontend(draft.options.connection);
  await proveFence(frontend, draft.name, before?.state.epoch ?? 0n);
  const sinkIsNew = (await frontend.describeSink(draft.sink)) === null;
  if (sinkIsNew) await frontend.createSink(draft);

  const taken = await takeForChange(deps, draft.name, exists(before) ? 'replace' : 'create', (loaded) => {
    if (exists(loaded) && mode !== 'or_replace') throw flowExists(draft.name);
    if (basedOn !== null && loaded?.definition?.generation !== basedOn) throw changedMeanwhile(draft.name);
    return exists(loaded) ? loaded.state : { ...(loaded?.state ?? NEW_FLOW_STATE), status: 'creating' };
  });
  try {
    await claimSink(deps, draft);
    await refuseCycle(deps, draft);
  } catch (error) {
    await deps.store.abort(draft.name, taken.held, givenBack(taken));
    throw error;
  }
  const previous = taken.loaded?.definition ?? null;
  const { held, applied } = await raiseFence(deps, frontend, draft.name, taken.held);
  const definition: FlowDefinition = { ...draft, generation: held.epoch };
  const change = changeOf(taken.loaded, definition, sinkIsNew);
  await deps.store.putDefinition(definition, previous);
  if (change.rebuild) await markEverything(deps, draft.name);
  const kept = !change.rebuild ? 'all' : readsTheSame(previous, definition) ? 'source_age' : 'nothing';
  await deps.store.commit(draft.name, held, inForce(held, definition, applied, kept));
  if (previous !== null) await releaseFormerSink(deps, previous, definition);

  await startClock(deps, draft);
  await deps.schedule.requestTick(draft.name, 'created');
  return { outcome: exists(taken.loaded) ? 'replaced' : 'created', ...change };
}

/**
 * What {@link createFlow} would answer, and whether it would create the sink; nothing is written. Throws what it refuses before it
 * writes: `flow_exists`, `sink_taken`.
 */
export async function wouldCreate(
  deps: EngineDeps,
  draft: FlowDraft,
  mode: CreateMode,
): Promise<CreateOutcome & { readonly sinkIsNew: boolean }> {
  const before = await deps.store.load(draft.name, { limit: 1, order: 'newest' });
  if (exists(before) && mode === 'create') throw flowExists(draft.name);
  if (exists(before) && mode === 'if_not_exists') return { ...LEFT_ALONE, sinkIsNew: false };
  await refuseTakenSink(deps, draft);
  await refuseCycle(deps, draft);
  const sinkIsNew = (await deps.frontend(draft.options.connection).describeSink(draft.sink)) === null;
  const outcome = exists(before) ? 'replaced' : 'created';
  return { outcome, ...changeOf(before, draft, sinkIsNew), sinkIsNew };
}

/**
 * Stops the flow, forgets its definition and its dirty windows, and keeps its epoch. The sink table stays unless `dropSink`.
 * Repeating it finishes a drop that ended half-way. Throws `flow_not_found`.
 */
export async function dropFlow(deps: EngineDeps, flow: string, { dropSink }: { dropSink: boolean }): Promise<void> {
  const taken = await takeForChange(deps, flow, 'drop', (loaded) => {
    if (loaded === null || loaded.state.status === 'dropped') throw flowNotFound(flow);
    // From here on marks are refused, so that whatever comes next has to start from nothing.
    return { ...loaded.state, status: 'dropping', generation: 0n };
  });
  const definition = taken.loaded?.definition ?? null;
  let held = taken.held;
  let applied = held.applied;
  if (definition !== null) {
    const frontend = deps.frontend(definition.options.connection);
    ({ held, applied } = await raiseFence(deps, frontend, flow, held));
    if (dropSink) await frontend.dropSink(definition.sink);
  }
  await deps.schedule.remove(flow);
  if (definition !== null) {
    await deps.store.releaseSink(definition.options.connection, definition.sink, flow);
    // Under the latest generation, so that readers which a replace has written before it ended half-way go too.
    await deps.store.removeDefinition({ ...definition, generation: held.epoch });
  }
  await deps.store.clearDirty(flow);
  const tombstone: FlowState = {
    ...NEW_FLOW_STATE,
    epoch: held.epoch,
    version: held.version + 1n,
    applied,
    status: 'dropped',
  };
  await deps.store.commit(flow, held, tombstone);
}

/**
 * No plan runs until `resumeFlow`; marks are kept. A database that cannot be reached does not stand in the way: a plan in
 * flight stays recorded then, and its fate is found out after the flow is resumed.
 */
export async function pauseFlow(deps: EngineDeps, flow: string): Promise<void> {
  const taken = await takeForChange(deps, flow, 'pause', (loaded) => existing(flow, loaded).state);
  const { definition } = existing(flow, taken.loaded);
  try {
    const frontend = deps.frontend(definition.options.connection);
    const { held, applied } = await raiseFence(deps, frontend, flow, taken.held);
    await deps.store.commit(flow, held, released({ ...held, inFlight: null, applied }, 'paused'));
  } catch (error) {
    if (!(error instanceof SluiceError) || !error.retryable || error.code === 'conflict') throw error;
    deps.log({ flow, action: 'paused', reason: 'paused without raising the fence', epoch: taken.held.epoch, error });
    await deps.store.commit(flow, taken.held, released(taken.held, 'paused'));
  }
  await deps.schedule.disable(flow);
}

/** Lets plans run again and clears what blocked the flow, so that it is tried anew. */
export async function resumeFlow(deps: EngineDeps, flow: string): Promise<void> {
  const taken = await takeForChange(deps, flow, 'resume', (loaded) => existing(flow, loaded).state);
  const { definition } = existing(flow, taken.loaded);
  await deps.store.commit(flow, taken.held, { ...released(taken.held, 'active'), blocked: null });
  await startClock(deps, definition);
  await deps.schedule.enable(flow);
  await deps.schedule.requestTick(flow, 'continue');
}

/** Loads a flow that exists. Throws `flow_not_found`. */
export function existing(
  flow: string,
  loaded: LoadedFlow | null,
): LoadedFlow & { readonly definition: FlowDefinition } {
  if (!exists(loaded)) throw flowNotFound(flow);
  return loaded;
}

function exists(loaded: LoadedFlow | null): loaded is LoadedFlow & { readonly definition: FlowDefinition } {
  return loaded !== null && loaded.definition !== null && loaded.state.status !== 'dropping';
}

/** Before anything is stored: a database that does not let this role keep a fence refuses the flow here. */
async function proveFence(frontend: Frontend, flow: string, epoch: bigint): Promise<void> {
  try {
    await frontend.fence(flow, epoch, FENCE_BUDGET_MS);
  } catch (error) {
    // A higher fence is met again, and outrun, under the lease.
    if (!(error instanceof SluiceError) || error.code !== 'fenced') throw error;
  }
}

/** A definition whose change ended half-way is stored, and yet the sink may hold nothing of it. */
function isInForce(loaded: LoadedFlow | null): loaded is LoadedFlow & { readonly definition: FlowDefinition } {
  return exists(loaded) && loaded.definition.generation === loaded.state.generation;
}

function released(held: FlowState, status: 'active' | 'paused'): FlowState {
  return { ...held, version: held.version + 1n, lease: null, status };
}

function flowExists(flow: string): SluiceError {
  return new SluiceError(
    'flow_exists',
    `flow ${flow} exists; use CREATE OR REPLACE FLOW, or CREATE FLOW IF NOT EXISTS`,
  );
}

function changedMeanwhile(flow: string): SluiceError {
  const message = `flow ${flow} was changed while this change was prepared; nothing was done, so try again`;
  return new SluiceError('conflict', message, { retryable: true });
}

function flowNotFound(flow: string): SluiceError {
  return new SluiceError('flow_not_found', `there is no flow ${flow}; SHOW FLOWS lists those that exist`);
}

/**
 * The same for a flow with an eval interval: the clock's period begins whenever the rule was made, so that one as long as the interval
 * would come up to an interval after the grid time, and a failed run would wait as long again.
 */
async function startClock(deps: EngineDeps, { name }: Pick<FlowDefinition, 'name'>): Promise<void> {
  await deps.schedule.put(name, CLOCK_SECONDS);
}

async function refuseTakenSink(deps: EngineDeps, draft: FlowDraft): Promise<void> {
  const holder = await deps.store.sinkHolder(draft.options.connection, draft.sink);
  if (holder !== null && holder !== draft.name && !(await claimIsVoid(deps, holder, draft)))
    throw sinkTaken(draft, holder);
}

async function claimSink(deps: EngineDeps, draft: FlowDraft): Promise<void> {
  const { store } = deps;
  const { connection } = draft.options;
  try {
    await store.claimSink(connection, draft.sink, draft.name);
  } catch (error) {
    const holder = error instanceof SluiceError && error.code === 'sink_taken' ? error.details.holder : undefined;
    if (holder === undefined || !(await claimIsVoid(deps, holder, draft))) throw error;
    await store.releaseSink(connection, draft.sink, holder);
    await store.claimSink(connection, draft.sink, draft.name);
  }
}

/**
 * A claim is made under the lease of its flow. It is void if that flow has neither a definition nor anybody at work on it, or
 * has been given another sink and did not get to release this one.
 */
async function claimIsVoid(deps: EngineDeps, holder: string, draft: FlowDraft): Promise<boolean> {
  const other = await deps.store.load(holder, { limit: 1, order: 'newest' });
  if (other === null) return true;
  if (leaseIsActive(other.state.lease, deps.clock())) return false;
  return other.definition === null || !sameSink(other.definition, draft);
}

/** The state as it was before a change that could not be made; the epoch it took is not used again. */
function givenBack({ held, loaded }: { readonly held: FlowState; readonly loaded: LoadedFlow | null }): FlowState {
  const status = exists(loaded) ? loaded.state.status : 'dropped';
  return { ...held, version: held.version + 1n, lease: null, status };
}

function sinkTaken(draft: FlowDraft, holder: string): SluiceError {
  const sink = `${draft.sink.schema}.${draft.sink.table}`;
  return new SluiceError(
    'sink_taken',
    `table ${sink} is the sink of flow ${holder}; give this flow a sink of its own`,
    {
      details: { holder },
    },
  );
}

async function releaseFormerSink(deps: EngineDeps, previous: FlowDefinition, next: FlowDefinition): Promise<void> {
  if (sameSink(previous, next)) return;
  await deps.store.releaseSink(previous.options.connection, previous.sink, previous.name);
}

/** What bringing a definition into force does to the rows: everything is dirty, or not, and why. */
function changeOf(loaded: LoadedFlow | null, next: FlowDraft, sinkIsNew: boolean): Rebuild {
  if (!exists(loaded)) return { rebuild: true, reason: 'the flow is new' };
  if (sinkIsNew) return { rebuild: true, reason: 'the sink is created' };
  if (!isInForce(loaded)) return { rebuild: true, reason: 'an earlier change of the flow had ended half-way' };
  return rebuildOf(loaded.definition, next);
}

/** Whether the oldest row of the source, and what the sink has kept of older ones, are still what they were. */
function readsTheSame(previous: FlowDefinition | null, next: FlowDefinition): boolean {
  if (previous === null || !sameSink(previous, next)) return false;
  return JSON.stringify(tablesRead(previous.compiled)) === JSON.stringify(tablesRead(next.compiled));
}
