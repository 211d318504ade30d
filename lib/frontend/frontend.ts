import type { FlowDefinition, SinkColumn, TableName, TimeColumnType } from '../flow/definition.ts';
import type { Coverage } from '../store/flow-store.ts';
import type { Instant } from '../window/instant.ts';
import type { TimeRange } from '../window/time-range.ts';

/** A name as written in a query: `schema` is null where it was left out. Unquoted names are already folded. */
export interface RelationReference {
  readonly schema: string | null;
  readonly table: string;
}

export interface RelationColumn {
  readonly name: string;
  /** As `format_type` spells it: `timestamp with time zone`, `numeric(10,2)`. */
  readonly type: string;
  /** Set where the column can be the argument of a window expression. */
  readonly timeType: TimeColumnType | null;
}

export interface Relation extends TableName {
  readonly kind: 'table' | 'partitioned_table' | 'view' | 'materialized_view' | 'foreign_table';
  readonly columns: readonly RelationColumn[];
  /** The SELECT of a view, whose names resolve by the pinned search path; null for everything else. */
  readonly definition: string | null;
}

/** A name as written in a query: `schema` is null where it was left out. Unquoted names are already folded. */
export interface FunctionReference {
  readonly schema: string | null;
  readonly name: string;
}

/** All functions that one name may call: which of them depends on the types of the arguments. */
export interface FunctionFamily {
  /** Where they are; null where they are in several schemas. */
  readonly schema: string | null;
  /** Of the worst of them. */
  readonly volatility: 'immutable' | 'stable' | 'volatile';
  /** Whether one of them gives several rows. */
  readonly returnsSet: boolean;
}

export interface QueryColumn extends SinkColumn {
  /** The type that a domain is made of; null where the type is no domain. */
  readonly domainOf: string | null;
  /** False where the type has no default btree operator class, so that the column cannot be part of a key. */
  readonly indexable: boolean;
}

export interface SinkTableColumn extends SinkColumn {
  readonly notNull: boolean;
  /** Filled by the database where a row does not give it. */
  readonly hasDefault: boolean;
  /** Filled by the database always: a row cannot give it. */
  readonly generated: boolean;
}

/** An existing table that is to be a sink. */
export interface SinkTable extends TableName {
  /** Another one for each table that ever had the name; PostgreSQL: its oid. */
  readonly identity: string;
  readonly columns: readonly SinkTableColumn[];
  /** Column lists of unique indexes that treat NULLs as equal, are valid, immediate and not partial. */
  readonly uniqueKeys: readonly (readonly string[])[];
}

export interface PlanRequest {
  readonly definition: FlowDefinition;
  readonly epoch: bigint;
  /** What the store believes was applied last. Anything else in the database means that one of the two was restored. */
  readonly applied: bigint;
  readonly coverage: Coverage;
  /** Windows to rewrite, disjoint, ascending, aligned to windows; empty for `unfiltered_full`. */
  readonly ranges: readonly TimeRange[];
  readonly gridTime: Instant | null;
  /**
   * Set where the plan may reach the old end of the source: the time of its oldest row as it was seen last, null where that is not
   * known. A source whose oldest row is younger by now refuses the plan.
   */
  readonly source: { readonly oldest: Instant | null } | null;
  /** Of the table that was written last, by `PlanResult.sinkIdentity`; null: any table that fits is taken. */
  readonly sinkIdentity: string | null;
  /** The transaction is ended by the server within this many milliseconds, whatever becomes of the client. */
  readonly budgetMs: number;
}

export interface PlanResult {
  readonly inserted: bigint;
  readonly updated: bigint;
  readonly deleted: bigint;
  /** Time of the source's oldest row; null where it has none, or was not asked. */
  readonly sourceOldest: Instant | null;
  /** Of the table that was written. */
  readonly sinkIdentity: string;
}

/** What the statement of a plan is made of. */
export type PlanText = Pick<PlanRequest, 'definition' | 'epoch' | 'ranges' | 'gridTime'>;

/** Rows of the sink that a plan would delete: how many, and the first of them by the values of their keys, as text. */
export interface SurplusRows {
  readonly count: bigint;
  readonly keys: readonly (readonly (string | null)[])[];
}

/** Quoted SQL text. */
export interface MissingIndex {
  readonly table: string;
  readonly column: string;
  /** Would create it. */
  readonly statement: string;
}

/** A sink that is to be created. */
export type NewSink = Pick<FlowDefinition, 'sink' | 'compiled' | 'options' | 'comment'>;

/**
 * A database's SQL endpoint.
 *
 * Throws `frontend_unavailable`, `statement_timeout`, `lock_timeout`, `deadlock`, `serialization_failure` (retryable; nothing was
 * written), `outcome_unknown` (retryable; the commit was sent and no answer came), `query_failed`.
 */
export interface Frontend {
  /** Refuses a server that cannot hold a sink (`unsupported_server`). Names the server for people, such as `PostgreSQL 18.4`. */
  checkServer(): Promise<string>;
  /** Each reference resolved by the pinned search path, in order; null where no such relation is visible. */
  describeRelations(references: readonly RelationReference[]): Promise<readonly (Relation | null)[]>;
  /** What each name may call, resolved by the pinned search path, in order; null where no such function is visible. */
  describeFunctions(references: readonly FunctionReference[]): Promise<readonly (FunctionFamily | null)[]>;
  /**
   * The output columns that `CREATE TABLE AS` would give the query. Throws `invalid_query` with the server's message, and its
   * position within `sql` where the server gives one.
   */
  describeQuery(sql: string, timeZone: string): Promise<readonly QueryColumn[]>;
  describeSink(sink: TableName): Promise<SinkTable | null>;
  /** Whether the sink still takes what the flow writes. Throws `sink_drifted` with `details.diff`. */
  checkSink(
    definition: Pick<FlowDefinition, 'sink' | 'compiled' | 'sinkColumns' | 'updateAt' | 'placeholder'>,
    budgetMs: number,
  ): Promise<{ readonly identity: string }>;
  /**
   * Creates the sink with the types, typmods and collations of the query's columns, `update_at` unless the query gives it,
   * and the unique key. Succeeds where an equal call has just created it.
   */
  createSink(definition: NewSink): Promise<void>;
  /** What `createSink` would run. */
  sinkStatements(definition: NewSink): readonly string[];
  dropSink(sink: TableName): Promise<void>;
  /** What `dropSink` would run. */
  dropStatement(sink: TableName): string;
  /** Tables whose rows of a window cannot be found by an index or left out by partition, as the server would plan them. */
  missingIndex(definition: Pick<FlowDefinition, 'compiled' | 'options'>): Promise<readonly MissingIndex[]>;
  /** Whether rows exist whose time is NULL or infinite, which belong to no window. null: a bounded search did not tell. */
  hasUnwindowedRows(definition: Pick<FlowDefinition, 'compiled' | 'options'>): Promise<boolean | null>;
  /**
   * First and last finite time of the source rows inside `within` (aligned to windows), and of the labels of sink rows whose window
   * lies inside it: a label is compared with the window expression of the bounds, since it may lie outside of its own window.
   * null where there is none.
   */
  timeRange(
    definition: Surveyed,
    within: TimeRange,
    budgetMs: number,
  ): Promise<{ readonly source: FirstAndLast | null; readonly sink: FirstAndLast | null }>;
  /**
   * Raises the fence of a flow to `epoch` and learns, in the same statement, which epoch was applied last (0: none known).
   * Throws `fenced` with the higher fence. Repeating it with the same epoch is allowed.
   */
  fence(flow: string, epoch: bigint, budgetMs: number): Promise<{ readonly applied: bigint }>;
  /**
   * One transaction: the fence is checked, raised and locked; then the plan is written and recorded as applied. Throws
   * `fenced`, `history_diverged`, `bounds_not_aligned`, `duplicate_sink_key`, `key_too_long`, `source_shrunk`, `sink_drifted` (the table
   * is gone or no longer fits; `details.diff`), `sink_recreated` (another table fits; `details.identity`) with nothing written.
   */
  run(plan: PlanRequest): Promise<PlanResult>;
  /** The statement that `run` would write a plan by. */
  planStatement(plan: PlanText): string;
  /** How many rows the server expects the query to give for the plan's windows. The query is not run. */
  expectedRows(plan: PlanText): Promise<bigint | null>;
  /**
   * Runs the query of a plan to find the rows of the sink, which exists, that the plan would delete; at most `limit` of them by key.
   * null: that was not found out in time.
   */
  surplusRows(plan: PlanText, limit: number, budgetMs: number): Promise<SurplusRows | null>;
}

/** `sink` is null where there is no such table yet. */
export type Surveyed = Pick<FlowDefinition, 'compiled' | 'options' | 'sinkColumns'> & {
  readonly sink: TableName | null;
};

/** Both belong to it. */
export interface FirstAndLast {
  readonly first: Instant;
  readonly last: Instant;
}
