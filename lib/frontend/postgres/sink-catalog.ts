import { SluiceError } from '../../errors.ts';
import type { FlowDefinition, TableName } from '../../flow/definition.ts';
import type { SinkTable } from '../frontend.ts';
import { checkDrift, sinkDrifted } from '../sink-drift.ts';
import { ask, QUESTION_MS, questionSettings } from './ask.ts';
import { KINDS, nameLiteral } from './catalog.ts';
import type { Connections, Row } from './connections.ts';
import { bigintLiteral } from './sql-text.ts';

/** Throws `sink_mismatch` where the name belongs to something that is not a table. */
export async function describeSink(connections: Connections, sink: TableName): Promise<SinkTable | null> {
  const rows = await ask(connections, questionSettings(QUESTION_MS), sinkQuestion(sink), 'describing the sink');
  const kind = otherKind(rows);
  if (kind !== null) {
    throw new SluiceError('sink_mismatch', `${sink.schema}.${sink.table} is not a table (${kind}); a sink must be one`);
  }
  return sinkTableOf(sink, rows);
}

type Checked = Pick<FlowDefinition, 'sink' | 'compiled' | 'sinkColumns' | 'updateAt' | 'placeholder'>;

/** Whether the sink still takes what the flow writes. Throws `sink_drifted`. */
export async function checkSink(
  connections: Connections,
  definition: Checked,
  budgetMs: number,
): Promise<{ readonly identity: string }> {
  const rows = await ask(connections, questionSettings(budgetMs), sinkQuestion(definition.sink), 'checking the sink');
  return { identity: checkAnswer(definition, rows, null).identity };
}

/**
 * What the rows that {@link sinkQuestion} answered with say of a flow's sink. Throws `sink_drifted`, `sink_recreated`.
 */
export function checkAnswer(definition: Checked, rows: readonly Row[], known: string | null): SinkTable {
  const { sink } = definition;
  const kind = otherKind(rows);
  if (kind !== null) throw sinkDrifted(sink, [`it is no table any more (${kind})`]);
  const table = sinkTableOf(sink, rows);
  if (table === null) {
    const name = rows.find((row) => row['part'] === 'former')?.['name'];
    throw sinkDrifted(sink, [name == null ? 'the table is gone' : `the table is named ${name} now`]);
  }
  checkDrift(definition, table, known);
  return table;
}

/**
 * Asks the catalog for the relation of a sink's name, its columns and its unique keys, and, where there is none of the name, for that of
 * the identity it had. One statement in ASCII. Beside a `name`, the list of a key would be cut to 63 bytes.
 */
export function sinkQuestion(sink: TableName, former: string | null = null): string {
  const isSink = `n.nspname = ${nameLiteral(sink.schema)} AND c.relname = ${nameLiteral(sink.table)}
AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S', 'c')`;
  const found = 'FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace';
  return `SELECT 'column' AS part, c.oid::text AS identity, c.relkind, a.attname::text AS name, format_type(a.atttypid, a.atttypmod) AS type,
a.attnotnull, a.atthasdef OR a.attidentity <> '' AS hasdefault, a.attgenerated <> '' OR a.attidentity = 'a' AS generated
${found}
LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE ${isSink}
UNION ALL
SELECT 'key', NULL, NULL, ${KEY_COLUMNS}, NULL, NULL, NULL, NULL
${found} JOIN pg_index AS i ON i.indrelid = c.oid
WHERE ${isSink} AND ${IS_KEY}
${
  former === null
    ? ''
    : `UNION ALL
${formerName(isSink, former)}
`
}ORDER BY part`;
}

/** The table may have been renamed, or moved to another schema. */
function formerName(isSink: string, former: string): string {
  return `SELECT 'former', NULL, NULL, format('%I.%I', n.nspname, c.relname), NULL, NULL, NULL, NULL
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = (${bigintLiteral(BigInt(former))})::oid
AND c.relkind IN ('r', 'p') AND NOT (${isSink})`;
}

const KEY_COLUMNS = `(SELECT json_agg(a.attname ORDER BY k.position) FROM generate_series(0, i.indnkeyatts - 1) AS k (position)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.position])::text`;

/**
 * Unique indexes that count for a key: valid, checked at once, of plain columns compared as the type does by default, over all rows, and
 * either treating NULLs as equal or over columns that hold none.
 */
const IS_KEY = `c.relkind IN ('r', 'p') AND i.indisunique AND i.indisvalid AND i.indimmediate
AND i.indpred IS NULL AND i.indexprs IS NULL
AND NOT EXISTS (SELECT 1 FROM generate_series(0, i.indnkeyatts - 1) AS k (position)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[k.position]
JOIN pg_opclass AS o ON o.oid = i.indclass[k.position]
WHERE NOT (i.indnullsnotdistinct OR a.attnotnull) OR NOT o.opcdefault OR i.indcollation[k.position] NOT IN (0, a.attcollation))`;

function otherKind(rows: readonly Row[]): string | null {
  const kind = rows.find((row) => row['part'] === 'column')?.['relkind'];
  if (kind == null || kind === 'r' || kind === 'p') return null;
  return KINDS[kind]?.replace('_', ' ') ?? 'a sequence or type';
}

function sinkTableOf(sink: TableName, rows: readonly Row[]): SinkTable | null {
  const identity = rows.find((row) => row['part'] === 'column')?.['identity'];
  if (identity == null) return null;
  const columns = rows.flatMap((row) => {
    if (row['part'] !== 'column' || row['name'] == null) return [];
    return [
      {
        name: row['name'],
        type: row['type'] ?? '',
        notNull: row['attnotnull'] === 't',
        hasDefault: row['hasdefault'] === 't',
        generated: row['generated'] === 't',
      },
    ];
  });
  const uniqueKeys = rows.flatMap((row) =>
    row['part'] === 'key' && row['name'] != null ? [JSON.parse(row['name']) as string[]] : [],
  );
  return { ...sink, identity, columns, uniqueKeys };
}
