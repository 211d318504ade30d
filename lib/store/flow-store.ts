import type { FlowDefinition, TableName } from '../flow/definition.ts';
import type { Instant, Micros } from '../window/instant.ts';
import type { TimeRange } from '../window/time-range.ts';
import type { WindowSpec } from '../window/window-spec.ts';

/** A dirty window as stored. `version` is fresh and random at each mark, so that a settle never deletes a newer mark. */
export interface DirtyWindow extends TimeRange {
  readonly version: string;
  /** It was asked for by name: neither the expiry nor any other bound keeps it from a plan. */
  readonly forced: boolean;
}

/**
 * A dirty window that a plan consumes. Once the plan is committed it counts as `left` (nothing, or the parts that
 * the plan did not reach), and settle makes the store say so too.
 */
export interface ConsumedWindow extends DirtyWindow {
  readonly left: readonly TimeRange[];
}

export interface Mark {
  readonly flow: string;
  readonly range: TimeRange;
  /** Default false. */
  readonly forced?: boolean;
}

export type Coverage = 'unfiltered_full' | 'scoped_base_repair' | 'fenced_repair_chunk' | 'incremental_delta';

export interface Lease {
  readonly owner: string;
  readonly epoch: bigint;
  readonly expiresAt: Instant;
}

/** The plan that a lease was taken for, with all that is needed to complete its commit without the one who ran it. */
export interface InFlightPlan {
  readonly epoch: bigint;
  readonly coverage: Coverage;
  /** The windows that it rewrites; empty for `unfiltered_full`. */
  readonly ranges: readonly TimeRange[];
  readonly consumed: readonly ConsumedWindow[];
  /** Grid time of an eval-interval run, to which `now()` is bound. */
  readonly gridTime: Instant | null;
  readonly startedAt: Instant;
  /** True when it is known that work is left behind this plan. */
  readonly more: boolean;
}

export type FlowStatus = 'creating' | 'active' | 'paused' | 'dropping' | 'dropped';

export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly at: Instant;
}

/** The oldest row of a source was at `from`, then at `to`; null: then there was none. Found out at `at`. */
export interface SourceShrunk {
  readonly from: Instant;
  readonly to: Instant | null;
  readonly at: Instant;
}

/** The only commit point of a flow. Every write of it is conditional on the epoch and version that were read. */
export interface FlowState {
  /** Higher at every acquisition of the lease and every change of the definition; never reused, not even across DROP. */
  readonly epoch: bigint;
  /** Higher at every write of this item. */
  readonly version: bigint;
  readonly status: FlowStatus;
  /** `FlowDefinition.generation` that this state belongs to; 0 before the first. */
  readonly generation: bigint;
  readonly lease: Lease | null;
  readonly inFlight: InFlightPlan | null;
  /** Consumed by committed plans; perhaps not yet removed from the store. */
  readonly settle: readonly ConsumedWindow[];
  /** Epoch of the last plan that the sink's database is known to have applied; 0 if none. */
  readonly applied: bigint;
  readonly mode: 'full_snapshot' | 'incremental';
  /** Watermark of each region up to which the sink has been brought. */
  readonly checkpoints: Readonly<Record<string, string>>;
  /** Windows that the next plan may take while recovering from a failure; null: as the options say. */
  readonly windowLimit: number | null;
  readonly failures: number;
  readonly blocked: RunError | null;
  readonly lastError: RunError | null;
  /** Last grid time that was dealt with, of a flow with an eval interval. */
  readonly lastGridTime: Instant | null;
  /** Grid times that a flow without windows let pass without a run, over its life. */
  readonly gridTimesSkipped: bigint;
  /** No plan of a scheduled tick begins before it; null: one may begin at once. */
  readonly nextDueAt: Instant | null;
  /** Up to when the flow's `lookback` has been made dirty; null before the first time. */
  readonly lookbackAt: Instant | null;
  /** Dirty times that no plan takes, because they lie outside of what the flow accepts or are frozen. A normal list. */
  readonly aside: readonly TimeRange[];
  /** The table that was written last, as its database tells it from others of the same name; null: none yet. */
  readonly sinkIdentity: string | null;
  /** The oldest time among the source's rows, as of the last plan that asked; null: not known, or there was no row. */
  readonly sourceOldest: Instant | null;
  /** With `on_delete = keep`: windows that start before it are neither recomputed nor removed. */
  readonly frozenBefore: Instant | null;
  /** The last time that the source was seen to have lost its oldest rows. */
  readonly sourceShrunk: SourceShrunk | null;
  readonly lastRunAt: Instant | null;
  /** Over the life of the flow; grows with every committed plan. */
  readonly plansCommitted: bigint;
  readonly rowsWritten: bigint;
}

/** What must still be true of the state item for a write to happen. `null`: no item exists. */
export type Held = Pick<FlowState, 'epoch' | 'version'> | null;

/** `as_defined`: as the flow's own definition says. */
export type DirtyOrder = 'newest' | 'oldest' | 'as_defined';

export interface LoadedFlow {
  readonly state: FlowState;
  /** Absent after DROP and before the first CREATE is complete. */
  readonly definition: FlowDefinition | null;
  /** In the order and at most as many as asked for. */
  readonly dirty: readonly DirtyWindow[];
  /** More dirty windows exist than were read. */
  readonly more: boolean;
}

/** What a marker of a table needs to know of one flow that reads it. */
export interface TableReader {
  readonly flow: string;
  /** null: this flow reads the table whole, or has no window expression; a change of it dirties nothing, or everything. */
  readonly window: WindowSpec | null;
  /** Column of the table that the windows cut; null where `window` is. */
  readonly timeColumn: string | null;
  /** A change of a table that is read whole dirties everything. */
  readonly refreshesWhole: boolean;
  /** Windows older than this are not marked. */
  readonly expireAfter: Micros | null;
}

export interface RunRecord {
  readonly at: Instant;
  readonly epoch: bigint;
  readonly coverage: Coverage;
  readonly ranges: readonly TimeRange[];
  readonly outcome: 'committed' | 'recovered' | 'failed' | 'abandoned';
  readonly reason: string;
  readonly rows: { readonly inserted: bigint; readonly updated: bigint; readonly deleted: bigint } | null;
  /** Milliseconds of the frontend's run, and of the tick up to its commit. */
  readonly queryMs: number;
  readonly tickMs: number;
  readonly gridTime: Instant | null;
}

export interface FlowListing {
  readonly name: string;
  readonly sink: TableName;
  readonly query: string;
  readonly comment: string | null;
  readonly connection: string;
}

/**
 * All state of all flows. Every request may be applied twice, or be applied with its answer lost: a conditional write
 * that finds its own earlier effect reports success. There are no multi-item transactions.
 *
 * Throws `conflict` when the condition of a write does not hold (`details.holder` names the lease's owner, if any),
 * `throttled` and `store_unavailable` (both retryable) when the store does not answer.
 */
export interface FlowStore {
  /**
   * One strongly consistent Query; a second one where the oldest windows are wanted and more than `limit` wait. null: no such flow
   * was ever created. Reads at most `limit` dirty windows.
   */
  load(flow: string, read: { limit: number; order: DirtyOrder }): Promise<LoadedFlow | null>;

  /**
   * These three are one conditional write of the whole state item, stored as given; they differ in what the writer means by it.
   * A writer raises `next.version` above the one it held. Repeating a call with the same object `next` is a repetition of the same
   * write: it succeeds if the first was applied and nobody has written since.
   */
  begin(flow: string, held: Held, next: FlowState): Promise<void>;
  commit(flow: string, held: Held, next: FlowState): Promise<void>;
  abort(flow: string, held: Held, next: FlowState): Promise<void>;

  /** Marks what is left of each window, then deletes it if its version is still the one given. Replayable. */
  settle(flow: string, consumed: readonly ConsumedWindow[]): Promise<void>;
  /**
   * One unconditional write per (flow, range), each with a fresh random version. Equal pairs are written once. A range that was
   * forced stays forced until it is settled.
   */
  markDirty(marks: readonly Mark[]): Promise<void>;
  /**
   * Removes every dirty window of a flow that is dropped or being dropped. It leaves those of a flow that has been created anew,
   * so that a late call does no harm.
   */
  clearDirty(flow: string): Promise<void>;

  /** Which flows read a table: one Query. */
  readersOf(connection: string, table: TableName): Promise<readonly TableReader[]>;
  /** The flow that has reserved a sink, or null. Strongly consistent. */
  sinkHolder(connection: string, sink: TableName): Promise<string | null>;
  /** Reserves a sink for one flow; throws `sink_taken` with the holder. Calling it again for the same flow is allowed. */
  claimSink(connection: string, sink: TableName, flow: string): Promise<void>;
  releaseSink(connection: string, sink: TableName, flow: string): Promise<void>;
  /**
   * Writes, in this order, the reader items of the sources, the definition, the listing; then removes reader items of
   * `previous` that are no longer true. Repeating it converges. Nothing of a later generation is overwritten or removed: `conflict`.
   */
  putDefinition(definition: FlowDefinition, previous: FlowDefinition | null): Promise<void>;
  /** Removes the listing, the reader items and, last, the definition. What a later generation has written stays. */
  removeDefinition(definition: FlowDefinition): Promise<void>;
  /** By name. `cursor` is opaque and comes from the previous page. */
  list(page: { limit: number; cursor?: string }): Promise<{ flows: readonly FlowListing[]; cursor?: string }>;

  appendRun(flow: string, run: RunRecord): Promise<void>;
  /** Newest first. */
  runs(
    flow: string,
    page: { limit: number; cursor?: string },
  ): Promise<{ runs: readonly RunRecord[]; cursor?: string }>;
}
