import { SluiceError } from '../../lib/errors.ts';
import type { FlowDefinition, TableName } from '../../lib/flow/definition.ts';
import type { Frontend, PlanRequest, PlanResult } from '../../lib/frontend/frontend.ts';
import { type Instant, instant } from '../../lib/window/instant.ts';
import type { TimeRange } from '../../lib/window/time-range.ts';
import { windowContaining } from '../../lib/window/windows.ts';

export interface MemoryRow {
  readonly id: number;
  readonly time: Instant;
  readonly key: string;
  readonly value: number;
}

export interface MemorySinkRow {
  readonly label: Instant;
  readonly key: string;
  readonly count: number;
  readonly sum: number;
}

interface Transaction {
  readonly flow: string;
  readonly endsAt: Instant;
  readonly formerFence: bigint;
  ended: 'committed' | 'rolled_back' | null;
}

interface AppliedRecord {
  fence: bigint;
  epoch: bigint;
}

/**
 * A database with one source table, any number of sinks and the applied records, and with what matters of PostgreSQL's
 * transactions: a statement sees what is committed when it runs, a fence row stays locked until its transaction ends,
 * and the server ends a transaction whose client has fallen silent.
 */
export class MemoryDatabase {
  readonly source = new Map<number, MemoryRow>();
  readonly sinks = new Map<string, Map<string, MemorySinkRow>>();
  /** Of the tables that were made, by name; another number for each. */
  readonly identities = new Map<string, string>();
  readonly applied = new Map<string, AppliedRecord>();
  readonly locks = new Map<string, Transaction>();
  #lastId = 0;

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** What a flow's query gives over the source as it is now; nothing of it where `within` is given and does not hold it. */
  query(definition: FlowDefinition, within?: readonly TimeRange[]): Map<string, MemorySinkRow> {
    const spec = definition.compiled.window?.spec;
    const least = leastValue(definition);
    const rows = new Map<string, MemorySinkRow>();
    for (const row of this.source.values()) {
      if (row.value < least) continue;
      if (within !== undefined && !within.some((range) => range.start <= row.time && row.time < range.end)) continue;
      const label = spec === undefined ? instant(0n) : windowContaining(spec, row.time).start;
      const id = `${label}/${row.key}`;
      const former = rows.get(id);
      const count = (former?.count ?? 0) + 1;
      rows.set(id, { label, key: row.key, count, sum: (former?.sum ?? 0) + row.value });
    }
    return rows;
  }

  sink(table: TableName): Map<string, MemorySinkRow> {
    const name = `${table.schema}.${table.table}`;
    const found = this.sinks.get(name);
    if (found !== undefined) return found;
    const made = new Map<string, MemorySinkRow>();
    this.sinks.set(name, made);
    this.identities.set(name, String(this.nextId()));
    return made;
  }

  /** The server's own timers: transactions whose time is over are rolled back, whatever their clients do. */
  endOverdue(now: Instant): void {
    for (const transaction of this.locks.values()) if (transaction.endsAt <= now) this.rollBack(transaction);
  }

  rollBack(transaction: Transaction): void {
    if (transaction.ended !== null) return;
    transaction.ended = 'rolled_back';
    this.locks.delete(transaction.flow);
    const record = this.applied.get(transaction.flow);
    if (record !== undefined) record.fence = transaction.formerFence;
  }
}

/** The query text of a definition over the memory database is the least value that counts: `values >= 3`. */
function leastValue(definition: FlowDefinition): number {
  return Number(definition.query.replace('values >= ', ''));
}

/** Called before each request to the server. `ready`: false while the server makes the request wait. */
export type Step = <T>(label: string, request: () => T, ready?: () => boolean) => Promise<T>;

export interface MemoryFrontendOptions {
  /** Guards that a control test takes away. */
  readonly without?: 'fence' | 'applied_record';
}

const IMMEDIATELY: Step = (_label, request) => Promise.resolve().then(request);

/** A frontend over the memory database; every request to the server is one call of `step`. */
export function createMemoryFrontend(
  database: MemoryDatabase,
  clock: () => Instant,
  step: Step = IMMEDIATELY,
  options: MemoryFrontendOptions = {},
): Frontend {
  const unlocked = (flow: string) => () => !database.locks.has(flow);

  function raise(flow: string, epoch: bigint): { record: AppliedRecord; former: bigint } {
    const record = database.applied.get(flow) ?? { fence: 0n, epoch: 0n };
    database.applied.set(flow, record);
    const former = record.fence;
    if (former > epoch && options.without !== 'fence') {
      throw new SluiceError('fenced', `epoch ${epoch} is below the fence ${former}`, { details: { fence: former } });
    }
    if (options.without !== 'fence') record.fence = epoch;
    return { record, former };
  }

  function refuseEnded(transaction: Transaction): void {
    database.endOverdue(clock());
    if (transaction.ended === null) return;
    throw new SluiceError('frontend_unavailable', 'the server has ended this transaction', { retryable: true });
  }

  /** Of the table that has the sink's name now. Throws `sink_drifted`. */
  function identityOf({ schema, table }: TableName): string {
    const name = `${schema}.${table}`;
    const identity = database.identities.get(name);
    if (identity !== undefined && database.sinks.has(name)) return identity;
    throw new SluiceError('sink_drifted', `the sink ${name} is gone`, { details: { diff: ['the table is gone'] } });
  }

  function checkIdentity({ definition, sinkIdentity }: PlanRequest): string {
    const identity = identityOf(definition.sink);
    if (sinkIdentity === null || sinkIdentity === identity) return identity;
    throw new SluiceError('sink_recreated', 'the sink is another table', { details: { identity } });
  }

  async function run(plan: PlanRequest): Promise<PlanResult> {
    const flow = plan.definition.name;
    const transaction = await step(
      'frontend.begin',
      () => {
        const { record, former } = raise(flow, plan.epoch);
        if (record.epoch !== plan.applied && options.without === undefined) {
          record.fence = former;
          throw new SluiceError('history_diverged', `applied last: ${record.epoch}, expected ${plan.applied}`, {
            details: { applied: record.epoch },
          });
        }
        try {
          checkIdentity(plan);
        } catch (error) {
          record.fence = former;
          throw error;
        }
        // Three times longer than told: the fence must hold where the server's timers and the lease disagree.
        const endsAt = instant(clock() + 3n * BigInt(plan.budgetMs) * 1000n);
        const opened: Transaction = { flow, endsAt, formerFence: former, ended: null };
        if (options.without !== 'fence') database.locks.set(flow, opened);
        return opened;
      },
      unlocked(flow),
    );
    const written = await step('frontend.write', () => {
      refuseEnded(transaction);
      checkIdentity(plan);
      return difference(database, plan);
    });
    const sourceOldest = plan.source === null ? null : oldestRow(database);
    if (plan.source !== null && hasShrunk(plan.source.oldest, sourceOldest)) {
      database.rollBack(transaction);
      throw new SluiceError('source_shrunk', 'the oldest rows are gone', {
        retryable: true,
        details: { oldest: sourceOldest },
      });
    }
    await step('frontend.commit', () => {
      refuseEnded(transaction);
      transaction.ended = 'committed';
      database.locks.delete(flow);
      const sink = database.sink(plan.definition.sink);
      for (const id of written.gone) sink.delete(id);
      for (const [id, row] of written.changed) sink.set(id, row);
      const record = database.applied.get(flow);
      if (record !== undefined) record.epoch = plan.epoch;
    });
    return { ...written.result, sourceOldest };
  }

  return {
    run,
    fence: (flow, epoch) =>
      step(
        'frontend.fence',
        () => {
          const { record } = raise(flow, epoch);
          // Without the record one can only believe that the plan before was applied.
          return { applied: options.without === 'applied_record' ? epoch - 1n : record.epoch };
        },
        unlocked(flow),
      ),
    timeRange: (definition, within) =>
      step('frontend.timeRange', () => ({
        source: firstAndLast(
          [...database.source.values()].map((row) => row.time),
          within,
        ),
        sink: firstAndLast(
          [...(definition.sink === null ? [] : database.sink(definition.sink).values())].map((row) => row.label),
          within,
        ),
      })),
    checkServer: () => Promise.resolve('memory'),
    describeRelations: (references) => Promise.resolve(references.map(() => null)),
    describeFunctions: (references) => Promise.resolve(references.map(() => null)),
    describeQuery: () => Promise.resolve([]),
    describeSink: (sink) => {
      const found = database.sinks.has(`${sink.schema}.${sink.table}`);
      return Promise.resolve(found ? { ...sink, identity: identityOf(sink), columns: [], uniqueKeys: [] } : null);
    },
    checkSink: ({ sink }) =>
      step('frontend.checkSink', () => {
        return { identity: identityOf(sink) };
      }),
    createSink: (definition) => {
      database.sink(definition.sink);
      return Promise.resolve();
    },
    sinkStatements: () => [],
    dropStatement: () => '',
    planStatement: () => '',
    expectedRows: () => Promise.resolve(null),
    surplusRows: () => Promise.resolve(null),
    dropSink: (sink) => {
      database.sinks.delete(`${sink.schema}.${sink.table}`);
      return Promise.resolve();
    },
    missingIndex: () => Promise.resolve([]),
    hasUnwindowedRows: () => Promise.resolve(false),
  };
}

interface Difference {
  readonly gone: readonly string[];
  readonly changed: readonly (readonly [string, MemorySinkRow])[];
  readonly result: Omit<PlanResult, 'sourceOldest'>;
}

function difference(database: MemoryDatabase, plan: PlanRequest): Difference {
  const whole = plan.coverage === 'unfiltered_full';
  const fresh = database.query(plan.definition, whole ? undefined : plan.ranges);
  const sink = database.sink(plan.definition.sink);
  const inPlan = (row: MemorySinkRow) =>
    whole || plan.ranges.some((range) => range.start <= row.label && row.label < range.end);
  const gone = [...sink].filter(([id, row]) => inPlan(row) && !fresh.has(id)).map(([id]) => id);
  const changed = [...fresh].filter(([id, row]) => !sameRow(sink.get(id), row));
  const inserted = changed.filter(([id]) => !sink.has(id)).length;
  const result = {
    inserted: BigInt(inserted),
    updated: BigInt(changed.length - inserted),
    deleted: BigInt(gone.length),
    sinkIdentity: database.identities.get(`${plan.definition.sink.schema}.${plan.definition.sink.table}`) ?? '',
  };
  return { gone, changed, result };
}

function oldestRow(database: MemoryDatabase): Instant | null {
  const times = [...database.source.values()].map((row) => row.time);
  return times.reduce<Instant | null>((least, time) => (least === null || time < least ? time : least), null);
}

function hasShrunk(before: Instant | null, now: Instant | null): boolean {
  return before !== null && (now === null || now > before);
}

export function sameRow(a: MemorySinkRow | undefined, b: MemorySinkRow): boolean {
  return a !== undefined && a.count === b.count && a.sum === b.sum;
}

function firstAndLast(times: readonly Instant[], within: TimeRange): { first: Instant; last: Instant } | null {
  const inside = times.filter((time) => within.start <= time && time < within.end).sort((a, b) => (a < b ? -1 : 1));
  const [first] = inside;
  const last = inside[inside.length - 1];
  return first === undefined || last === undefined ? null : { first, last };
}
