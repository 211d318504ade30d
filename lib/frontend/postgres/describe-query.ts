import { DatabaseError } from 'pg';
import type { QueryColumn } from '../frontend.ts';
import { QUESTION_MS, questionSettings } from './ask.ts';
import type { Connection, Connections, Row } from './connections.ts';
import { failure, isUnavailable, isUnknownZone, translate, unknownZone } from './server-error.ts';
import { beginTransaction } from './session.ts';
import { quoteIdentifier } from './sql-text.ts';

const DOING = 'describing the query';
const TABLE = 'pg_temp.sluice_described';
/** The parentheses keep a text that is more than one query from being anything but a syntax error. */
const CREATE = `CREATE TEMPORARY TABLE ${TABLE} ON COMMIT DROP AS (\n`;
const EXPLAIN = 'EXPLAIN\n';

/**
 * Nothing is executed and nothing stays: the server derives an empty temporary table from the query, plans the query (which finds
 * missing privileges and types that cannot be grouped or joined as it wants), and rolls back.
 */
export async function describeQuery(
  connections: Connections,
  sql: string,
  timeZone: string,
): Promise<readonly QueryColumn[]> {
  const settings = { ...questionSettings(QUESTION_MS, timeZone), readOnly: false };
  try {
    return await connections.use(
      () => ({ text: beginTransaction(settings), limitMs: QUESTION_MS }),
      async (connection) => {
        await sendPart(connection, CREATE, sql, '\n) WITH NO DATA');
        await sendPart(connection, EXPLAIN, sql, '');
        return await describeTable(connection);
      },
    );
  } catch (error) {
    throw isUnknownZone(error) ? unknownZone(timeZone) : translate(error, { doing: DOING });
  }
}

/** The server's position counts characters of the whole text from 1; the prefixes are ASCII. */
async function sendPart(connection: Connection, prefix: string, sql: string, suffix: string): Promise<void> {
  try {
    await connection.send({ text: prefix + sql + suffix, limitMs: QUESTION_MS });
  } catch (error) {
    if (!(error instanceof DatabaseError) || isPassing(error.code ?? '')) throw translate(error, { doing: DOING });
    const position = Number(error.position) - prefix.length;
    const within = Math.min(Math.max(position, 1), [...sql].length);
    throw failure('invalid_query', error, DOING, Number.isFinite(position) ? within : undefined);
  }
}

function isPassing(state: string): boolean {
  return isUnavailable(state) || ['57014', '55P03', '40P01', '40001'].includes(state);
}

async function describeTable(connection: Connection): Promise<readonly QueryColumn[]> {
  const [answer] = await connection.send({
    limitMs: QUESTION_MS,
    text: `SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS type,
(SELECT format_type(t.typbasetype, t.typtypmod) FROM pg_type AS t WHERE t.oid = a.atttypid AND t.typtype = 'd') AS base,
EXISTS (SELECT 1 FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod AND m.amname = 'btree'
WHERE o.opcdefault AND o.opcintype = a.atttypid) AS direct
FROM pg_attribute AS a WHERE a.attrelid = '${TABLE}'::regclass AND a.attnum > 0 ORDER BY a.attnum`,
  });
  const columns: QueryColumn[] = [];
  for (const row of answer?.rows ?? []) {
    columns.push({
      name: row['attname'] ?? '',
      type: row['type'] ?? '',
      domainOf: row['base'] ?? null,
      indexable: row['direct'] === 't' || (await isOrderable(connection, row)),
    });
  }
  return columns;
}

/**
 * For a type without an operator class of its own (domain, array, enum, range, row, `varchar`) the server is asked to plan a sort,
 * which looks into what the type is made of.
 */
async function isOrderable(connection: Connection, row: Row): Promise<boolean> {
  const column = quoteIdentifier(row['attname'] ?? '');
  try {
    await connection.send({
      text: `SAVEPOINT sorting;\nEXPLAIN SELECT FROM ${TABLE} ORDER BY ${column}`,
      limitMs: QUESTION_MS,
    });
    return true;
  } catch (error) {
    if (!(error instanceof DatabaseError) || isPassing(error.code ?? '')) throw error;
    await connection.send({ text: 'ROLLBACK TO SAVEPOINT sorting', limitMs: QUESTION_MS });
    return false;
  }
}
