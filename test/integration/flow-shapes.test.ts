import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOUR, type Instant, plus } from '../../lib/window/instant.ts';
import { parseInstant } from '../../lib/window/rfc3339.ts';
import { type ApiHarness, openApiHarness } from '../support/api-harness.ts';
import { sortedRows } from '../support/frontend-database.ts';

/** Flows of several query shapes from their statement to their sink, and on through changes that are marked. */

const FLOWS: readonly (readonly [shape: string, query: string, options?: string])[] = [
  ['DISTINCT', "SELECT DISTINCT date_trunc('hour', at) AS hour, host, status >= 400 AS failed FROM requests"],
  [
    'UNION ALL of grouped branches',
    `SELECT date_trunc('hour', at) AS hour, 'requests' AS kind, host, count(*) AS n FROM requests GROUP BY 1, 3
     UNION ALL SELECT date_trunc('hour', seen), 'errors', host, count(*) FROM errors GROUP BY 1, 3`,
  ],
  [
    'UNION ALL below a GROUP BY',
    `SELECT date_trunc('day', t) AS day, host, count(*) AS n
     FROM (SELECT at AS t, host FROM requests UNION ALL SELECT seen, host FROM errors) AS everything GROUP BY 1, 2`,
  ],
  [
    'ROLLUP',
    `SELECT date_trunc('hour', at) AS hour, host, status, GROUPING(host, status) AS level, sum(bytes) AS bytes
     FROM requests GROUP BY 1, ROLLUP (host, status)`,
  ],
  [
    'a projection with a key that holds the time',
    'SELECT at, id, host FROM requests WHERE status = 500',
    "window = '1 hour', time_column = 'at', key = (id, at)",
  ],
  [
    'a projection whose rows may move',
    'SELECT id, r.at AS moment, host, zone FROM requests AS r LEFT JOIN hosts USING (host)',
    "window = '1 day', time_column = 'moment', key = (id), max_windows = 1, time_zone = 'America/New_York'",
  ],
  [
    'a projection over two tables',
    `SELECT 'request' AS kind, at, id, host FROM requests UNION ALL SELECT 'error', seen, id, host FROM errors`,
    "window = '1 week', time_column = 'at', key = (kind, id)",
  ],
  [
    'a window of a LATERAL subquery',
    `SELECT l.quarter, host, percentile_cont(0.9) WITHIN GROUP (ORDER BY bytes) AS p90
     FROM requests AS r CROSS JOIN LATERAL (SELECT date_bin('15 minutes', r.at, '2000-01-01 00:00:00+00') AS quarter) AS l GROUP BY 1, 2`,
  ],
];

describe('a flow over', () => {
  let api: ApiHarness;
  let now: Instant = parseInstant('2024-06-01T00:00:00Z');
  beforeAll(async () => {
    api = await openApiHarness(() => now);
  });
  afterAll(() => api.close());

  beforeEach(async () => {
    await api.database.query(`DROP TABLE IF EXISTS requests, errors, hosts;
      CREATE TABLE requests (id int, at timestamptz, host text, status int, bytes int);
      CREATE TABLE errors (id int, seen timestamptz, host text);
      CREATE TABLE hosts (host text, zone text);
      INSERT INTO hosts VALUES ('a', 'north'), ('b', NULL);
      INSERT INTO requests SELECT n, '2024-02-29 21:00Z'::timestamptz + n * interval '17 minutes', (ARRAY['a', 'b', 'c', NULL])[1 + n % 4],
        (ARRAY[200, 404, 500])[1 + n % 3], n * 100 FROM generate_series(0, 60) AS n;
      INSERT INTO errors SELECT id, at + interval '40 minutes', host FROM requests WHERE status = 500`);
  });

  const cases = FLOWS.map(([shape, query, options = '']) => ({ shape, query, options }));
  it.each(cases)('$shape follows its sources', async ({ query, options }) => {
    const clause = options === '' ? '' : `WITH (${options})`;
    const created = await api.call('POST', '/sql', {
      body: { sql: `CREATE FLOW shape SINK TO shape ${clause} AS ${query}` },
    });
    expect(created.status, created.text).toBe(201);
    const names: string[] = created.body.flow.columns.map(({ name }: { name: string }) => `"${name}"`);
    const rowsOf = (text: string) => sortedRows(api.database, `SELECT ${names.join(', ')} FROM (${text}) AS answer`);
    const compare = async () => {
      await api.settle('shape', () => {
        now = plus(now, HOUR);
      });
      expect(await rowsOf('TABLE shape')).toEqual(await rowsOf(query));
    };
    await compare();

    await api.database.query(`DELETE FROM requests WHERE id BETWEEN 3 AND 12; DELETE FROM errors WHERE id = 5;
      UPDATE requests SET host = 'b', bytes = bytes + 1 WHERE id = 20; UPDATE requests SET at = at + interval '9 hours' WHERE id IN (30, 35);
      INSERT INTO requests VALUES (100, '2024-03-05 12:00Z', 'new', 500, 1); INSERT INTO errors VALUES (200, '2024-02-01 00:00Z', NULL)`);
    expect(await rowsOf('TABLE shape')).not.toEqual(await rowsOf(query));
    const ranges = [
      ['2024-02-29T21:00:00Z', '2024-03-01T02:00:00Z'],
      ['2024-03-01T02:40:00Z', '2024-03-01T02:41:00Z'],
      ['2024-03-01T05:30:00Z', '2024-03-01T17:00:00Z'],
      ['2024-03-05T12:00:00Z', '2024-03-05T12:00:01Z'],
      ['2024-02-01T00:00:00Z', '2024-02-01T00:00:01Z'],
    ];
    for (const table of ['requests', 'errors']) {
      await api.call('POST', `/tables/${table}/dirty-windows`, { body: { ranges } });
    }
    await compare();
    expect((await api.call('DELETE', '/flows/shape?sink=drop')).status).toBe(200);
  });
});
