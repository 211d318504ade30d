import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asyncBufferFromFile, type FileMetaData, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { SluiceError } from '../errors.ts';
import { COPY_HEADER, COPY_TRAILER, type CopyColumns, encodeRows } from './copy-encoder.ts';

/** Says that the rows are there in full: it is written in their transaction. */
const MARKER = 'Sluice demonstration: flights-3m of vega-datasets';
const ROWS_PER_BUFFER = 20_000;

export interface LoadProgress {
  readonly rows: number;
  readonly total: number;
}

/**
 * The 3 million flights of the npm package `vega-datasets` in `public.flights`, with an index on `date`. All or nothing: a
 * load that is cut off leaves no table. False: they were there already. Throws `invalid_request` where a table of that name
 * holds something else.
 */
export async function loadFlights(
  client: Client,
  signal: AbortSignal,
  onProgress: (progress: LoadProgress) => void,
): Promise<boolean> {
  if (await flightsAreThere(client)) return false;
  const file = await asyncBufferFromFile(flightsFile());
  const metadata = await parquetMetadataAsync(file);
  await client.query('BEGIN');
  try {
    await client.query(
      'CREATE TABLE public.flights (date timestamp NOT NULL, delay integer, distance integer, origin text NOT NULL, destination text NOT NULL)',
    );
    const copy = client.query(
      copyFrom(
        'COPY public.flights (date, delay, distance, origin, destination) FROM STDIN WITH (FORMAT binary, FREEZE)',
      ),
    );
    await pipeline(Readable.from(encoded(file, metadata, onProgress)), copy, { signal });
    await client.query('CREATE INDEX flights_date ON public.flights (date)');
    await client.query(`COMMENT ON TABLE public.flights IS '${MARKER}'`);
    await client.query('ANALYZE public.flights');
    await client.query('COMMIT');
  } catch (error) {
    // The transaction dies with the connection, which a COPY that was cut off may have broken.
    await client.end().catch(() => undefined);
    throw error;
  }
  return true;
}

async function flightsAreThere(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ comment: string | null }>(
    "SELECT obj_description(c.oid, 'pg_class') AS comment FROM pg_class c WHERE c.oid = to_regclass('public.flights')",
  );
  const [found] = rows;
  if (found === undefined) return false;
  if (found.comment === MARKER) return true;
  throw new SluiceError(
    'invalid_request',
    'The database has a table public.flights that is not the one of the demonstration. Start with --empty, or with another --data folder.',
  );
}

/** The package exports its module only, which lies in `build` beside `data`. */
function flightsFile(): string {
  return join(dirname(createRequire(import.meta.url).resolve('vega-datasets')), '..', 'data', 'flights-3m.parquet');
}

type ParquetFile = Awaited<ReturnType<typeof asyncBufferFromFile>>;

async function* encoded(
  file: ParquetFile,
  metadata: FileMetaData,
  onProgress: (progress: LoadProgress) => void,
): AsyncGenerator<Buffer> {
  yield COPY_HEADER;
  const total = Number(metadata.num_rows);
  let start = 0;
  for (const group of metadata.row_groups) {
    const end = start + Number(group.num_rows);
    const columns = await readColumns(file, metadata, start, end);
    for (let from = 0; from < end - start; from += ROWS_PER_BUFFER) {
      const to = Math.min(end - start, from + ROWS_PER_BUFFER);
      yield encodeRows(columns, from, to);
      onProgress({ rows: start + to, total });
    }
    start = end;
  }
  yield COPY_TRAILER;
}

/** Integers stay exact: the file holds 64-bit ones, and times in microseconds. */
async function readColumns(
  file: ParquetFile,
  metadata: FileMetaData,
  rowStart: number,
  rowEnd: number,
): Promise<CopyColumns> {
  const columns = new Map<string, unknown[]>();
  await parquetRead({
    file,
    metadata,
    compressors,
    rowStart,
    rowEnd,
    parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
    onChunk({ columnName, columnData, rowStart: first }) {
      let column = columns.get(columnName);
      if (column === undefined) {
        column = new Array<unknown>(rowEnd - rowStart).fill(null);
        columns.set(columnName, column);
      }
      for (let i = 0; i < columnData.length; i++) {
        const row = first + i - rowStart;
        if (row >= 0 && row < rowEnd - rowStart) column[row] = columnData[i] ?? null;
      }
    },
  });
  const column = <T>(name: string): (T | null)[] => {
    const found = columns.get(name);
    if (found === undefined) throw new SluiceError('internal', `The flights file has no column ${name}.`);
    return found as (T | null)[];
  };
  return {
    timestamps: column<bigint>('date'),
    integers: [column<bigint>('delay'), column<bigint>('distance')],
    texts: [column<string>('origin'), column<string>('destination')],
  };
}
