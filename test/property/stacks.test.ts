import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../lib/window/instant.ts';
import { type ApiHarness, openApiHarness } from '../support/api-harness.ts';
import { sortedRows } from '../support/frontend-database.ts';

/** The source lies within some days around a change of the clocks in New York. */
const START = Date.parse('2024-03-08T00:00:00Z');
const SPAN_MINUTES = 4 * 24 * 60;

let api: ApiHarness;
let now: Instant = instant(BigInt(Date.parse('2024-04-02T00:00:00Z')) * 1000n);

beforeAll(async () => {
  api = await openApiHarness(() => now);
  await api.database.query('CREATE TABLE readings (ts timestamptz, k text, v int); CREATE INDEX ON readings (ts)');
});
afterAll(() => api.close());

/** How a level cuts the labels of the one below; `t` is its time column. */
const CUTS: readonly ((t: string) => string)[] = [
  (t) => `date_bin('45 minutes', ${t}, '2024-01-01 00:03+00')`,
  (t) => `date_bin('1 hour', ${t}, 'epoch')`,
  (t) => `date_trunc('hour', ${t}, 'Asia/Kolkata')`,
  (t) => `date_trunc('day', ${t}, 'Europe/Berlin')`,
  (t) => `date_trunc('day', ${t}, 'America/New_York')`,
  (t) => `date_trunc('week', ${t}, 'UTC')`,
  (t) => `date_trunc('month', ${t}, 'Europe/Berlin')`,
];

interface Level {
  readonly cut: number;
  readonly by: 'k' | 'none';
  /** Which level below it reads; 0 is the source. */
  readonly below: number;
}

/** The query of a level over `from`, which has columns t, k, n and s. */
function queryOf({ cut, by }: Level, from: string): string {
  const window = (CUTS[cut] ?? String)('t');
  return by === 'k'
    ? `SELECT ${window} AS t, k, sum(n)::bigint AS n, max(s) AS s FROM ${from} GROUP BY 1, 2`
    : `SELECT ${window} AS t, 'all' AS k, sum(n)::bigint AS n, max(s) AS s FROM ${from} GROUP BY 1`;
}

const SOURCE = '(SELECT ts AS t, k, 1::bigint AS n, v AS s FROM readings) AS r';

function directQuery(levels: readonly Level[], index: number): string {
  const level = levels[index];
  if (level === undefined) throw new Error(`there is no level ${index}`);
  const from = level.below === 0 ? SOURCE : `(${directQuery(levels, level.below - 1)}) AS below`;
  return queryOf(level, from);
}

interface Change {
  readonly kind: 'insert' | 'delete' | 'move';
  readonly minute: number;
  readonly length: number;
  readonly key: string | null;
  /** Ticks of random levels that follow. */
  readonly ticks: readonly number[];
}

const levelsOf = fc
  .array(fc.tuple(fc.nat(CUTS.length - 1), fc.constantFrom<'k' | 'none'>('k', 'none'), fc.nat()), {
    minLength: 2,
    maxLength: 4,
  })
  .map((drawn) =>
    drawn.map(([cut, by, below], index): Level => ({ cut, by, below: index === 0 ? 0 : below % (index + 1) })),
  );

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('insert', 'insert', 'delete', 'move'),
  minute: fc.nat(SPAN_MINUTES),
  length: fc.constantFrom(1, 90, 1_500),
  key: fc.constantFrom('a', 'b', null),
  ticks: fc.array(fc.nat(3), { maxLength: 3 }),
});

const time = (minute: number) => new Date(START + minute * 60_000).toISOString();

async function apply({ kind, minute, length, key }: Change): Promise<void> {
  const range = [time(minute), time(minute + length)];
  if (kind === 'insert') {
    await api.database.query(
      "INSERT INTO readings SELECT $1::timestamptz + n * interval '23 minutes', $2, n FROM generate_series(0, $3::int) AS n",
      [range[0], key, Math.floor((length - 1) / 23)],
    );
  } else if (kind === 'delete') {
    await api.database.query('DELETE FROM readings WHERE ts >= $1 AND ts < $2', range);
  } else {
    await api.database.query('UPDATE readings SET k = $3, v = v + 1 WHERE ts >= $1 AND ts < $2', [...range, key]);
  }
  const marked = await api.call('POST', '/tables/public.readings/dirty-windows', { body: { ranges: [range] } });
  if (marked.status >= 300) throw new Error(marked.text);
}

async function tick(index: number): Promise<string> {
  now = instant(now + 30_000_000n);
  const { action } = await api.tick(`level${index}`);
  await api.quiet();
  return action;
}

/** Until no level does anything any more, from the top down: the worst order. */
async function settle(levels: readonly Level[]): Promise<void> {
  for (let quiet = false, round = 0; !quiet; round += 1) {
    if (round > 100) throw new Error('the stack does not come to rest');
    const actions: string[] = [];
    for (let index = levels.length - 1; index >= 0; index -= 1) actions.push(await tick(index));
    quiet = actions.every((action) => action === 'idle');
  }
}

const rows = (query: string) => sortedRows(api.database, query);

async function differences(levels: readonly Level[]): Promise<string[]> {
  const found: string[] = [];
  for (const index of levels.keys()) {
    const [sink, direct] = [await rows(`SELECT t, k, n, s FROM sink${index}`), await rows(directQuery(levels, index))];
    if (JSON.stringify(sink) !== JSON.stringify(direct)) found.push(`level ${index}`);
  }
  return found;
}

async function build(levels: readonly Level[]): Promise<void> {
  for (const [index, level] of levels.entries()) {
    const from = level.below === 0 ? SOURCE : `sink${level.below - 1}`;
    const sql = `CREATE FLOW level${index} SINK TO sink${index} WITH (max_windows = 500) AS ${queryOf(level, from)}`;
    const answer = await api.call('POST', '/sql', { body: { sql } });
    if (answer.status !== 201) throw new Error(answer.text);
  }
}

async function tearDown(levels: readonly Level[]): Promise<void> {
  await api.quiet();
  for (const index of [...levels.keys()].reverse()) await api.call('DELETE', `/flows/level${index}?sink=drop`);
  await api.database.query('TRUNCATE readings');
}

describe('any stack of flows', () => {
  it('holds at rest what the direct queries give', async () => {
    await fc.assert(
      fc.asyncProperty(levelsOf, fc.array(change, { minLength: 1, maxLength: 6 }), async (levels, changes) => {
        try {
          await build(levels);
          for (const each of changes) {
            await apply(each);
            for (const index of each.ticks) if (index < levels.length) await tick(index);
          }
          await settle(levels);
          expect(await differences(levels)).toEqual([]);
        } finally {
          await tearDown(levels);
        }
      }),
      { numRuns: 8 },
    );
  }, 180_000);

  it('does not, where changes do not travel up (control)', async () => {
    const levels: readonly Level[] = [
      { cut: 1, by: 'k', below: 0 },
      { cut: 3, by: 'k', below: 1 },
    ];
    try {
      await build(levels);
      await settle(levels);
      const { readersOf } = api.engine.store;
      Object.assign(api.engine.store, { readersOf: () => Promise.resolve([]) });
      await api.database.query(`INSERT INTO readings VALUES ('2024-03-09 12:00Z', 'a', 1)`);
      await api.call('POST', '/flows/level0/dirty-windows', { body: { timestamps: ['2024-03-09T12:00:00Z'] } });
      await settle(levels);
      Object.assign(api.engine.store, { readersOf });
      expect(await differences(levels)).toEqual(['level 1']);
    } finally {
      await tearDown(levels);
    }
  }, 60_000);
});
