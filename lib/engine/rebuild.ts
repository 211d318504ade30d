import type { FlowDefinition } from '../flow/definition.ts';
import type { Micros } from '../window/instant.ts';

/** Whether a change of a definition makes everything dirty, and why, or why not. */
export interface Rebuild {
  readonly rebuild: boolean;
  readonly reason: string;
}

type Definition = Omit<FlowDefinition, 'generation'>;

/**
 * What a sink that holds the rows of `previous` needs under `next`. What only says when and in which portions plans run, or what
 * people call the flow, leaves the rows as they are.
 */
export function rebuildOf(previous: Definition, next: Definition): Rebuild {
  const reason = REASONS.find(({ applies }) => applies(previous, next))?.reason;
  return reason === undefined
    ? { rebuild: false, reason: 'the change does not touch the rows of the sink' }
    : { rebuild: true, reason };
}

/** In order: the first that applies is told. */
const REASONS: readonly {
  readonly reason: string;
  readonly applies: (previous: Definition, next: Definition) => boolean;
}[] = [
  { reason: 'the sink is another table', applies: (a, b) => !sameSink(a, b) },
  { reason: 'time_zone is another one', applies: (a, b) => a.options.timeZone !== b.options.timeZone },
  { reason: 'the windows are cut otherwise', applies: (a, b) => differ(a.compiled.window, b.compiled.window) },
  { reason: 'rows are identified by other columns', applies: (a, b) => differ(a.compiled.keys, b.compiled.keys) },
  { reason: 'the query computes something else', applies: (a, b) => differ(a.compiled, b.compiled) },
  {
    reason: 'other columns of the sink are filled',
    applies: (a, b) => differ(filledColumns(a), filledColumns(b)),
  },
  {
    reason: 'EXPIRE AFTER reaches further back',
    applies: (a, b) => reachesFurther(a.expireAfter, b.expireAfter),
  },
  {
    reason: 'on_delete = apply removes the rows that were kept',
    applies: (a, b) => a.options.onDelete === 'keep' && b.options.onDelete === 'apply',
  },
  {
    reason: 'changes of dimensions that were ignored are brought in',
    applies: (a, b) => a.options.onDimensionChange === 'ignore' && b.options.onDimensionChange === 'refresh',
  },
];

export function sameSink(a: Definition, b: Definition): boolean {
  return (
    a.options.connection === b.options.connection && a.sink.schema === b.sink.schema && a.sink.table === b.sink.table
  );
}

/** Not their types: a sink is only taken with types that hold every value of the query, so a wider one holds the same rows. */
function filledColumns({ sinkColumns, updateAt, placeholder }: Definition): unknown {
  return [sinkColumns.map(({ name }) => name), updateAt, placeholder];
}

/** null: without a bound. */
function reachesFurther(previous: Micros | null, next: Micros | null): boolean {
  return previous !== null && (next === null || next > previous);
}

function differ(a: unknown, b: unknown): boolean {
  return text(a) !== text(b);
}

function text(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}
