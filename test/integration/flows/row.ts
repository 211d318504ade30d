/** The kinds of queries that people bring, each with what becomes of it. */
export const KINDS = {
  window: 'a window as a group key, in all its places',
  aggregates: 'filters, aggregates and further keys',
  inputs: 'joins, subqueries and UNION ALL',
  distinct: 'SELECT DISTINCT',
  projection: 'a plain projection, cut by options',
  whole: 'a query that only runs whole',
  recording: 'a recording query',
  order: 'ORDER BY at the top',
  keys: 'grouping sets and keys that are not selected',
  volatile: 'functions that answer differently each time, and the time of the run',
  calendar: 'windows of all lengths, zones and types',
  sink: 'a sink that is there already',
} as const;

export type Kind = keyof typeof KINDS;

export interface AcceptedRow {
  readonly kind: Kind;
  readonly query: string;
  /** Options for WITH. */
  readonly options?: string;
  /** The flow runs on a grid of one hour. */
  readonly hourly?: boolean;
  /** What has made the sink beforehand. */
  readonly sink?: string;
  /** What creation warns of. */
  readonly warns?: RegExp;
}

export interface RefusedRow {
  readonly kind: Kind;
  readonly query: string;
  /** The part of the message that teaches. */
  readonly says: RegExp;
  /** The word at which the answer points, where it points to one. */
  readonly at?: string;
  /** The clauses between the sink and AS. */
  readonly clauses?: string;
  readonly sink?: string;
  readonly status?: 400 | 422;
}
