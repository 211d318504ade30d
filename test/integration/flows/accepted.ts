import type { AcceptedRow } from './row.ts';

export const ACCEPTED: readonly AcceptedRow[] = [
  // A window as a group key, in all its places.
  {
    kind: 'window',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS hits FROM access_log GROUP BY date_trunc('hour', ts)`,
  },
  {
    kind: 'window',
    query: `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits, sum(bytes) AS bytes FROM access_log GROUP BY hour, host`,
  },
  {
    kind: 'window',
    query: `SELECT host, date_bin('30 minutes', ts, '2000-01-01 00:00:00+00') AS bucket, avg(latency) AS mean FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'window',
    query: `SELECT date_bin(INTERVAL '5 minutes', ts, TIMESTAMPTZ '1970-01-01 00:00:00Z') AS bucket, max(temperature) AS highest FROM sensor_data GROUP BY bucket`,
  },
  // Two arguments, as GreptimeDB has it: counted from 1970.
  {
    kind: 'window',
    query: `SELECT date_bin('1 minute'::interval, ts) AS ts, symbol, sum(n) AS n FROM (SELECT executed_at AS ts, symbol, qty AS n FROM trades) AS t GROUP BY 1, 2`,
  },
  {
    kind: 'window',
    query: `SELECT sum(number) AS total, date_bin(INTERVAL '1 minute', ts) AS time_window FROM numbers_with_ts GROUP BY time_window`,
  },
  {
    kind: 'window',
    query: `SELECT date_trunc('day', executed_at)::date AS day, symbol, count(*) AS trades FROM trades GROUP BY 1, 2`,
  },
  {
    kind: 'window',
    query: `SELECT CAST(date_trunc('hour', ts) AS timestamp) AS hour, count(*) AS n FROM sensor_data GROUP BY 1`,
  },
  {
    kind: 'window',
    query: `SELECT hour, sensor_id, min(temperature) AS low FROM (SELECT date_trunc('hour', ts) AS hour, sensor_id, temperature FROM sensor_data) AS s GROUP BY hour, sensor_id`,
  },
  {
    kind: 'window',
    query: `WITH per_minute AS (SELECT date_bin('10 minutes', executed_at) AS bucket, * FROM trades) SELECT bucket, symbol, count(*) AS n, sum(price * qty) AS turnover FROM per_minute GROUP BY 1, 2`,
  },
  {
    kind: 'window',
    query: `WITH hourly AS (SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits FROM access_log GROUP BY 1, 2) SELECT hour, host, hits FROM hourly WHERE hits > 0`,
  },
  {
    kind: 'window',
    query: `SELECT hour, max(hits) AS busiest, count(*) AS hosts FROM (SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits FROM access_log GROUP BY 1, 2) AS h GROUP BY hour`,
  },
  {
    kind: 'window',
    query: `SELECT date_trunc('hour', a."Time") AS "Hour", a."Status Code", count(*) AS "Hits" FROM "HTTP Log" AS a GROUP BY 1, a."Status Code"`,
  },
  {
    kind: 'window',
    query: `SELECT count(number), max(number), date_bin('20 seconds', ts) AS w FROM numbers_with_ts GROUP BY w`,
  },

  // Filters, aggregates and further keys.
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS errors FROM access_log WHERE status >= 400 AND path LIKE '/%' GROUP BY 1`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('day', ts) AS day, path, count(*) AS hits FROM access_log GROUP BY 1, 2 HAVING count(*) > 1 AND max(bytes) > 200`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) FILTER (WHERE status >= 500) AS failed, round(100.0 * count(*) FILTER (WHERE status >= 500) / count(*), 2) AS percent FROM access_log GROUP BY 1`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_bin('2 hours', ts) AS bucket, CASE WHEN status < 300 THEN 'ok' WHEN status < 400 THEN 'moved' ELSE 'bad' END AS class, count(*) AS n FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('day', ts) AS day, count(DISTINCT host) AS hosts, count(DISTINCT (host, path)) AS pairs FROM access_log GROUP BY 1`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, host, percentile_cont(0.95) WITHIN GROUP (ORDER BY latency) AS p95, percentile_disc(0.5) WITHIN GROUP (ORDER BY latency) AS median FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, mode() WITHIN GROUP (ORDER BY path) AS usual, string_agg(DISTINCT host, ', ' ORDER BY host) AS seen FROM access_log GROUP BY 1`,
  },
  // Candles, as trading systems keep them.
  {
    kind: 'aggregates',
    query: `SELECT date_bin('15 minutes', executed_at) AS bucket, symbol, (array_agg(price ORDER BY executed_at, id))[1] AS open, max(price) AS high, min(price) AS low, (array_agg(price ORDER BY executed_at DESC, id DESC))[1] AS close, sum(qty) AS volume FROM trades GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', executed_at) AS hour, symbol, sum(price * qty) / NULLIF(sum(qty), 0) AS vwap FROM trades GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', executed_at) AS hour, symbol, venue, side, sum(CASE side WHEN 'buy' THEN qty ELSE -qty END) AS net FROM trades GROUP BY 1, 2, 3, 4`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, sensor_id, avg(temperature) AS mean, stddev_samp(temperature) AS spread, max(temperature) - min(temperature) AS span FROM sensor_data GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_bin('3 hours', ts) AS w, bool_and(temperature > 0) AS warm, bool_or(temperature > 20) AS hot, bit_or(sensor_id) AS bits, every(humidity < 2) AS dry FROM sensor_data GROUP BY 1`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('day', departure) AS day, carrier, count(*) AS flights, avg(delay) AS delay, coalesce(sum(distance), 0) AS distance FROM flights GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('day', departure) AS day, origin || '-' || destination AS route, corr(delay, distance)::numeric(10, 6) AS c FROM flights WHERE origin IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 0`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_bin('1 hour', ts) AS w, sum(abs(temperature)) AS way, sum(CASE WHEN temperature > 10 THEN 1 ELSE 0 END) AS high, count(*) + 123 AS shifted, min(temperature) AS a, min(temperature) AS b FROM sensor_data GROUP BY 1`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_bin('20 seconds', ts) AS w, number, sum(number) AS "total sum", 'fixed' AS label, 7 AS seven FROM numbers_with_ts GROUP BY w, number`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_bin('20 seconds', ts) AS w, number + 1 AS bucket, number, count(*) AS n FROM numbers_with_ts GROUP BY w, number`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('day', ts) AS day, extract(hour FROM ts)::int AS hour, jsonb_object_agg(id, status ORDER BY id)::text AS statuses FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'aggregates',
    query: `SELECT date_trunc('hour', ts) AS hour, status / 100 AS class, width_bucket(latency, 0, 500, 5) AS bucket, count(*) AS n FROM access_log GROUP BY 1, 2, 3`,
  },

  // Joins, subqueries and UNION ALL.
  {
    kind: 'inputs',
    warns: /hosts.*read whole/,
    query: `SELECT date_trunc('hour', a.ts) AS hour, h.region, count(*) AS hits FROM access_log a JOIN hosts h ON h.host = a.host GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    warns: /hosts.*read whole/,
    query: `SELECT date_trunc('hour', a.ts) AS hour, coalesce(h.owner, 'nobody') AS owner, sum(a.bytes) AS bytes FROM access_log a LEFT JOIN hosts h USING (host) GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    options: 'on_dimension_change = refresh',
    query: `SELECT date_trunc('day', f.departure) AS day, c.name, avg(f.delay) AS delay FROM flights f LEFT OUTER JOIN carriers c ON c.carrier = f.carrier GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_bin('1 hour', t.executed_at) AS hour, i.sector, sum(t.qty * i.lot) AS lots FROM trades t, instruments i WHERE i.symbol = t.symbol GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', t.executed_at) AS hour, t.symbol, max(t.price - q.bid) AS above FROM trades t LEFT JOIN LATERAL (SELECT bid FROM quotes q WHERE q.symbol = t.symbol AND q.quoted_at BETWEEN t.executed_at - interval '1 minute' AND t.executed_at ORDER BY quoted_at DESC LIMIT 1) q ON true GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT l.bucket, count(*) AS n FROM sensor_data s CROSS JOIN LATERAL (SELECT date_bin('45 minutes', s.ts) AS bucket) l GROUP BY 1`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log WHERE host IN (SELECT host FROM hosts WHERE region = 'eu') GROUP BY 1`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log a WHERE NOT EXISTS (SELECT FROM hosts h WHERE h.host = a.host) GROUP BY 1`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, s.room, count(*) FILTER (WHERE s.calibrated_at <= d.ts) AS reliable FROM sensor_data d JOIN sensors s USING (sensor_id) GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', t) AS hour, kind, count(*) AS n FROM (SELECT ts AS t, 'access' AS kind FROM access_log UNION ALL SELECT logged_at, 'error' FROM error_log) AS lines GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_trunc('hour', ts) AS hour, 'access' AS log, host, count(*) AS lines FROM access_log GROUP BY 1, 3 UNION ALL SELECT date_trunc('hour', logged_at), 'error', host, count(*) FROM error_log GROUP BY 1, 3`,
  },
  {
    kind: 'inputs',
    query: `WITH eu AS (SELECT host FROM hosts WHERE region = 'eu'), logs AS (SELECT ts, host, status FROM access_log UNION ALL SELECT logged_at, host, 599 FROM error_log) SELECT date_trunc('day', ts) AS day, host, max(status) AS worst FROM logs JOIN eu USING (host) GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT hour, r.region, sum(hits) AS hits FROM (SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits FROM access_log GROUP BY 1, 2) AS h LEFT JOIN (SELECT host, max(region) AS region FROM hosts GROUP BY host) AS r USING (host) GROUP BY 1, 2`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_bin('1 minute', n.ts) AS w, max(n.number + v.x) AS top FROM numbers_with_ts n CROSS JOIN (VALUES (1), (2)) AS v (x) GROUP BY 1`,
  },
  {
    kind: 'inputs',
    query: `SELECT date_bin('1 minute', ts) AS w, count(*) AS n FROM numbers_with_ts WHERE number IN (SELECT lot FROM instruments) GROUP BY 1`,
  },

  // SELECT DISTINCT.
  { kind: 'distinct', query: `SELECT DISTINCT date_bin('15 minutes', ts) AS quarter, host FROM access_log` },
  {
    kind: 'distinct',
    query: `SELECT DISTINCT date_trunc('day', ts) AS day, host, status >= 500 AS failed FROM access_log WHERE path <> '/'`,
  },
  {
    kind: 'distinct',
    query: `SELECT DISTINCT date_trunc('month', departure) AS month, carrier, c.name FROM flights LEFT JOIN carriers c USING (carrier)`,
  },
  {
    kind: 'distinct',
    query: `SELECT day, count(*) AS active_hosts FROM (SELECT DISTINCT date_trunc('day', ts) AS day, host FROM access_log) AS d GROUP BY day`,
  },
  { kind: 'distinct', query: `SELECT date_bin('10 seconds', ts) AS w, number FROM numbers_with_ts GROUP BY 1, 2` },
  {
    kind: 'distinct',
    query: `SELECT DISTINCT number, date_bin(INTERVAL '1 minute', ts) AS time_window FROM numbers_with_ts`,
  },

  // A plain projection, cut by options.
  {
    kind: 'projection',
    options: `window = '1 hour', time_column = 'ts', key = (id, ts)`,
    query: 'SELECT id, ts, host, path FROM access_log WHERE status >= 500',
  },
  {
    kind: 'projection',
    options: `window = '1 day', time_column = 'departure', key = (id)`,
    query: 'SELECT id, departure, origin, destination, delay > 15 AS late FROM flights WHERE delay IS NOT NULL',
  },
  {
    kind: 'projection',
    options: `window = '1 hour', time_column = 'executed_at', key = (id)`,
    query:
      'SELECT t.id, t.executed_at, t.symbol, i.sector, t.price * t.qty AS amount FROM trades t LEFT JOIN instruments i USING (symbol)',
  },
  {
    kind: 'projection',
    options: `window = '2 hours', time_column = 'at', key = (log, id)`,
    query: `SELECT 'access' AS log, ts AS at, id, host FROM access_log UNION ALL SELECT 'error', logged_at, id, host FROM error_log`,
  },
  {
    kind: 'projection',
    options: `window = '1 day', time_column = 'fl_date'`,
    query: 'SELECT fl_date, carrier, count(*) AS flights FROM flights GROUP BY 1, 2',
  },
  {
    kind: 'projection',
    options: `window = '6 hours', time_column = 'ts'`,
    query: 'SELECT ts, sensor_id, max(temperature) AS t FROM sensor_data GROUP BY ts, sensor_id',
  },
  {
    kind: 'projection',
    options: `window = '1 minute', time_column = 'ts', key = (number, ts)`,
    query: 'SELECT number, ts FROM numbers_with_ts WHERE number > 1',
  },

  // What only runs whole.
  {
    kind: 'whole',
    hourly: true,
    warns: /whole/,
    query: 'SELECT host, count(*) AS hits, max(ts) AS last_seen FROM access_log GROUP BY host',
  },
  {
    kind: 'whole',
    hourly: true,
    query: 'SELECT count(*) AS n, count(DISTINCT symbol) AS symbols, sum(qty) AS qty FROM trades',
  },
  {
    kind: 'whole',
    hourly: true,
    query: 'SELECT path, count(*) AS hits FROM access_log GROUP BY path ORDER BY hits DESC, path LIMIT 2',
  },
  {
    kind: 'whole',
    hourly: true,
    query:
      'SELECT id, symbol, price, lag(price) OVER (PARTITION BY symbol ORDER BY executed_at, id) AS before FROM trades',
  },
  {
    kind: 'whole',
    hourly: true,
    options: 'key = (symbol)',
    query: 'SELECT DISTINCT ON (symbol) symbol, executed_at, price FROM trades ORDER BY symbol, executed_at DESC, id',
  },
  {
    kind: 'whole',
    hourly: true,
    options: 'key = (sensor_id)',
    query:
      'SELECT sensor_id, ts, temperature FROM (SELECT *, row_number() OVER (PARTITION BY sensor_id ORDER BY ts DESC, id) AS place FROM sensor_data) AS s WHERE place = 1',
  },
  {
    kind: 'whole',
    hourly: true,
    query: `WITH RECURSIVE days AS (SELECT DATE '2024-03-28' AS day UNION ALL SELECT day + 1 FROM days WHERE day < DATE '2024-04-01') SELECT day, count(f.id) AS flights FROM days LEFT JOIN flights f ON f.fl_date = day GROUP BY day`,
  },
  {
    kind: 'whole',
    hourly: true,
    query: `SELECT g.hour, count(a.id) AS hits FROM generate_series('2024-03-30 20:00Z'::timestamptz, '2024-03-31 20:00Z', '1 hour') AS g (hour) LEFT JOIN access_log a ON a.ts >= g.hour AND a.ts < g.hour + interval '1 hour' GROUP BY g.hour`,
  },
  { kind: 'whole', hourly: true, query: `SELECT host, path FROM access_log EXCEPT SELECT host, '/' FROM hosts` },
  {
    kind: 'whole',
    hourly: true,
    query: `SELECT date_trunc('hour', min) AS first_hour, count(*) AS sensors FROM (SELECT sensor_id, min(ts) FROM sensor_data GROUP BY 1) AS f GROUP BY 1`,
  },
  { kind: 'whole', hourly: true, query: 'SELECT max(number) - min(number) AS spread FROM numbers_with_ts' },

  // Recording queries.
  {
    kind: 'recording',
    hourly: true,
    query: 'SELECT now() AS ts, count(*) AS lines, sum(bytes) AS bytes FROM access_log',
  },
  {
    kind: 'recording',
    hourly: true,
    query: 'SELECT now() AS ts, symbol, sum(qty) AS position FROM trades GROUP BY symbol',
  },
  {
    kind: 'recording',
    hourly: true,
    options: 'key = (sensor_id)',
    query:
      'SELECT DISTINCT ON (sensor_id) current_timestamp AS ts, sensor_id, temperature FROM sensor_data ORDER BY sensor_id, sensor_data.ts DESC, id',
  },

  // ORDER BY at the top.
  {
    kind: 'order',
    warns: /ORDER BY/,
    query: `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS n FROM access_log GROUP BY 1, 2 ORDER BY hour DESC, n`,
  },
  {
    kind: 'order',
    warns: /ORDER BY/,
    query: `SELECT DISTINCT date_trunc('day', departure) AS day, carrier FROM flights ORDER BY 1, 2`,
  },

  // Grouping sets beside the window.
  {
    kind: 'keys',
    query: `SELECT date_trunc('day', ts) AS day, host, path, GROUPING(host, path) AS level, count(*) AS n FROM access_log GROUP BY 1, ROLLUP (host, path)`,
  },
  {
    kind: 'keys',
    query: `SELECT date_trunc('hour', executed_at) AS hour, symbol, side, GROUPING(symbol, side) AS level, sum(qty) AS qty FROM trades GROUP BY 1, CUBE (symbol, side)`,
  },
  {
    kind: 'keys',
    query: `SELECT date_trunc('day', departure) AS day, carrier, origin, GROUPING(carrier, origin) AS level, count(*) AS n FROM flights GROUP BY 1, GROUPING SETS ((carrier), (origin), ())`,
  },

  // The time of the run, bound to the grid.
  {
    kind: 'volatile',
    hourly: true,
    query: `SELECT date_trunc('hour', ts) AS hour, count(*) AS n FROM access_log WHERE ts > now() - interval '1 year' GROUP BY 1`,
  },
  {
    kind: 'volatile',
    hourly: true,
    query: 'SELECT carrier, count(*) AS n FROM flights WHERE fl_date > current_date - 400 GROUP BY carrier',
  },
  {
    kind: 'volatile',
    hourly: true,
    query: `SELECT id, message, logged_at > current_timestamp - interval '1 year' AS fresh FROM error_log`,
  },

  // Windows of all lengths, zones and types.
  {
    kind: 'calendar',
    options: `time_zone = 'Europe/Berlin'`,
    query: `SELECT date_trunc('day', ts) AS day, count(*) AS n FROM access_log GROUP BY 1`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('hour', ts, 'Australia/Lord_Howe') AS hour, count(*) AS n FROM sensor_data GROUP BY 1`,
  },
  {
    kind: 'calendar',
    query: `SELECT (date_trunc('day', executed_at, 'America/Havana') AT TIME ZONE 'America/Havana')::date AS day, symbol, sum(qty) AS qty FROM trades GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    options: `time_zone = 'Asia/Kolkata'`,
    query: `SELECT date_trunc('week', ts) AS week, host, count(*) AS n FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('week', departure) AS week, carrier, count(*) AS n FROM flights GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('month', fl_date) AS month, origin, count(*) AS n FROM flights GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('quarter', departure) AS quarter, count(*) AS n FROM flights GROUP BY 1`,
  },
  {
    kind: 'calendar',
    options: `time_zone = 'America/New_York'`,
    query: `SELECT date_trunc('year', departure) AS year, carrier, count(*) AS n FROM old_flights GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin('1 day', departure, '1970-01-01 06:00Z') AS day, carrier, count(*) AS n FROM old_flights GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin('7 days', fl_date, '2024-01-03') AS week, count(*) AS n FROM flights GROUP BY 1`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin('250 milliseconds', executed_at) AS w, count(*) AS n FROM trades GROUP BY 1`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_trunc('hour', local) AS hour, sensor_id, count(*) AS n FROM sensor_data GROUP BY 1, 2`,
  },
  {
    kind: 'calendar',
    query: `SELECT date_bin('1 hour 30 minutes', ts, '2024-01-01 00:17Z') AS w, count(*) AS n FROM access_log GROUP BY w`,
  },

  // A sink that is there already.
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (hits bigint, host text, hour timestamptz, UNIQUE NULLS NOT DISTINCT (hour, host))',
    query: `SELECT date_trunc('hour', ts) AS hour, host, count(*) AS hits FROM access_log GROUP BY 1, 2`,
  },
  {
    kind: 'sink',
    sink: 'CREATE TABLE shape (day timestamp, flights bigint, remark text, reviewed boolean NOT NULL DEFAULT false, update_at timestamptz, UNIQUE NULLS NOT DISTINCT (day))',
    query: `SELECT date_trunc('day', departure) AS day, count(*) AS flights FROM flights GROUP BY 1`,
  },
  {
    kind: 'sink',
    sink: `CREATE TABLE shape ("Hour" timestamptz, "MAX" int, UNIQUE NULLS NOT DISTINCT ("Hour"))`,
    query: `SELECT date_trunc('hour', "Time") AS "Hour", max("Status Code") AS "MAX" FROM "HTTP Log" GROUP BY 1`,
  },
];
