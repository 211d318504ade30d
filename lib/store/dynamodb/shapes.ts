import type {
  CompiledHistory,
  CompiledQuery,
  CompiledSource,
  CompiledWindow,
  FlowDefinition,
  FlowOptions,
  QueryHole,
  SinkColumn,
  TableName,
  TimeColumnType,
} from '../../flow/definition.ts';
import type { Instant, Micros } from '../../window/instant.ts';
import type { TimeRange } from '../../window/time-range.ts';
import type { CalendarUnit, WindowSpec } from '../../window/window-spec.ts';
import type {
  ConsumedWindow,
  Coverage,
  FlowListing,
  FlowState,
  FlowStatus,
  InFlightPlan,
  Lease,
  RunError,
  RunRecord,
  SourceShrunk,
  TableReader,
} from '../flow-store.ts';
import {
  type AttributeCodec,
  bigintText,
  boolean,
  branded,
  clippedText,
  list,
  nullable,
  number,
  oneOf,
  record,
  taggedUnion,
  text,
  withDefault,
} from './attribute-codec.ts';

// What is inside the stored items. An attribute that a later release adds takes `withDefault`, because items without it are
// already stored.

/** Absent in items of an earlier release, or said to be nothing. */
function optional<T>(codec: AttributeCodec<T>): AttributeCodec<T | null> {
  return withDefault(nullable(codec), null);
}

const instant: AttributeCodec<Instant> = branded(bigintText);
const micros: AttributeCodec<Micros> = bigintText;

const range = record<TimeRange>({ start: instant, end: instant });

const coverage = oneOf<Coverage>('unfiltered_full', 'scoped_base_repair', 'fenced_repair_chunk', 'incremental_delta');

const consumedWindow = record<ConsumedWindow>({
  start: instant,
  end: instant,
  version: text,
  forced: withDefault(boolean, false),
  left: list(range),
});

const lease = record<Lease>({ owner: text, epoch: bigintText, expiresAt: instant });

const inFlightPlan = record<InFlightPlan>({
  epoch: bigintText,
  coverage,
  ranges: list(range),
  consumed: list(consumedWindow),
  gridTime: nullable(instant),
  startedAt: instant,
  more: boolean,
});

/** A server's message can be as long as the statement that it complains about. */
const explanation = clippedText(2_000);

const runError = record<RunError>({ code: text, message: explanation, at: instant });

/** As pairs: a region may have any name, and a map loses `__proto__`. */
const checkpoints: AttributeCodec<Readonly<Record<string, string>>> = (() => {
  const pairs = list(record<{ region: string; watermark: string }>({ region: text, watermark: text }));
  return {
    encode: (value) => pairs.encode(Object.entries(value).map(([region, watermark]) => ({ region, watermark }))),
    decode: (value, path) =>
      Object.fromEntries(pairs.decode(value, path).map(({ region, watermark }) => [region, watermark])),
  };
})();

export const flowState = record<FlowState>({
  epoch: bigintText,
  version: bigintText,
  status: oneOf<FlowStatus>('creating', 'active', 'paused', 'dropping', 'dropped'),
  generation: bigintText,
  lease: nullable(lease),
  inFlight: nullable(inFlightPlan),
  settle: list(consumedWindow),
  applied: bigintText,
  mode: withDefault(oneOf('full_snapshot', 'incremental'), 'full_snapshot'),
  checkpoints: withDefault(checkpoints, {}),
  windowLimit: withDefault(nullable(number), null),
  failures: withDefault(number, 0),
  blocked: withDefault(nullable(runError), null),
  lastError: withDefault(nullable(runError), null),
  lastGridTime: optional(instant),
  gridTimesSkipped: withDefault(bigintText, 0n),
  nextDueAt: optional(instant),
  lookbackAt: optional(instant),
  aside: withDefault(list(range), []),
  sinkIdentity: optional(text),
  sourceOldest: optional(instant),
  frozenBefore: optional(instant),
  sourceShrunk: optional(record<SourceShrunk>({ from: instant, to: nullable(instant), at: instant })),
  lastRunAt: optional(instant),
  plansCommitted: withDefault(bigintText, 0n),
  rowsWritten: withDefault(bigintText, 0n),
});

const tableFields = { schema: text, table: text } as const;
const tableName = record<TableName>(tableFields);

const windowSpec: AttributeCodec<WindowSpec> = taggedUnion<WindowSpec>({
  fixed: record({ size: micros, origin: instant }),
  calendar: record({
    unit: oneOf<CalendarUnit>('hour', 'day', 'week', 'month', 'quarter', 'year', 'decade', 'century', 'millennium'),
    zone: text,
  }),
});

const timeColumnType = oneOf<TimeColumnType>('timestamptz', 'timestamp', 'date');

const queryHole = taggedUnion<QueryHole>({
  filter: record({ column: text, type: timeColumnType }),
  now: record({}),
});

const expression: AttributeCodec<readonly [string, string]> = {
  encode: (parts) => list(text).encode(parts),
  decode(value, path) {
    const [before, after] = list(text).decode(value, path);
    return [before ?? '', after ?? ''];
  },
};

const compiledWindow = record<CompiledWindow>({
  spec: windowSpec,
  column: text,
  expression,
  argumentType: oneOf('timestamptz', 'timestamp'),
});

const compiledSource = record<CompiledSource>({ ...tableFields, timeColumn: nullable(text) });

const compiledQuery = record<CompiledQuery>({
  compiler: number,
  text: list(text),
  holes: list(queryHole),
  window: nullable(compiledWindow),
  sources: list(compiledSource),
  beneath: withDefault(list(compiledSource), []),
  columns: list(text),
  keys: list(text),
  history: optional(record<CompiledHistory>({ column: text, expression })),
});

const flowOptions = record<FlowOptions>({
  connection: text,
  timeZone: text,
  mergeDistance: number,
  maxRanges: number,
  maxWindows: number,
  order: oneOf('newest', 'oldest'),
  window: optional(text),
  timeColumn: optional(text),
  key: withDefault(list(text), []),
  onDimensionChange: withDefault(oneOf('ignore', 'refresh'), 'ignore'),
  onDelete: withDefault(oneOf('apply', 'keep'), 'apply'),
  lookback: optional(micros),
  delay: optional(micros),
  acceptPast: optional(micros),
  acceptFuture: optional(micros),
  cadence: withDefault(oneOf('duration', 'window'), 'duration'),
  missedTicks: withDefault(oneOf('latest', 'skip', 'catch_up'), 'latest'),
  catchUpMaxRuns: withDefault(number, 3),
  catchUpMaxLag: optional(micros),
  scheduleAnchor: withDefault(instant, 0n as Instant),
  scheduleStart: optional(instant),
});

/** Without the generation, which the item keeps in a form that conditions can compare. */
export const flowDefinition = record<Omit<FlowDefinition, 'generation'>>({
  name: text,
  sink: tableName,
  query: text,
  comment: nullable(text),
  expireAfter: nullable(micros),
  evalInterval: nullable(micros),
  options: flowOptions,
  compiled: compiledQuery,
  sinkColumns: list(record<SinkColumn>({ name: text, type: text })),
  updateAt: boolean,
  placeholder: withDefault(boolean, false),
});

export const runRecord = record<RunRecord>({
  at: instant,
  epoch: bigintText,
  coverage,
  ranges: list(range),
  outcome: oneOf('committed', 'recovered', 'failed', 'abandoned'),
  reason: explanation,
  rows: nullable(
    record<NonNullable<RunRecord['rows']>>({ inserted: bigintText, updated: bigintText, deleted: bigintText }),
  ),
  queryMs: number,
  tickMs: number,
  gridTime: nullable(instant),
});

/** The flow is named by the sort key. */
export const tableReader = record<Omit<TableReader, 'flow'>>({
  window: nullable(windowSpec),
  timeColumn: optional(text),
  refreshesWhole: withDefault(boolean, false),
  expireAfter: nullable(micros),
});

export const flowListing = record<FlowListing>({
  name: text,
  sink: tableName,
  query: text,
  comment: nullable(text),
  connection: text,
});
