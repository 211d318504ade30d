import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Instant, plus } from '../../lib/window/instant.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import { type ApiHarness, openApiHarness } from '../support/api-harness.ts';

/** A recording query through the whole life of a flow: what is recorded outlives everything but the sink. */

let harness: ApiHarness;
let now: Instant = parseInstant('2024-05-01T10:00:30Z');

beforeAll(async () => {
  // Each look at the clock takes a while, so that what waits for it ends.
  harness = await openApiHarness(() => {
    now = plus(now, 1000n);
    return now;
  });
  await harness.database.query(`CREATE TABLE levels (tank text, litres numeric);
INSERT INTO levels VALUES ('a', 10), ('b', 20)`);
});
afterAll(() => harness.close());

const at = (time: string) => {
  now = parseInstant(`2024-05-01T${time}Z`);
};

async function recorded(): Promise<string[]> {
  const { rows } = await harness.database.query(
    `SELECT to_char(ts AT TIME ZONE 'UTC', 'HH24:MI') || ' ' || tank || ' ' || litres AS row FROM tank_levels ORDER BY ts, tank`,
  );
  return rows.map(({ row }: { row: string }) => row);
}

async function flush(): Promise<void> {
  expect(await harness.call('POST', '/flows/tank_levels/flush')).toMatchObject({ status: 200 });
  await harness.quiet();
}

const sql = (text: string) => harness.call('POST', '/sql', { body: { sql: text } });
const flow = (head: string, query: string) =>
  sql(`${head} FLOW tank_levels SINK TO tank_levels EVAL INTERVAL '1 hour' AS ${query}`);

it('keeps what was recorded through changes of the source, repeats, replacement and restores', async () => {
  const query = 'SELECT now() AS ts, tank, sum(litres) AS litres FROM levels GROUP BY tank';
  expect(await flow('CREATE', query)).toMatchObject({ status: 201 });
  await harness.quiet();
  const ten = ['10:00 a 10', '10:00 b 20'];
  expect(await recorded()).toEqual(ten);

  await harness.database.query("UPDATE levels SET litres = 11 WHERE tank = 'a'; DELETE FROM levels WHERE tank = 'b'");
  at('11:20:00');
  await flush();
  expect(await recorded()).toEqual([...ten, '11:00 a 11']);

  // Between grid times the last one is run again.
  await harness.database.query("UPDATE levels SET litres = 12 WHERE tank = 'a'; INSERT INTO levels VALUES ('c', 1)");
  at('11:40:00');
  await flush();
  const eleven = ['11:00 a 12', '11:00 c 1'];
  expect(await recorded()).toEqual([...ten, ...eleven]);

  at('12:30:00');
  const doubled = 'SELECT now() AS ts, tank, 2 * sum(litres) AS litres FROM levels GROUP BY tank';
  expect(await flow('CREATE OR REPLACE', doubled)).toMatchObject({ status: 200 });
  await harness.quiet();
  const twelve = ['12:00 a 24', '12:00 c 2'];
  expect(await recorded()).toEqual([...ten, ...eleven, ...twelve]);

  // The database looks as if it had been restored from before the last plan: everything is dirty.
  await harness.database.query('UPDATE sluice.applied SET epoch = 0');
  at('13:10:00');
  await flush();
  expect(await recorded()).toEqual([...ten, ...eleven, ...twelve, '13:00 a 24', '13:00 c 2']);

  expect(await sql('DROP FLOW tank_levels')).toMatchObject({ status: 200 });
  expect(await recorded()).toHaveLength(8);
});
