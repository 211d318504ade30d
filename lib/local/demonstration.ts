import { Client } from 'pg';
import { SluiceError } from '../errors.ts';
import { parseInstant } from '../window/rfc3339.ts';
import type { TimeRange } from '../window/time-range.ts';
import { type ApiClient, apiClient } from './api-client.ts';
import { compareSink, isEqual } from './compare-sink.ts';
import { loadFlights } from './flights.ts';
import { type ProgressOutput, progressBar } from './progress-bar.ts';
import { untilQuiet, upToDate } from './quiet.ts';
import { tableText } from './table-text.ts';

interface DemonstrationFlow {
  readonly name: string;
  readonly sink: string;
  readonly keys: readonly string[];
  readonly query: string;
  /** Shows a few rows of the sink. */
  readonly sample: string;
}

export const FLOWS: readonly DemonstrationFlow[] = [
  {
    name: 'hourly_departures',
    sink: 'hourly_departures',
    keys: ['hour', 'origin'],
    query: `SELECT date_trunc('hour', date) AS hour, origin, count(*) AS departures,
       round(avg(delay), 2) AS mean_delay, max(delay) AS worst_delay
FROM flights GROUP BY 1, 2`,
    sample: `SELECT hour::text, origin, departures, mean_delay, worst_delay
FROM hourly_departures WHERE hour >= '2001-06-29 17:00' ORDER BY departures DESC, hour, origin LIMIT 5`,
  },
  {
    name: 'daily_routes',
    sink: 'daily_routes',
    keys: ['day', 'origin', 'destination'],
    query: `SELECT date_trunc('day', date) AS day, origin, destination, count(*) AS flights,
       sum(distance) AS miles, sum(delay) AS minutes_late
FROM flights GROUP BY 1, 2, 3`,
    sample: `SELECT day::date::text AS day, origin, destination, flights, miles, minutes_late
FROM daily_routes ORDER BY flights DESC, day, origin, destination LIMIT 5`,
  },
];

export interface DemonstrationOptions {
  readonly api: string;
  readonly database: string;
  readonly signal: AbortSignal;
  readonly output: ProgressOutput;
}

/** Loads the flights, creates the flows and waits until their sinks hold all of them. What is there already is kept. */
export async function prepareDemonstration(options: DemonstrationOptions): Promise<void> {
  const { signal, output } = options;
  const range = await withClient(options.database, async (client) => {
    const loading = progressBar(output, 'Loading 3,000,000 flights  ');
    await loadFlights(client, signal, ({ rows, total }) => loading.show(rows / total)).finally(() => loading.end());
    return sourceRange(client);
  });
  const api = apiClient(options.api, signal);
  for (const { name, sink, query } of FLOWS) {
    await api.sql(`CREATE FLOW IF NOT EXISTS ${name} SINK TO ${sink} AS ${query}`);
  }
  await bringIn(api, range, signal, output);
}

async function bringIn(api: ApiClient, range: TimeRange, signal: AbortSignal, output: ProgressOutput): Promise<void> {
  const bar = progressBar(output, 'Bringing existing rows in  ');
  const names = FLOWS.map(({ name }) => name);
  await untilQuiet(api, names, signal, (states) => {
    const parts = states.map((state) => upToDate(state, range));
    const rows = states.reduce((sum, state) => sum + BigInt(state.totals.rows_written), 0n);
    const done = parts.reduce((sum, part) => sum + part, 0) / parts.length;
    bar.show(done, `${rows.toLocaleString('en')} rollup rows written`);
  }).finally(() => bar.end());
}

async function sourceRange(client: Client): Promise<TimeRange> {
  const { rows } = await client.query<{ first: string; last: string }>(
    `SELECT to_char(min(date), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS first,
            to_char(max(date) + interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS last FROM public.flights`,
  );
  const [row] = rows;
  if (row?.first == null)
    throw new SluiceError('invalid_request', 'public.flights has no rows left; start with another --data folder.');
  return { start: parseInstant(row.first), end: parseInstant(row.last) };
}

/** A few rows of each sink, as text. */
export function sampleSinks(database: string): Promise<string> {
  return withClient(database, async (client) => {
    const parts: string[] = [];
    for (const flow of FLOWS) {
      const { rows, fields } = await client.query<(string | null)[]>({
        text: flow.sample,
        rowMode: 'array',
        types: AS_TEXT,
      });
      const counted = await client.query<{ rows: string }>(`SELECT count(*) AS rows FROM ${flow.sink}`);
      const count = BigInt(counted.rows[0]?.rows ?? 0).toLocaleString('en');
      parts.push(`${flow.sink} (${count} rows)\n${tableText({ columns: fields.map(({ name }) => name), rows })}`);
    }
    return parts.join('\n\n');
  });
}

/** Whether every sink equals its query, and what was found, as text. */
export function checkSinks(database: string): Promise<{ readonly equal: boolean; readonly report: string }> {
  return withClient(database, async (client) => {
    const lines: string[] = [];
    let equal = true;
    for (const flow of FLOWS) {
      const comparison = await compareSink(client, flow.query, flow.sink, flow.keys);
      const rows = comparison.rows.toLocaleString('en');
      if (isEqual(comparison)) {
        lines.push(`${flow.sink}: ${rows} rows, equal to the query`);
        continue;
      }
      equal = false;
      const { missing, surplus, inexact, examples } = comparison;
      lines.push(
        `${flow.sink}: ${rows} rows, NOT equal to the query: ${missing} missing, ${surplus} surplus, ${inexact} inexact`,
      );
      lines.push(...examples.map((example) => `  ${example}`));
    }
    return { equal, report: lines.join('\n') };
  });
}

/** Values as the server spells them. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

async function withClient<T>(database: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: database });
  // The server may go down under it at Ctrl-C; the query in flight fails then, and that is where it is seen.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
