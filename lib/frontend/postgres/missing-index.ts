import { SluiceError } from '../../errors.ts';
import type { FlowDefinition } from '../../flow/definition.ts';
import { type Instant, instant, plus, SECOND } from '../../window/instant.ts';
import type { MissingIndex } from '../frontend.ts';
import { ask, QUESTION_MS, questionSettings } from './ask.ts';
import { nameLiteral } from './catalog.ts';
import type { Connections } from './connections.ts';
import { queryText } from './query-text.ts';
import { quoteIdentifier } from './sql-text.ts';

/** A node of the server's plan, as far as it is looked at. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly Plans?: readonly PlanNode[];
  /** Of a scan; `Schema` where the plan is verbose. */
  readonly 'Relation Name'?: string;
  readonly Schema?: string;
  readonly Alias?: string;
  readonly Filter?: string;
  readonly 'Index Cond'?: string;
  readonly 'Recheck Cond'?: string;
}

interface Unserved {
  readonly schema: string;
  readonly table: string;
  /** As the server quotes it. */
  readonly column: string;
}

/**
 * The server plans the query over one second of its own present, with sequential scans discouraged: whatever index can find the rows of
 * a window is used then, however small the table is today, and partitions that cannot hold them are left out. A scan that has the
 * bounds as a filter only reads everything. The bounds are told from other times by their microseconds, so that tables under a view are
 * found too. Nothing is found out, and nothing missed, where that takes too long.
 */
export async function missingIndex(
  connections: Connections,
  { compiled, options }: Pick<FlowDefinition, 'compiled' | 'options'>,
): Promise<readonly MissingIndex[]> {
  if (compiled.window === null) return [];
  const settings = questionSettings(QUESTION_MS, options.timeZone);
  try {
    const [clock] = await ask(
      connections,
      settings,
      'SELECT trunc(extract(epoch FROM now())) AS now',
      'asking for the time',
    );
    const start = plus(instant(BigInt(clock?.['now'] ?? '0') * SECOND), FRACTION);
    const query = queryText(compiled, { ranges: [{ start, end: plus(start, SECOND) }], gridTime: null });
    const explain = `SET LOCAL enable_seqscan = off;\nEXPLAIN (VERBOSE, FORMAT JSON)\n${query}`;
    const [row] = await ask(connections, settings, explain, 'planning the query');
    const [plan] = JSON.parse(row?.['QUERY PLAN'] ?? '[]') as readonly { readonly Plan: PlanNode }[];
    const unserved = plan === undefined ? [] : unservedScans(plan.Plan, start);
    return unserved.length === 0 ? [] : await statements(connections, unserved);
  } catch (error) {
    if (error instanceof SluiceError && (error.code === 'statement_timeout' || error.code === 'lock_timeout'))
      return [];
    throw error;
  }
}

const FRACTION = 135_791n;

/** In every zone the bound is shown with these microseconds. */
function isBound(condition: string | undefined, start: Instant): boolean {
  return condition?.includes(`.${start % SECOND}`) === true;
}

function unservedScans(node: PlanNode, start: Instant): Unserved[] {
  const below = (node.Plans ?? []).flatMap((child) => unservedScans(child, start));
  const { Schema: schema, 'Relation Name': table, Alias: alias, Filter: filter } = node;
  const served = isBound(node['Index Cond'], start) || isBound(node['Recheck Cond'], start);
  if (schema === undefined || table === undefined || alias === undefined || served || !isBound(filter, start)) {
    return below;
  }
  const column = comparedColumn(filter ?? '', alias);
  return column === null ? below : [...below, { schema, table, column }];
}

/** The column that is compared with the bound, if it stands there by itself. */
function comparedColumn(filter: string, alias: string): string | null {
  for (const [, owner = '', column = ''] of filter.matchAll(COMPARED)) {
    if (owner === alias || owner === quoteIdentifier(alias)) return column;
  }
  return null;
}

/** `owner.column >= '… .135791…'`, each name quoted or not. */
const COMPARED = new RegExp(`\\((\\w+|"(?:[^"]|"")+")\\.([\\w]+|"(?:[^"]|"")+") >= '[^']*\\.${FRACTION}`, 'gu');

/** Of a partition, for the table that it is a part of, which passes an index on to all parts. */
async function statements(connections: Connections, unserved: readonly Unserved[]): Promise<MissingIndex[]> {
  const tables = unserved.map(
    ({ schema, table }, index) => `(${index}, ${nameLiteral(schema)}, ${nameLiteral(table)})`,
  );
  const rows = await ask(
    connections,
    questionSettings(QUESTION_MS),
    `SELECT w.index, format('%I.%I', rn.nspname, r.relname) AS root
FROM (VALUES ${tables.join(', ')}) AS w (index, schema, name)
JOIN pg_namespace AS n ON n.nspname = w.schema JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = w.name
JOIN pg_class AS r ON r.oid = coalesce(pg_partition_root(c.oid), c.oid) JOIN pg_namespace AS rn ON rn.oid = r.relnamespace
ORDER BY w.index`,
    'looking up the tables of the plan',
  );
  const found = new Map<string, MissingIndex>();
  for (const row of rows) {
    const column = unserved[Number(row['index'])]?.column;
    const table = row['root'];
    if (column === undefined || table == null) continue;
    const statement = `CREATE INDEX ON ${table} (${column})`;
    found.set(statement, { table, column, statement });
  }
  return [...found.values()];
}
