import type { Instant, Micros } from '../window/instant.ts';
import type { WindowSpec } from '../window/window-spec.ts';

/** A table name with its schema, both as the database stores them (never quoted, case kept). */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** Every option with its default filled in. */
export interface FlowOptions {
  /** Which database connection the flow runs on. */
  readonly connection: string;
  /** IANA zone that sessions of this flow pin; the zone of `date_trunc` without a zone argument over `timestamptz`. */
  readonly timeZone: string;
  /** Dirty ranges that lie at most this many windows apart are joined. Default 3. */
  readonly mergeDistance: number;
  /** Most ranges in one plan. Default 20. */
  readonly maxRanges: number;
  /** Most windows of total length in one plan. Default 20. */
  readonly maxWindows: number;
  /** Which dirty windows go first. Default `newest`. */
  readonly order: 'newest' | 'oldest';
  /** For a query without a window expression: a fixed length (`1 hour`) or a calendar unit (`1 month`), as written. */
  readonly window: string | null;
  /** Output column that `window` cuts: a time column of a source, passed up as it is. */
  readonly timeColumn: string | null;
  /** Output columns that identify a row, where the query does not tell. Empty: none given. */
  readonly key: readonly string[];
  /** Whether a marked change of a source that is read whole dirties everything. Default `ignore`. */
  readonly onDimensionChange: 'ignore' | 'refresh';
  /** `keep`: windows that start before the oldest remaining row of a source that shrank are frozen. Default `apply`. */
  readonly onDelete: 'apply' | 'keep';
  /** Windows from so long ago up to now are refreshed at every run, marked or not. */
  readonly lookback: Micros | null;
  /** Windows that end less than this ago are left alone for now. */
  readonly delay: Micros | null;
  /** Event times further in the past than this are not accepted: their windows are quarantined. */
  readonly acceptPast: Micros | null;
  /** Event times further in the future than this are not accepted: their windows are quarantined. */
  readonly acceptFuture: Micros | null;
  /** What the rest between two runs follows: how long the last one took (default), or also the length of a window. */
  readonly cadence: 'duration' | 'window';
  /** What becomes of grid times that passed without a run. Default `latest`: only the latest of them runs. */
  readonly missedTicks: 'latest' | 'skip' | 'catch_up';
  /** With `catch_up`: most missed grid times that run. Default 3. */
  readonly catchUpMaxRuns: number;
  /** With `catch_up`: missed grid times older than this are skipped. null: three eval intervals, five minutes at least. */
  readonly catchUpMaxLag: Micros | null;
  /** A grid time; the others lie whole eval intervals from it. Default the epoch. */
  readonly scheduleAnchor: Instant;
  /** No grid time before this one runs. */
  readonly scheduleStart: Instant | null;
}

/** What becomes of the query at creation, so that a tick never parses SQL. Produced by `lib/sql`, stored as it is. */
export interface CompiledQuery {
  /** Version of the compiler; a deploy with another one recompiles. */
  readonly compiler: number;
  /**
   * The query text, cut where something is filled in per plan: `text[0] hole[0] text[1] hole[1] … text[n]`. All names in
   * it are schema-qualified.
   */
  readonly text: readonly string[];
  readonly holes: readonly QueryHole[];
  /** null: the query has no window expression and is run whole. */
  readonly window: CompiledWindow | null;
  /** Every table the query reads, in order of appearance, each once. */
  readonly sources: readonly CompiledSource[];
  /**
   * What the views among the sources read, down to the tables, each once. `timeColumn`: passed up as it is, so that a change of the
   * table's rows of a time changes the query's rows of that time only.
   */
  readonly beneath: readonly CompiledSource[];
  /** Output columns in order, by output name. */
  readonly columns: readonly string[];
  /** Output names that identify a sink row: the window or history column first, then the other group keys. Empty: no key is known. */
  readonly keys: readonly string[];
  /** null: the answer of each run takes the place of the last. */
  readonly history: CompiledHistory | null;
}

/** Of a recording query: each run's rows are history under its grid time, and later runs leave them alone. */
export interface CompiledHistory {
  /** Output (and sink) column that is the grid time. */
  readonly column: string;
  /** What the column makes of the grid time: `expression[0]` + a timestamptz literal + `expression[1]`. */
  readonly expression: readonly [string, string];
}

/** `filter` becomes a condition on `column` (a quoted, qualified reference); `now` a timestamptz literal of the grid time. */
export type QueryHole =
  | { readonly kind: 'filter'; readonly column: string; readonly type: TimeColumnType }
  | { readonly kind: 'now' };

export type TimeColumnType = 'timestamptz' | 'timestamp' | 'date';

export interface CompiledWindow {
  readonly spec: WindowSpec;
  /** Output (and sink) column that holds the window's label. */
  readonly column: string;
  /** The window expression as a function of one time value: `expression[0] + value + expression[1]`. */
  readonly expression: readonly [string, string];
  /** Type in which a value is given to `expression`. */
  readonly argumentType: 'timestamptz' | 'timestamp';
}

export interface CompiledSource extends TableName {
  /** The time column whose scan is filtered by window; null where this input is read whole. */
  readonly timeColumn: string | null;
}

/**
 * The column of the sink that takes the output column at the same place, as it was when the flow was created. The names differ only
 * where a column of an existing sink is taken by its place. `type` as `format_type` spells it.
 */
export interface SinkColumn {
  readonly name: string;
  readonly type: string;
}

/** A named, stored query + sink table + options. */
export interface FlowDefinition {
  readonly name: string;
  readonly sink: TableName;
  /** The user's own text after AS. */
  readonly query: string;
  readonly comment: string | null;
  /** Age past which windows are neither refreshed nor marked. */
  readonly expireAfter: Micros | null;
  /** Run every so often on a fixed grid, with `now()` bound to the grid time. */
  readonly evalInterval: Micros | null;
  readonly options: FlowOptions;
  readonly compiled: CompiledQuery;
  readonly sinkColumns: readonly SinkColumn[];
  /** The sink has a column `update_at` that Sluice fills with the time of the write. */
  readonly updateAt: boolean;
  /** The sink has a column `__ts_placeholder` that no query gives; it is filled with the epoch. */
  readonly placeholder: boolean;
  /** The epoch at which this definition took effect. */
  readonly generation: bigint;
}
