/** Tables as jobs have them: an access log, sensors, trades and flights, over a night in which Berlin's clock jumps. */
export const TABLES = `
  CREATE TABLE access_log (id int, ts timestamptz, host text, path text, status int, bytes bigint, latency numeric(8, 3));
  CREATE TABLE error_log (id int, logged_at timestamptz, host text, message text);
  CREATE TABLE hosts (host text, region text, owner text);
  CREATE TABLE sensor_data (id int, ts timestamptz, sensor_id int, temperature numeric(6, 2), humidity double precision, local timestamp);
  CREATE TABLE sensors (sensor_id int, room text, kind text, calibrated_at timestamptz);
  CREATE TABLE trades (id bigint, executed_at timestamptz, symbol text, price numeric(12, 4), qty int, side text, venue text);
  CREATE TABLE quotes (quoted_at timestamptz, symbol text, bid numeric(12, 4), ask numeric(12, 4));
  CREATE TABLE instruments (symbol text, sector text, lot int);
  CREATE TABLE flights (id int, departure timestamp, fl_date date, carrier text, origin text, destination text, delay int, distance int);
  CREATE TABLE carriers (carrier text, name text);
  CREATE TABLE old_flights (id int, departure timestamptz, carrier text);
  CREATE TABLE numbers_with_ts (number int, ts timestamp);
  CREATE TABLE "HTTP Log" ("Time" timestamptz, "Status Code" int, "User" text);`;

const START = `'2024-03-30 20:00Z'::timestamptz`;

export const ROWS = `
  INSERT INTO hosts VALUES ('web-1', 'eu', 'ana'), ('web-2', 'us', NULL), ('web-9', 'eu', 'bo'), (NULL, 'none', 'cy');
  INSERT INTO access_log SELECT n, ${START} + n * interval '23 minutes', (ARRAY['web-1', 'web-2', 'web-3', NULL])[1 + n % 4],
    (ARRAY['/', '/login', '/api/items?id=1'])[1 + n % 3], (ARRAY[200, 200, 404, 500, 301])[1 + n % 5], n * 137 % 1000, n * 7.125
    FROM generate_series(0, 70) AS n;
  INSERT INTO access_log VALUES (900, NULL, 'web-1', '/', 200, 5, 1);
  INSERT INTO error_log SELECT id + 5, ts + interval '41 minutes', host, 'failed ' || id % 3 FROM access_log WHERE status = 500 AND ts IS NOT NULL;
  INSERT INTO sensors VALUES (0, 'attic', 't', '2024-03-30 22:00Z'), (1, 'cellar', 'th', NULL), (2, 'attic', 'th', '2024-03-31 02:00Z'), (7, NULL, 't', NULL);
  INSERT INTO sensor_data SELECT n, ${START} + n * interval '29 minutes', n % 4, CASE WHEN n % 9 = 0 THEN NULL ELSE n % 31 - 4.25 END,
    n % 13 / 8.0, (${START} + n * interval '29 minutes') AT TIME ZONE 'UTC' FROM generate_series(0, 60) AS n;
  INSERT INTO instruments VALUES ('ACME', 'tools', 10), ('ÉCLAIR', 'food', 1), ('ZINC', NULL, 100);
  INSERT INTO trades SELECT n, ${START} + n * interval '19 minutes 7.5 seconds', (ARRAY['ACME', 'ÉCLAIR', 'BOLT'])[1 + n % 3],
    90 + n % 17 * 1.25, 1 + n % 8, CASE n % 2 WHEN 0 THEN 'buy' ELSE 'sell' END, (ARRAY['XETR', 'XNAS', NULL])[1 + n / 2 % 3]
    FROM generate_series(0, 70) AS n;
  INSERT INTO quotes SELECT executed_at - interval '9 seconds', symbol, price - 0.25, price + 0.5 FROM trades WHERE id % 2 = 0;
  INSERT INTO carriers VALUES ('AA', 'Alpha Air'), ('BB', 'Blue Birds');
  INSERT INTO flights SELECT n, '2024-03-28 05:10'::timestamp + n * interval '101 minutes', ('2024-03-28 05:10'::timestamp + n * interval '101 minutes')::date,
    (ARRAY['AA', 'BB', 'CC'])[1 + n % 3], (ARRAY['FRA', 'JFK', 'OSL', NULL])[1 + n % 4], (ARRAY['LHR', 'CDG'])[1 + n % 2], n * 13 % 90 - 10, 300 + n * 41 % 900
    FROM generate_series(0, 60) AS n;
  INSERT INTO old_flights SELECT n, '1969-12-28 03:00Z'::timestamptz + n * interval '7 hours', (ARRAY['AA', NULL])[1 + n % 2] FROM generate_series(0, 25) AS n;
  INSERT INTO numbers_with_ts SELECT n % 5, '2024-03-31 00:00'::timestamp + n * interval '7 seconds' FROM generate_series(0, 60) AS n;
  INSERT INTO "HTTP Log" SELECT ts, status, host FROM access_log;`;

export const EMPTY =
  'TRUNCATE access_log, error_log, hosts, sensor_data, sensors, trades, quotes, instruments, flights, carriers, old_flights, numbers_with_ts, "HTTP Log"';

/** Late rows, rows that change, move and vanish, keys that become NULL: all of it within the marked ranges. */
export const CHANGES = `
  DELETE FROM access_log WHERE id BETWEEN 4 AND 14;
  UPDATE access_log SET host = NULL, bytes = bytes + 1 WHERE id = 20;
  UPDATE access_log SET status = 500, latency = NULL, path = '/login' WHERE id IN (21, 22);
  UPDATE access_log SET ts = ts + interval '9 hours' WHERE id = 24;
  INSERT INTO access_log VALUES (1000, '2024-03-29 12:34Z', 'web-9', '/late', 500, 77, 2.5), (1001, '2024-03-31 01:00Z', NULL, NULL, NULL, NULL, NULL);
  DELETE FROM error_log WHERE id < 15;
  INSERT INTO error_log VALUES (300, '2024-03-29 12:50Z', 'web-9', NULL);
  DELETE FROM sensor_data WHERE id BETWEEN 6 AND 9;
  UPDATE sensor_data SET sensor_id = NULL, temperature = 99 WHERE id = 17;
  UPDATE sensor_data SET humidity = humidity + 0.1 WHERE id = 18;
  INSERT INTO sensor_data VALUES (1000, '2024-03-29 12:15Z', 7, -40, 0.3, '2024-03-29 12:15');
  DELETE FROM trades WHERE id BETWEEN 7 AND 11;
  UPDATE trades SET price = price * 2, symbol = 'ZINC' WHERE id IN (24, 25);
  UPDATE trades SET symbol = NULL WHERE id = 26;
  INSERT INTO trades VALUES (1000, '2024-03-29 12:00Z', 'ACME', 1, 1000, 'buy', 'XETR');
  DELETE FROM quotes WHERE quoted_at BETWEEN '2024-03-30 22:00Z' AND '2024-03-30 23:00Z';
  DELETE FROM flights WHERE fl_date = '2024-03-29';
  UPDATE flights SET delay = NULL, carrier = 'DD' WHERE fl_date = '2024-03-31' AND id % 2 = 0;
  INSERT INTO flights VALUES (1000, '2024-02-29 23:59:59.999', '2024-02-29', 'BB', NULL, NULL, 7, 1);
  DELETE FROM old_flights WHERE departure < '1969-12-29'; UPDATE old_flights SET carrier = 'BB' WHERE departure BETWEEN '1970-01-01' AND '1970-01-02';
  DELETE FROM numbers_with_ts WHERE ts < '2024-03-31 00:01:00'; UPDATE numbers_with_ts SET number = NULL WHERE ts = '2024-03-31 00:01:10';
  INSERT INTO numbers_with_ts VALUES (41, '2024-03-31 03:00:01');
  DELETE FROM "HTTP Log" WHERE "Time" BETWEEN '2024-03-30 22:00Z' AND '2024-03-30 23:00Z';`;

const NIGHT = [
  ['2024-03-29T12:00:00Z', '2024-03-29T13:00:00Z'],
  ['2024-03-30T21:30:00Z', '2024-03-31T01:30:00Z'],
  ['2024-03-31T03:00:00Z', '2024-03-31T05:30:00Z'],
  ['2024-03-31T14:00:00Z', '2024-03-31T15:00:00Z'],
] as const;
const DAYS = [
  ['2024-02-28T12:00:00Z', '2024-03-01T12:00:00Z'],
  ['2024-03-28T12:00:00Z', '2024-03-30T12:00:00Z'],
  ['2024-03-30T12:00:00Z', '2024-04-01T12:00:00Z'],
] as const;

/** What is marked of each table after the changes. */
export const MARKS: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  access_log: NIGHT,
  error_log: NIGHT,
  sensor_data: NIGHT,
  trades: NIGHT,
  quotes: NIGHT,
  flights: DAYS,
  old_flights: [['1969-12-27T00:00:00Z', '1970-01-03T00:00:00Z']],
  numbers_with_ts: [
    ['2024-03-31T00:00:00Z', '2024-03-31T00:01:20Z'],
    ['2024-03-31T03:00:01Z', '2024-03-31T03:00:02Z'],
  ],
  'HTTP Log': NIGHT,
};
