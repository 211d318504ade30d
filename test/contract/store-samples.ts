import type { FlowDefinition } from '../../lib/flow/definition.ts';
import type { ConsumedWindow, FlowState, RunRecord } from '../../lib/store/flow-store.ts';
import { HOUR, type Instant, instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';

export const U64_MAX = 2n ** 64n - 1n;

export function hours(start: bigint, end: bigint = start + 1n): TimeRange {
  return { start: instant(start * HOUR), end: instant(end * HOUR) };
}

export const NOON = instant(1_750_000_000_000_000n);

/** Every attribute has a value that is not its default. */
export function sampleState(changes: Partial<FlowState> = {}): FlowState {
  const consumed: ConsumedWindow[] = [
    { ...hours(-5n), version: 'v1', forced: false, left: [] },
    { ...hours(1n, 9n), version: 'v2', forced: true, left: [hours(1n, 3n), hours(8n)] },
  ];
  return {
    epoch: 7n,
    version: 12n,
    status: 'active',
    generation: 3n,
    lease: { owner: 'worker 1', epoch: 7n, expiresAt: NOON },
    inFlight: {
      epoch: 7n,
      coverage: 'scoped_base_repair',
      ranges: [hours(-5n), hours(3n, 8n)],
      consumed,
      gridTime: instant(-1n),
      startedAt: NOON,
      more: true,
    },
    settle: consumed,
    applied: U64_MAX,
    mode: 'incremental',
    checkpoints: { 'public.source': '10:20:10,14', __proto__x: 'x', '': '0', [U64_MAX.toString()]: U64_MAX.toString() },
    windowLimit: 4,
    failures: 2,
    blocked: { code: 'key_too_long', message: 'too long', at: NOON },
    lastError: { code: 'deadlock', message: 'deadlock', at: NOON },
    lastGridTime: NOON,
    gridTimesSkipped: U64_MAX,
    nextDueAt: NOON,
    lookbackAt: NOON,
    aside: [hours(-9n), hours(4n, 6n)],
    sinkIdentity: '16384',
    sourceOldest: NOON,
    frozenBefore: NOON,
    sourceShrunk: { from: instant(-5n), to: NOON, at: NOON },
    lastRunAt: NOON,
    plansCommitted: 2n ** 53n + 1n,
    rowsWritten: U64_MAX,
    ...changes,
  };
}

/** The least that a flow's state can be. */
export function bareState(changes: Partial<FlowState> = {}): FlowState {
  return {
    epoch: 1n,
    version: 1n,
    status: 'creating',
    generation: 0n,
    lease: null,
    inFlight: null,
    settle: [],
    applied: 0n,
    mode: 'full_snapshot',
    checkpoints: {},
    windowLimit: null,
    failures: 0,
    blocked: null,
    lastError: null,
    lastGridTime: null,
    gridTimesSkipped: 0n,
    nextDueAt: null,
    lookbackAt: null,
    aside: [],
    sinkIdentity: null,
    sourceOldest: null,
    frozenBefore: null,
    sourceShrunk: null,
    lastRunAt: null,
    plansCommitted: 0n,
    rowsWritten: 0n,
    ...changes,
  };
}

export function sampleDefinition(name: string, changes: Partial<FlowDefinition> = {}): FlowDefinition {
  return {
    name,
    sink: { schema: 'public', table: `sink of ${name}` },
    query: 'SELECT date_bin(…) …',
    comment: 'a comment',
    expireAfter: 90n * 24n * HOUR,
    evalInterval: HOUR,
    options: {
      connection: 'default',
      timeZone: 'Europe/Berlin',
      mergeDistance: 0,
      maxRanges: 5,
      maxWindows: 6,
      order: 'oldest',
      window: '1 hour',
      timeColumn: 'window',
      key: ['window', 'host'],
      onDimensionChange: 'refresh',
      onDelete: 'keep',
      lookback: 3n * HOUR,
      delay: HOUR,
      acceptPast: 9n * HOUR,
      acceptFuture: 2n * HOUR,
      cadence: 'window',
      missedTicks: 'catch_up',
      catchUpMaxRuns: 4,
      catchUpMaxLag: 8n * HOUR,
      scheduleAnchor: instant(-7n),
      scheduleStart: NOON,
    },
    compiled: {
      compiler: 1,
      text: ['SELECT … WHERE ', ' AND ', ''],
      holes: [{ kind: 'filter', column: '"s"."at"', type: 'timestamptz' }, { kind: 'now' }],
      window: {
        spec: { kind: 'fixed', size: HOUR, origin: instant(-3n) },
        column: 'window',
        expression: ['date_bin(', ')'],
        argumentType: 'timestamptz',
      },
      sources: [
        { schema: 'public', table: `source of ${name}`, timeColumn: 'at' },
        { schema: 'public', table: `dimension of ${name}`, timeColumn: null },
      ],
      beneath: [{ schema: 'public', table: `beneath a view of ${name}`, timeColumn: 'at' }],
      columns: ['window', 'host', 'mean'],
      keys: ['window', 'host'],
      history: { column: 'window', expression: ['CAST(', ' AS date)'] },
    },
    sinkColumns: [
      { name: 'window', type: 'timestamp with time zone' },
      { name: 'host', type: 'text' },
      { name: 'mean', type: 'double precision' },
    ],
    updateAt: true,
    placeholder: true,
    generation: 3n,
    ...changes,
  };
}

export function sampleRun(at: Instant, epoch: bigint, changes: Partial<RunRecord> = {}): RunRecord {
  return {
    at,
    epoch,
    coverage: 'scoped_base_repair',
    ranges: [hours(-5n), hours(3n, 8n)],
    outcome: 'committed',
    reason: '2 dirty windows',
    rows: { inserted: 1n, updated: U64_MAX, deleted: 0n },
    queryMs: 12.5,
    tickMs: 40,
    gridTime: null,
    ...changes,
  };
}

/** Names that take part in keys: separators, quotes, escapes, controls, scripts, and pairs that a careless key would join. */
export const HOSTILE_NAMES: readonly string[] = [
  'plain',
  'MiXed Case',
  'a/b',
  'a%2Fb',
  'a#b',
  'a#FLOW',
  'STATE',
  'FLOW#a',
  'DIRTY#1#2',
  '#',
  '/',
  '%',
  '..',
  '__proto__',
  'constructor',
  `"quoted" 'too' \`and\``,
  'back\\slash',
  'new\nline',
  'nul\u0000byte',
  'ünï©ödé',
  'u\u0308', // ü decomposed
  '\u00fc', // ü composed
  '日本語の流れ',
  '😀',
  '\uffee', // after the emoji in UTF-16, before it in UTF-8
  'x'.repeat(63),
];
