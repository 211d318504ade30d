import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SluiceError } from '../../lib/errors.ts';
import type { FlowDefinition } from '../../lib/flow/definition.ts';
import type { Frontend, PlanRequest } from '../../lib/frontend/frontend.ts';
import { HOUR, INSTANT_MAX, INSTANT_MIN, type Instant, instant, MINUTE } from '../../lib/window/instant.ts';
import { ALL_TIME, type TimeRange } from '../../lib/window/time-range.ts';
import { countsOf } from '../support/definitions.ts';

export interface SourceRow {
  readonly time: Instant;
  readonly key: string;
  readonly value: number;
}

/** One group of one hour. `label` is the first instant of the hour. */
export interface HourRow {
  readonly label: Instant;
  readonly key: string;
  readonly count: number;
  readonly sum: number;
}

/** A database with one source table, and two workers on it. */
export interface FrontendUnderTest {
  readonly frontend: Frontend;
  readonly other: Frontend;
  /** A flow that counts and sums the source by hour and key, with a sink of its own that exists and is empty. */
  hourlyFlow(name: string): Promise<FlowDefinition>;
  insertRows(rows: readonly SourceRow[]): Promise<void>;
  deleteRows(within: TimeRange): Promise<void>;
  /** In any order. */
  sinkRows(flow: FlowDefinition): Promise<readonly HourRow[]>;
  close(): Promise<void>;
}

/** 2021-06-01T00:00:00Z. */
const DAY_START = 1_622_505_600_000_000n;
const BUDGET_MS = 10_000;

function hour(n: number): Instant {
  return instant(DAY_START + BigInt(n) * HOUR);
}

function hours(from: number, to: number): TimeRange {
  return { start: hour(from), end: hour(to) };
}

function row(atHour: number, key: string, value: number): SourceRow {
  return { time: instant(hour(atHour) + 5n * MINUTE), key, value };
}

function planOf(definition: FlowDefinition, epoch: bigint, applied: bigint, ranges: readonly TimeRange[]): PlanRequest {
  const coverage = ranges.length === 0 ? 'unfiltered_full' : 'scoped_base_repair';
  return {
    definition,
    epoch,
    applied,
    coverage,
    ranges,
    gridTime: null,
    source: null,
    sinkIdentity: null,
    budgetMs: BUDGET_MS,
  };
}

/** `2 a 1 5`: hour, key, count, sum. */
async function shown(under: FrontendUnderTest, flow: FlowDefinition): Promise<string[]> {
  const rows = await under.sinkRows(flow);
  return rows.map(({ label, key, count, sum }) => `${(label - DAY_START) / HOUR} ${key} ${count} ${sum}`).sort();
}

/** What every adapter of the Frontend port does with plans and fences. */
export function frontendContract(adapter: string, open: () => Promise<FrontendUnderTest>): void {
  describe(`Frontend: ${adapter}`, () => {
    let under: FrontendUnderTest;
    let flow: FlowDefinition;

    beforeEach(async () => {
      under = await open();
      flow = await under.hourlyFlow('hourly');
    });
    afterEach(() => under.close());

    const run = async (epoch: bigint, applied: bigint, ...ranges: TimeRange[]) =>
      countsOf(await under.frontend.run(planOf(flow, epoch, applied, ranges)));

    describe('a plan', () => {
      it('writes the groups of its windows and counts them', async () => {
        await under.insertRows([row(1, 'a', 2), row(1, 'a', 3), row(1, 'b', 7), row(2, 'a', 1)]);
        expect(await run(1n, 0n, hours(1, 3))).toMatchObject({ inserted: 3n, updated: 0n, deleted: 0n });
        expect(await shown(under, flow)).toEqual(['1 a 2 5', '1 b 1 7', '2 a 1 1']);
      });

      it('inserts new groups, updates changed ones, deletes vanished ones, and leaves equal ones alone', async () => {
        await under.insertRows([row(1, 'a', 2), row(2, 'b', 3), row(3, 'c', 4)]);
        await run(1n, 0n, hours(0, 5));
        await under.deleteRows(hours(3, 4));
        await under.insertRows([row(2, 'b', 1), row(4, 'd', 5)]);
        expect(await run(2n, 1n, hours(0, 5))).toMatchObject({ inserted: 1n, updated: 1n, deleted: 1n });
        expect(await shown(under, flow)).toEqual(['1 a 1 2', '2 b 2 4', '4 d 1 5']);
        expect(await run(3n, 2n, hours(0, 5))).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n });
      });

      it('touches nothing outside of its windows, whatever changed there', async () => {
        await under.insertRows([row(1, 'a', 1), row(2, 'a', 1), row(3, 'a', 1)]);
        await run(1n, 0n, hours(1, 4));
        await under.deleteRows(hours(1, 4));
        await under.insertRows([row(1, 'b', 9), row(3, 'b', 9), row(4, 'b', 9)]);
        expect(await run(2n, 1n, hours(2, 3))).toMatchObject({ inserted: 0n, updated: 0n, deleted: 1n });
        expect(await shown(under, flow)).toEqual(['1 a 1 1', '3 a 1 1']);
      });

      it('takes several ranges, and each includes its start and not its end', async () => {
        const at = (n: number, key: string) => ({ time: hour(n), key, value: 1 });
        await under.insertRows([1, 2, 3, 4, 5, 6].map((n) => at(n, 'a')));
        await run(1n, 0n, hours(1, 2), hours(3, 5));
        expect(await shown(under, flow)).toEqual(['1 a 1 1', '3 a 1 1', '4 a 1 1']);
      });

      it('takes ranges without a bound on one side or on both', async () => {
        await under.insertRows([row(-500_000, 'a', 1), row(1, 'a', 1), row(2, 'a', 1), row(500_000, 'a', 1)]);
        await run(1n, 0n, { start: INSTANT_MIN, end: hour(2) });
        expect(await shown(under, flow)).toEqual(['-500000 a 1 1', '1 a 1 1']);
        await run(2n, 1n, { start: hour(2), end: INSTANT_MAX });
        expect(await shown(under, flow)).toHaveLength(4);
        await under.deleteRows(ALL_TIME);
        expect(await run(3n, 2n, ALL_TIME)).toMatchObject({ inserted: 0n, updated: 0n, deleted: 4n });
      });

      it('without ranges rewrites everything', async () => {
        await under.insertRows([row(1, 'a', 1), row(400, 'b', 2)]);
        await run(1n, 0n);
        await under.deleteRows(hours(400, 401));
        await under.insertRows([row(1, 'a', 1), row(-400, 'c', 2)]);
        expect(await run(2n, 1n)).toMatchObject({ inserted: 1n, updated: 1n, deleted: 1n });
        expect(await shown(under, flow)).toEqual(['-400 c 1 2', '1 a 2 2']);
      });

      it('clears windows whose source is gone', async () => {
        await under.insertRows([row(1, 'a', 1)]);
        await run(1n, 0n, hours(1, 2));
        await under.deleteRows(hours(1, 2));
        expect(await run(2n, 1n, hours(1, 2))).toMatchObject({ inserted: 0n, updated: 0n, deleted: 1n });
        expect(await shown(under, flow)).toEqual([]);
      });
    });

    describe('the fence', () => {
      it('tells the epoch applied last: none at first, then that of the last plan', async () => {
        expect(await under.frontend.fence('hourly', 1n, BUDGET_MS)).toEqual({ applied: 0n });
        await run(2n, 0n, hours(1, 2));
        expect(await under.other.fence('hourly', 3n, BUDGET_MS)).toEqual({ applied: 2n });
        await run(4n, 2n, hours(1, 2));
        expect(await under.other.fence('hourly', 5n, BUDGET_MS)).toEqual({ applied: 4n });
      });

      it('may be raised to the same epoch again, also by the plan of that epoch', async () => {
        await under.frontend.fence('hourly', 7n, BUDGET_MS);
        expect(await under.frontend.fence('hourly', 7n, BUDGET_MS)).toEqual({ applied: 0n });
        await run(7n, 0n, hours(1, 2));
        expect(await under.frontend.fence('hourly', 7n, BUDGET_MS)).toEqual({ applied: 7n });
      });

      it('refuses a lower epoch and names its own', async () => {
        await under.frontend.fence('hourly', 9_007_199_254_740_993n, BUDGET_MS);
        await expect(under.other.fence('hourly', 9_007_199_254_740_992n, BUDGET_MS)).rejects.toMatchObject({
          code: 'fenced',
          retryable: false,
          details: { fence: 9_007_199_254_740_993n },
        });
      });

      it('refuses the plan of a lower epoch, which writes nothing', async () => {
        await under.insertRows([row(1, 'a', 1), row(2, 'a', 1)]);
        await run(1n, 0n, hours(1, 3));
        await under.deleteRows(hours(1, 2));
        await under.insertRows([row(2, 'a', 1), row(2, 'b', 1)]);
        await under.other.fence('hourly', 3n, BUDGET_MS);
        await expect(run(2n, 1n, hours(1, 3))).rejects.toMatchObject({ code: 'fenced', details: { fence: 3n } });
        expect(await shown(under, flow)).toEqual(['1 a 1 1', '2 a 1 1']);
        expect(await under.other.fence('hourly', 3n, BUDGET_MS)).toEqual({ applied: 1n });
      });

      it('is raised by a plan', async () => {
        await run(5n, 0n, hours(1, 2));
        await expect(under.other.fence('hourly', 4n, BUDGET_MS)).rejects.toMatchObject({ code: 'fenced' });
      });

      it('of one flow is not that of another', async () => {
        const second = await under.hourlyFlow('second');
        await under.frontend.fence('hourly', 10n, BUDGET_MS);
        await under.other.run(planOf(second, 1n, 0n, [hours(1, 2)]));
        expect(await under.frontend.fence('second', 2n, BUDGET_MS)).toEqual({ applied: 1n });
        expect(await under.frontend.fence('hourly', 10n, BUDGET_MS)).toEqual({ applied: 0n });
      });
    });

    describe('the record of what was applied', () => {
      it('refuses a plan that builds on another epoch, which writes nothing and leaves the fence', async () => {
        await under.insertRows([row(1, 'a', 1)]);
        await run(3n, 0n, hours(1, 2));
        await under.deleteRows(hours(1, 2));
        for (const applied of [0n, 2n, 4n]) {
          await expect(run(8n, applied, hours(1, 2))).rejects.toMatchObject({
            code: 'history_diverged',
            retryable: false,
            details: { applied: 3n },
          });
        }
        expect(await shown(under, flow)).toEqual(['1 a 1 1']);
        expect(await under.other.fence('hourly', 4n, BUDGET_MS)).toEqual({ applied: 3n });
      });

      it('is written together with the rows: a take-over in the middle of a plan finds both or none', async () => {
        await under.insertRows([row(1, 'a', 1)]);
        let applied = 0n;
        for (let epoch = 1n; epoch < 30n; epoch += 2n) {
          await under.insertRows([row(1, 'a', 1)]);
          const before = await shown(under, flow);
          const [plan, taken] = await Promise.all([
            run(epoch, applied, hours(1, 2)).then(
              () => 'written',
              (error: SluiceError) => error.code,
            ),
            under.other.fence('hourly', epoch + 1n, BUDGET_MS),
          ]);
          const after = await shown(under, flow);
          if (plan === 'written') {
            expect(taken).toEqual({ applied: epoch });
            expect(after).not.toEqual(before);
          } else {
            expect(plan).toBe('fenced');
            expect(taken).toEqual({ applied });
            expect(after).toEqual(before);
          }
          applied = taken.applied;
        }
      });
    });

    describe('the time range', () => {
      const ask = (within: TimeRange) => under.frontend.timeRange(flow, within, BUDGET_MS);

      it('is nothing over empty tables', async () => {
        expect(await ask(ALL_TIME)).toEqual({ source: null, sink: null });
      });

      it('has the first and last time of the source and the first and last label of the sink', async () => {
        await under.insertRows([row(1, 'a', 1), row(2, 'a', 1), row(9, 'a', 1)]);
        await run(1n, 0n, hours(2, 3));
        expect(await ask(ALL_TIME)).toEqual({
          source: { first: row(1, 'a', 1).time, last: row(9, 'a', 1).time },
          sink: { first: hour(2), last: hour(2) },
        });
        await run(2n, 1n, hours(1, 20));
        await under.deleteRows(hours(1, 9));
        expect(await ask(ALL_TIME)).toEqual({
          source: { first: row(9, 'a', 1).time, last: row(9, 'a', 1).time },
          sink: { first: hour(1), last: hour(9) },
        });
      });

      it('looks inside the given range only, whose end does not belong to it', async () => {
        const times = [1, 2, 5, 9].map((n) => ({ time: hour(n), key: 'a', value: 1 }));
        await under.insertRows(times);
        await run(1n, 0n);
        const inside = { first: hour(2), last: hour(5) };
        expect(await ask({ start: hour(2), end: hour(9) })).toEqual({ source: inside, sink: inside });
        expect(await ask({ start: hour(3), end: hour(5) })).toEqual({ source: null, sink: null });
      });
    });

    describe('the sink', () => {
      it('that is gone is found before anything is written, and one that was made again by its identity', async () => {
        await under.insertRows([row(1, 'a', 1)]);
        const first = await under.frontend.run(planOf(flow, 1n, 0n, [hours(1, 2)]));
        expect(await under.other.checkSink(flow, BUDGET_MS)).toEqual({ identity: first.sinkIdentity });
        const known = { sinkIdentity: first.sinkIdentity };
        const again = await under.other.run({ ...planOf(flow, 2n, 1n, [hours(1, 2)]), ...known });
        expect(again).toMatchObject({ inserted: 0n, updated: 0n, deleted: 0n, ...known });

        await under.frontend.dropSink(flow.sink);
        const gone = { code: 'sink_drifted', retryable: false, details: { diff: ['the table is gone'] } };
        await expect(under.frontend.checkSink(flow, BUDGET_MS)).rejects.toMatchObject(gone);
        await expect(under.frontend.run({ ...planOf(flow, 3n, 2n, [hours(1, 2)]), ...known })).rejects.toMatchObject(
          gone,
        );
        await expect(run(3n, 2n, hours(1, 2))).rejects.toMatchObject(gone);
        expect(await under.other.fence('hourly', 3n, BUDGET_MS)).toEqual({ applied: 2n });

        await under.frontend.createSink(flow);
        const { identity } = await under.frontend.checkSink(flow, BUDGET_MS);
        expect(identity).not.toBe(first.sinkIdentity);
        await expect(under.frontend.run({ ...planOf(flow, 4n, 2n, [hours(1, 2)]), ...known })).rejects.toMatchObject({
          code: 'sink_recreated',
          retryable: false,
          details: { identity },
        });
        expect(await shown(under, flow)).toEqual([]);
        const fresh = await under.frontend.run({ ...planOf(flow, 4n, 2n, [hours(1, 2)]), sinkIdentity: identity });
        expect(fresh).toMatchObject({ inserted: 1n, sinkIdentity: identity });
      });

      it('is created and dropped, each of them twice without harm', async () => {
        const sink = { schema: flow.sink.schema, table: 'made' };
        const made = { ...flow, sink };
        expect(await under.frontend.describeSink(sink)).toBeNull();
        await Promise.all([under.frontend.createSink(made), under.other.createSink(made)]);
        await under.frontend.createSink(made);
        expect(await under.other.describeSink(sink)).toMatchObject(sink);
        await under.frontend.dropSink(sink);
        await under.frontend.dropSink(sink);
        expect(await under.frontend.describeSink(sink)).toBeNull();
      });
    });
  });
}
