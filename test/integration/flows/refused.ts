import type { RefusedRow } from './row.ts';

const WHOLE = { kind: 'whole' } as const;
const HITS = `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits FROM access_log GROUP BY 1, 2`;

export const REFUSED: readonly RefusedRow[] = [
  // Without a window.
  { ...WHOLE, query: 'SELECT host, count(*) AS hits FROM access_log GROUP BY host', says: /date_bin|date_trunc/ },
  { ...WHOLE, query: 'SELECT count(*) AS n FROM trades', says: /EVAL INTERVAL/ },
  { ...WHOLE, query: 'SELECT max(number) - min(number) AS spread FROM numbers_with_ts', says: /EVAL INTERVAL/ },
  { ...WHOLE, query: 'SELECT extract(hour FROM ts) AS hour, count(*) AS n FROM access_log GROUP BY 1', says: /window/ },
  {
    ...WHOLE,
    query: `SELECT to_char(ts, 'YYYY-MM-DD') AS day, count(*) AS n FROM access_log GROUP BY 1`,
    says: /window/,
  },
  { ...WHOLE, query: 'SELECT ts::date AS day, count(*) AS n FROM access_log GROUP BY 1', says: /window/ },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log GROUP BY 1 ORDER BY n DESC LIMIT 10`,
    says: /LIMIT/,
    at: '10',
  },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log GROUP BY 1 OFFSET 3`,
    says: /OFFSET/,
    at: '3',
  },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM (SELECT ts FROM access_log ORDER BY ts DESC LIMIT 5) AS recent GROUP BY 1`,
    says: /LIMIT/,
    at: '5',
  },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n, sum(count(*)) OVER (ORDER BY date_trunc('hour', ts)) AS running FROM access_log GROUP BY 1`,
    says: /OVER/,
    at: 'sum',
  },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM (SELECT ts, row_number() OVER (PARTITION BY sensor_id ORDER BY ts) AS place FROM sensor_data) AS s WHERE place = 1 GROUP BY 1`,
    says: /OVER/,
    at: 'row_number',
  },
  {
    ...WHOLE,
    query: `SELECT DISTINCT ON (host) date_trunc('hour', ts) AS hour, host, count(*) AS n FROM access_log GROUP BY 1, 2 ORDER BY host, hour DESC`,
    says: /DISTINCT ON/,
    at: 'host',
  },
  {
    ...WHOLE,
    query: `WITH RECURSIVE d AS (SELECT ts FROM access_log UNION ALL SELECT ts + interval '1 day' FROM d WHERE ts < '2024-04-01') SELECT date_trunc('day', ts) AS day, count(*) AS n FROM d GROUP BY 1`,
    says: /recursive/i,
  },
  {
    ...WHOLE,
    query: `SELECT date_trunc('hour', first) AS hour, count(*) AS n FROM (SELECT host, min(ts) AS first FROM access_log GROUP BY 1) AS f GROUP BY 1`,
    says: /column|group/i,
  },
  { ...WHOLE, query: 'SELECT host FROM access_log EXCEPT SELECT host FROM hosts', says: /EXCEPT|window/ },
  // GreptimeDB's own grammar.
  {
    ...WHOLE,
    query: `TQL EVAL (now() - '1h'::interval, now(), '1m') sum by (host) (rate(http_requests_total[5m]))`,
    says: /GreptimeDB.*date_bin/s,
    at: 'TQL',
  },
  {
    ...WHOLE,
    query: `TQL EVALUATE (0, 100, '5s') up`,
    says: /GreptimeDB/,
    at: 'TQL',
    clauses: `EVAL INTERVAL '1 hour'`,
  },
  {
    ...WHOLE,
    query: `SELECT ts, host, avg(latency) RANGE '10m' FROM access_log ALIGN '5m' BY (host)`,
    says: /RANGE … ALIGN.*date_bin/s,
    at: 'RANGE',
  },
  // TimescaleDB's function, which this database has not.
  {
    kind: 'window',
    query: `SELECT time_bucket('5 minutes', ts) AS bucket, host, avg(latency) AS mean FROM access_log GROUP BY bucket, host`,
    says: /date_bin[\s\S]*date_trunc/,
    at: 'time_bucket',
  },
  { kind: 'window', query: `SELECT count(*) AS n FROM access_log GROUP BY date_trunc('hour', ts)`, says: /select/i },
  {
    kind: 'window',
    query: `SELECT date_trunc('hour', ts + interval '1 hour') AS hour, count(*) AS n FROM access_log GROUP BY 1`,
    says: /column/,
  },
  {
    kind: 'window',
    query: `SELECT date_trunc('hour', coalesce(ts, '2024-01-01')) AS hour, count(*) AS n FROM access_log GROUP BY 1`,
    says: /column/,
  },

  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) + 1 FROM access_log GROUP BY 1`,
    says: /name/,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, max(status) AS s, min(status) AS s FROM access_log GROUP BY 1`,
    says: /"s"/,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, unnest(array_agg(path)) AS path FROM access_log GROUP BY 1`,
    says: /several rows|same key/,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, sum(nothing) AS n FROM access_log GROUP BY 1`,
    says: /column "nothing" does not exist/,
    at: 'nothing',
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM accesslog GROUP BY 1`,
    says: /accesslog/,
    at: 'accesslog',
  },

  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', a.ts) AS hour, count(*) AS n FROM hosts h LEFT JOIN access_log a USING (host) GROUP BY 1`,
    says: /nullable/,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', a.ts) AS hour, count(*) AS n FROM access_log a FULL JOIN hosts h USING (host) GROUP BY 1`,
    says: /FULL/,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM (SELECT ts FROM access_log UNION SELECT logged_at FROM error_log) AS u GROUP BY 1`,
    says: /UNION ALL|UNION/,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log GROUP BY 1 UNION ALL SELECT date_trunc('hour', logged_at), count(*) FROM error_log GROUP BY 1`,
    says: /same key/,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, 'a' AS log, count(*) AS n FROM access_log GROUP BY 1 UNION ALL SELECT date_trunc('day', logged_at), 'e', count(*) FROM error_log GROUP BY 1`,
    says: /window/,
  },
  { kind: 'distinct', query: 'SELECT DISTINCT host, status FROM access_log', says: /window/ },
  { kind: 'distinct', query: `SELECT date_trunc('hour', ts) AS hour, host FROM access_log`, says: /DISTINCT/ },
  {
    kind: 'projection',
    clauses: `WITH (window = '1 hour', time_column = 'ts')`,
    query: 'SELECT id, ts FROM access_log',
    says: /key/,
  },
  {
    kind: 'projection',
    clauses: `WITH (window = '1 hour', time_column = 'time', key = (id))`,
    query: 'SELECT id, ts FROM access_log',
    says: /time.*Did you mean|no column/s,
  },
  {
    kind: 'projection',
    clauses: `WITH (window = '1 hour', key = (id))`,
    query: 'SELECT id, ts FROM access_log',
    says: /time_column/,
  },
  {
    kind: 'projection',
    clauses: `WITH (window = '1 hour', time_column = 'host', key = (id))`,
    query: 'SELECT id, host FROM access_log',
    says: /host/,
  },

  { kind: 'recording', query: 'SELECT now() AS ts, count(*) AS n FROM access_log', says: /EVAL INTERVAL/ },
  {
    kind: 'recording',
    clauses: `EVAL INTERVAL '30 seconds'`,
    query: 'SELECT now() AS ts, count(*) AS n FROM access_log',
    says: /minute/,
    status: 400,
  },
  {
    kind: 'order',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log GROUP BY 1 ORDER BY n FETCH FIRST 3 ROWS ONLY`,
    says: /LIMIT/,
    at: '3',
  },

  {
    kind: 'keys',
    query: `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS n FROM access_log GROUP BY ROLLUP (1, 2)`,
    says: /ROLLUP/,
    at: 'ROLLUP',
  },
  {
    kind: 'keys',
    query: `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS n FROM access_log GROUP BY 1, CUBE (2)`,
    says: /GROUPING\(host\)/,
    at: 'CUBE',
  },
  {
    kind: 'keys',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log GROUP BY 1, host`,
    says: /group key "host" is not in the select list/,
    at: 'host',
  },
  {
    kind: 'keys',
    query: `SELECT date_trunc('hour', ts) AS hour, host, status, count(*) AS n FROM access_log GROUP BY GROUPING SETS ((1, 2), (1, 3))`,
    says: /group by the window outside/,
    at: 'GROUPING SETS',
  },
  {
    kind: 'keys',
    query: `SELECT date_bin('20 seconds', ts) AS w, number + 1 AS bucket, count(*) AS n FROM numbers_with_ts GROUP BY w, number`,
    says: /group key "number" is not in the select list/,
    at: 'number',
  },

  {
    kind: 'volatile',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log WHERE random() < 0.1 GROUP BY 1`,
    says: /random/,
    at: 'random',
  },
  {
    kind: 'volatile',
    clauses: `EVAL INTERVAL '1 hour'`,
    query: 'SELECT host, gen_random_uuid() AS id FROM hosts',
    says: /gen_random_uuid/,
    at: 'gen_random_uuid',
  },
  {
    kind: 'volatile',
    clauses: `EVAL INTERVAL '1 hour'`,
    query: 'SELECT host, clock_timestamp() AS seen FROM hosts',
    says: /clock_timestamp/,
    at: 'clock_timestamp',
  },
  {
    kind: 'volatile',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log WHERE ts > now() - interval '1 day' GROUP BY 1`,
    says: /EVAL INTERVAL/,
    at: 'now',
  },
  {
    kind: 'volatile',
    query: `SELECT date_trunc('day', departure) AS day, count(*) AS n FROM flights WHERE fl_date >= current_date GROUP BY 1`,
    says: /EVAL INTERVAL/,
    at: 'current_date',
  },
  {
    kind: 'volatile',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log WHERE ts > 'yesterday' GROUP BY 1`,
    says: /yesterday/,
    at: `'yesterday'`,
  },

  {
    kind: 'calendar',
    query: `SELECT date_bin('1 month', ts) AS month, count(*) AS n FROM access_log GROUP BY 1`,
    says: /month/,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin('0 seconds', ts) AS w, count(*) AS n FROM access_log GROUP BY 1`,
    says: /zero/,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('fortnight', ts) AS w, count(*) AS n FROM access_log GROUP BY 1`,
    says: /fortnight/,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('day', ts, 'Mars/Olympus') AS d, count(*) AS n FROM access_log GROUP BY 1`,
    says: /Mars\/Olympus/,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin(bytes * interval '1 minute', ts) AS w, count(*) AS n FROM access_log GROUP BY 1`,
    says: /constant/,
  },

  // Sinks.
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (hour timestamptz, hits bigint, UNIQUE NULLS NOT DISTINCT (hour))',
    query: HITS,
    says: /"host" of type text is missing/,
  },
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (hour timestamptz, host text, hits timestamptz, UNIQUE NULLS NOT DISTINCT (hour, host))',
    query: HITS,
    says: /"hits" is of type timestamp with time zone/,
  },
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (hour timestamptz, host text, hits bigint, extra smallint NOT NULL, UNIQUE NULLS NOT DISTINCT (hour, host))',
    query: HITS,
    says: /"extra"/,
  },
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (hour timestamptz, host text, hits bigint)',
    query: HITS,
    says: /NULLS NOT DISTINCT on exactly \("hour", "host"\)/,
  },
];
