import type { Client, FieldDef } from 'pg';

export interface SinkComparison {
  readonly rows: bigint;
  /** Rows that the query gives and the sink does not hold, and the reverse; of floating-point columns, those off by more than 1e-9. */
  readonly missing: bigint;
  readonly surplus: bigint;
  readonly inexact: bigint;
  /** A few rows that differ, each as one text. */
  readonly examples: readonly string[];
}

/** Type OIDs of `real` and `double precision`, whose sums depend on the order of the rows. */
const FLOATS = new Set([700, 701]);
const TOLERANCE = '1e-9';
const EXAMPLES = 5;

export function isEqual(comparison: SinkComparison): boolean {
  return comparison.missing === 0n && comparison.surplus === 0n && comparison.inexact === 0n;
}

/**
 * Compares a sink with its query: exactly in all columns but floating-point ones, and these to 1e-9 of their size. `sink` is quoted
 * SQL text; `keys` are the columns that identify a row.
 */
export async function compareSink(
  client: Client,
  query: string,
  sink: string,
  keys: readonly string[],
): Promise<SinkComparison> {
  const { fields } = await client.query(`SELECT * FROM (${query}) AS f LIMIT 0`);
  const exact = fields.filter((field) => !FLOATS.has(field.dataTypeID));
  const floats = fields.filter((field) => FLOATS.has(field.dataTypeID));
  await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ');
  try {
    await client.query(`CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS ${query}`);
    const columns = list(exact);
    const difference = (one: string, other: string) =>
      `SELECT ${columns} FROM ${one} EXCEPT ALL SELECT ${columns} FROM ${other}`;
    const missing = await differing(client, difference('fresh', sink));
    const surplus = await differing(client, difference(sink, 'fresh'));
    const inexact =
      floats.length === 0
        ? NONE
        : await differing(
            client,
            inexactRows(
              sink,
              keys.map(quoted),
              floats.map(({ name }) => quoted(name)),
            ),
          );
    const counted = await client.query<{ rows: string }>(`SELECT count(*) AS rows FROM ${sink}`);
    return {
      rows: BigInt(counted.rows[0]?.rows ?? 0),
      missing: missing.count,
      surplus: surplus.count,
      inexact: inexact.count,
      examples: [
        ...missing.examples.map((row) => `missing in the sink: ${row}`),
        ...surplus.examples.map((row) => `surplus in the sink: ${row}`),
        ...inexact.examples.map((row) => `off by more than ${TOLERANCE}: ${row}`),
      ],
    };
  } finally {
    await client.query('ROLLBACK');
  }
}

interface Differing {
  readonly count: bigint;
  readonly examples: readonly string[];
}

const NONE: Differing = { count: 0n, examples: [] };

async function differing(client: Client, select: string): Promise<Differing> {
  const { rows } = await client.query<{ count: string; examples: string[] | null }>(
    `WITH d AS (${select}) SELECT (SELECT count(*) FROM d) AS count, (SELECT array_agg(e.d::text) FROM (SELECT d FROM d LIMIT ${EXAMPLES}) AS e) AS examples`,
  );
  const [row] = rows;
  return row === undefined ? NONE : { count: BigInt(row.count), examples: row.examples ?? [] };
}

function inexactRows(sink: string, keys: readonly string[], floats: readonly string[]): string {
  const joined =
    keys.length === 0
      ? 'true'
      : `ROW(${keys.map((key) => `f.${key}`)})::record = ROW(${keys.map((key) => `s.${key}`)})::record`;
  const off = floats.map(
    (name) =>
      `(f.${name} IS NULL) <> (s.${name} IS NULL) OR (f.${name} <> s.${name} AND NOT coalesce(abs(f.${name} - s.${name}) < ${TOLERANCE} * greatest(abs(f.${name}), abs(s.${name})), false))`,
  );
  return `SELECT ${[...keys, ...floats].map((name) => `s.${name}`).join(', ')} FROM fresh AS f JOIN ${sink} AS s ON ${joined} WHERE ${off.join(' OR ')}`;
}

function list(fields: readonly FieldDef[]): string {
  return fields.map(({ name }) => quoted(name)).join(', ');
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
