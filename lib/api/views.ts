import type { z } from 'zod';
import { whyAside } from '../engine/admission.ts';
import { effectiveDirty } from '../engine/effective-dirty.ts';
import type { MarkedFlow } from '../engine/marks.ts';
import { nextRun } from '../engine/next-run.ts';
import { leaseIsActive } from '../engine/state.ts';
import type { CompiledQuery, CompiledWindow, FlowDefinition } from '../flow/definition.ts';
import { formatInterval } from '../flow/interval.ts';
import { shownOptions } from '../flow/options.ts';
import { renderCreateFlow } from '../flow/statement.ts';
import { tablesRead } from '../flow/tables-read.ts';
import type { QueryInput } from '../sql/inputs.ts';
import type { FlowListing, LoadedFlow, RunError, RunRecord } from '../store/flow-store.ts';
import { normalize } from '../window/dirty-set.ts';
import type { Instant } from '../window/instant.ts';
import { formatInstant } from '../window/rfc3339.ts';
import type { TimeRange } from '../window/time-range.ts';
import type {
  createdAnswer,
  flowAnswer,
  flowsAnswer,
  markedAnswer,
  runsAnswer,
  stateAnswer,
} from './response-schemas.ts';

/** Ranges of one flow in the answer to a mark. */
const MARKED_RANGES_SHOWN = 100;

type Loaded = LoadedFlow & { readonly definition: FlowDefinition };

export function flowView(definition: FlowDefinition): z.output<typeof flowAnswer> {
  const { name, sink, query, comment, expireAfter, evalInterval, options, compiled, sinkColumns } = definition;
  return {
    name,
    sink: { schema: sink.schema, table: sink.table },
    query,
    comment,
    expire_after: expireAfter === null ? null : formatInterval(expireAfter),
    eval_interval: evalInterval === null ? null : formatInterval(evalInterval),
    options: shownOptions(options),
    window: compiled.window === null ? null : windowView(compiled.window),
    sources: sourcesView(compiled),
    columns: sinkColumns.map((column) => ({ name: column.name, type: column.type })),
    keys: [...compiled.keys],
    generation: String(definition.generation),
    sql: renderCreateFlow(definition),
  };
}

function sourcesView(compiled: CompiledQuery): z.output<typeof flowAnswer>['sources'] {
  return tablesRead(compiled).map(({ schema, table, timeColumn }) => ({ schema, table, time_column: timeColumn }));
}

export function inputsView(inputs: readonly QueryInput[]): z.output<typeof createdAnswer>['inputs'] {
  return inputs.map(({ schema, table, alias, timeColumn }) => {
    return { schema, table, alias, filtered: timeColumn !== null, time_column: timeColumn };
  });
}

/** Of a flow that is stored, whose query was not looked at again: each table once, by no alias. */
export function storedInputs({ sources }: CompiledQuery): QueryInput[] {
  return sources.map((source) => ({ ...source, alias: null }));
}

function windowView({ column, spec }: CompiledWindow): NonNullable<z.output<typeof flowAnswer>['window']> {
  return spec.kind === 'fixed'
    ? { column, unit: formatInterval(spec.size), zone: null }
    : { column, unit: spec.unit, zone: spec.zone };
}

export function listingView(listing: FlowListing): z.output<typeof flowsAnswer>['flows'][number] {
  const { name, sink, comment, connection } = listing;
  return { name, sink: { schema: sink.schema, table: sink.table }, comment, connection };
}

export function markedView(marked: readonly MarkedFlow[]): z.output<typeof markedAnswer> {
  return {
    flows: marked.map(({ flow, marked: ranges }) => ({
      name: flow,
      marked: ranges.length,
      ranges: ranges.slice(0, MARKED_RANGES_SHOWN).map(rangeView),
      more: ranges.length > MARKED_RANGES_SHOWN,
    })),
  };
}

export function stateView(loaded: Loaded, now: Instant): z.output<typeof stateAnswer> {
  const { state, definition } = loaded;
  const { lease, inFlight } = state;
  const dirty = normalize(effectiveDirty(loaded).pending.flatMap(({ parts }) => parts));
  const next = nextRun(loaded, now);
  return {
    name: definition.name,
    status: state.status,
    epoch: String(state.epoch),
    generation: String(state.generation),
    mode: state.mode,
    checkpoints: { ...state.checkpoints },
    lease: lease && {
      owner: lease.owner,
      epoch: String(lease.epoch),
      expires_at: formatInstant(lease.expiresAt),
      expired: !leaseIsActive(lease, now),
    },
    in_flight: inFlight && {
      epoch: String(inFlight.epoch),
      coverage: inFlight.coverage,
      ranges: inFlight.ranges.map(rangeView),
      grid_time: formatOptional(inFlight.gridTime),
      started_at: formatInstant(inFlight.startedAt),
      more: inFlight.more,
    },
    dirty: { ranges: dirty.map(rangeView), more: loaded.more },
    back_off: { window_limit: state.windowLimit, failures: state.failures },
    blocked: state.blocked && errorView(state.blocked),
    last_error: state.lastError && errorView(state.lastError),
    last_run_at: formatOptional(state.lastRunAt),
    next_run: { at: formatOptional(next.at), reason: next.reason },
    set_aside: state.aside.map((aside) => ({
      range: rangeView(aside),
      reason: whyAside(aside, definition, state, now),
    })),
    source: {
      oldest: formatOptional(state.sourceOldest),
      frozen_before: formatOptional(state.frozenBefore),
      shrunk: state.sourceShrunk && {
        from: formatInstant(state.sourceShrunk.from),
        to: formatOptional(state.sourceShrunk.to),
        at: formatInstant(state.sourceShrunk.at),
      },
    },
    totals: {
      plans_committed: String(state.plansCommitted),
      rows_written: String(state.rowsWritten),
      grid_times_skipped: String(state.gridTimesSkipped),
    },
  };
}

export function runView(run: RunRecord): z.output<typeof runsAnswer>['runs'][number] {
  return {
    at: formatInstant(run.at),
    epoch: String(run.epoch),
    coverage: run.coverage,
    ranges: run.ranges.map(rangeView),
    outcome: run.outcome,
    reason: run.reason,
    rows: run.rows && {
      inserted: String(run.rows.inserted),
      updated: String(run.rows.updated),
      deleted: String(run.rows.deleted),
    },
    query_ms: run.queryMs,
    tick_ms: run.tickMs,
    grid_time: formatOptional(run.gridTime),
  };
}

export function rangeView({ start, end }: TimeRange): [string, string] {
  return [formatInstant(start), formatInstant(end)];
}

function errorView({ code, message, at }: RunError): { code: string; message: string; at: string } {
  return { code, message, at: formatInstant(at) };
}

function formatOptional(t: Instant | null): string | null {
  return t === null ? null : formatInstant(t);
}

/** Columns of the query that an existing sink takes by their place, under another name. */
export function renamedView({ compiled, sinkColumns }: Pick<FlowDefinition, 'compiled' | 'sinkColumns'>) {
  return compiled.columns.flatMap((from, index) => {
    const to = sinkColumns[index]?.name ?? from;
    return to === from ? [] : [{ from, to }];
  });
}
