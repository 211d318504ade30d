import type { Micros } from '../window/instant.ts';
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
  /** Output columns in order, by output name. */
  readonly columns: readonly string[];
  /** Output names that identify a sink row: the window column first, then the other group keys. Empty: no key is known. */
  readonly keys: readonly string[];
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

/** One column of the sink as it was when the flow was created, as `format_type` spells its type. */
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
  /** The epoch at which this definition took effect. */
  readonly generation: bigint;
}
