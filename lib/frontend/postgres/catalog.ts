import { SluiceError } from '../../errors.ts';
import type { TimeColumnType } from '../../flow/definition.ts';
import type { FunctionFamily, FunctionReference, Relation, RelationColumn, RelationReference } from '../frontend.ts';
import { ask, QUESTION_MS, questionSettings } from './ask.ts';
import type { Connections, Row } from './connections.ts';
import { quoteLiteral } from './sql-text.ts';

const OLDEST_VERSION = 15;

export async function checkServer(connections: Connections): Promise<string> {
  const [row] = await ask(
    connections,
    questionSettings(QUESTION_MS),
    `SELECT version() AS version, current_setting('server_version_num') AS number, current_setting('server_encoding') AS encoding,
pg_is_in_recovery() AS standby`,
    'asking for the version of the server',
  );
  const version = row?.['version'] ?? '';
  const number = Number(row?.['number'] ?? 0);
  const name = /^PostgreSQL [0-9A-Za-z.]+/.exec(version)?.[0];
  if (name === undefined) {
    throw new SluiceError(
      'unsupported_server',
      `the server calls itself ${JSON.stringify(version.slice(0, 60))}; PostgreSQL ${OLDEST_VERSION} or newer is needed`,
    );
  }
  if (number < OLDEST_VERSION * 10_000) {
    throw new SluiceError(
      'unsupported_server',
      `the server is ${name}; ${OLDEST_VERSION} or newer is needed, because the key of a sink must treat NULLs as equal`,
    );
  }
  if (row?.['encoding'] === 'SQL_ASCII') {
    throw new SluiceError(
      'unsupported_server',
      'the database has the encoding SQL_ASCII, in which names and texts have no certain meaning; use a database in UTF8',
    );
  }
  if (row?.['standby'] === 't') {
    throw new SluiceError(
      'frontend_unavailable',
      'the server is a standby, which cannot be written; connect to the primary',
      {
        retryable: true,
      },
    );
  }
  return name;
}

export const KINDS: Readonly<Record<string, Relation['kind']>> = {
  r: 'table',
  p: 'partitioned_table',
  v: 'view',
  m: 'materialized_view',
  f: 'foreign_table',
};

const TIME_TYPES: Readonly<Record<string, TimeColumnType>> = {
  'timestamp with time zone': 'timestamptz',
  'timestamp without time zone': 'timestamp',
  date: 'date',
};

export async function describeRelations(
  connections: Connections,
  references: readonly RelationReference[],
): Promise<readonly (Relation | null)[]> {
  if (references.length === 0) return [];
  const wanted = references.map(
    ({ schema, table }, index) => `(${index}, ${nameLiteral(schema)}, ${nameLiteral(table)})`,
  );
  const rows = await ask(
    connections,
    questionSettings(QUESTION_MS),
    `SELECT w.index, n.nspname, c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod) AS type,
format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS base,
CASE WHEN c.relkind = 'v' AND a.attnum = 1 THEN pg_get_viewdef(c.oid) END AS definition
FROM (VALUES ${wanted.join(', ')}) AS w (index, schema, name)
JOIN pg_class AS c ON c.relname = w.name AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
JOIN pg_namespace AS n ON n.oid = c.relnamespace AND CASE WHEN w.schema IS NULL THEN pg_table_is_visible(c.oid) ELSE n.nspname = w.schema END
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_type AS t ON t.oid = a.atttypid
ORDER BY w.index, a.attnum`,
    'describing the tables of the query',
  );
  return references.map((_, index) => relationOf(rows.filter((row) => row['index'] === String(index))));
}

function relationOf(rows: readonly Row[]): Relation | null {
  const kind = KINDS[rows[0]?.['relkind'] ?? ''];
  if (rows[0] === undefined || kind === undefined) return null;
  const columns = rows.flatMap((row): RelationColumn[] => {
    if (row['attname'] == null) return [];
    return [{ name: row['attname'], type: row['type'] ?? '', timeType: TIME_TYPES[row['base'] ?? ''] ?? null }];
  });
  const { nspname, relname, definition } = rows[0];
  return { schema: nspname ?? '', table: relname ?? '', kind, columns, definition: definition ?? null };
}

export async function describeFunctions(
  connections: Connections,
  references: readonly FunctionReference[],
): Promise<readonly (FunctionFamily | null)[]> {
  if (references.length === 0) return [];
  const wanted = references.map(
    ({ schema, name }, index) => `(${index}, ${nameLiteral(schema)}, ${nameLiteral(name)})`,
  );
  const rows = await ask(
    connections,
    questionSettings(QUESTION_MS),
    `SELECT w.index, max(CASE p.provolatile WHEN 'v' THEN 2 WHEN 's' THEN 1 ELSE 0 END) AS worst, bool_or(p.proretset) AS set,
CASE WHEN count(DISTINCT n.oid) = 1 THEN min(n.nspname) END AS schema
FROM (VALUES ${wanted.join(', ')}) AS w (index, schema, name)
JOIN pg_proc AS p ON p.proname = w.name
JOIN pg_namespace AS n ON n.oid = p.pronamespace
AND CASE WHEN w.schema IS NULL THEN pg_function_is_visible(p.oid) ELSE n.nspname = w.schema END
GROUP BY w.index`,
    'looking up the functions of the query',
  );
  const volatility = ['immutable', 'stable', 'volatile'] as const;
  return references.map((_, index) => {
    const row = rows.find((each) => each['index'] === String(index));
    if (row === undefined) return null;
    return {
      schema: row['schema'] ?? null,
      volatility: volatility[Number(row['worst'])] ?? 'volatile',
      returnsSet: row['set'] === 't',
    };
  });
}

/** Cut to the length of a name, as the server does with a name in a query. */
export function nameLiteral(name: string | null): string {
  return name === null ? 'NULL::name' : `${quoteLiteral(name)}::name`;
}
