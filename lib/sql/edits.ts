import type { ColumnRef, FuncCall, RangeVar, SelectStmt } from 'libpg-query';
import type { QueryHole } from '../flow/definition.ts';
import type { FunctionFamily, Relation } from '../frontend/frontend.ts';
import type { NowCall } from './now-calls.ts';
import { orderByRange } from './order-by.ts';
import { parseText } from './pg-query.ts';
import { relationText } from './relation-text.ts';
import type { Replacement } from './rewrite.ts';
import type { ScanFilter } from './scan-filters.ts';
import { closingBracket, invalidQuery, type SourceText, tokenIndexAt, tokenIs } from './source-text.ts';
import type { Edit } from './splice.ts';
import { quoteIdentifier } from './sql-literal.ts';
import { builtinName, nameParts, nodesUnder } from './tree.ts';

/** A change of the text, and what it makes of the tree: the two are compared after all edits are made. */
export interface Change {
  readonly edit: Edit;
  /** null: the tree that is compared already lacks what the edit removes. */
  readonly tree: { readonly node: object; readonly becomes: Replacement } | null;
}

/** Every name of a table with its schema. */
export function qualify(source: SourceText, reference: RangeVar, relation: Relation): Change {
  const { name } = relationText(source, reference);
  const { schema, table } = relation;
  return {
    edit: { ...name, parts: [tableText(relation)] },
    tree: { node: reference, becomes: () => ({ RangeVar: { ...reference, schemaname: schema, relname: table } }) },
  };
}

/** Every function that the search path was needed to find, so that no later function of that name is called instead. */
export function qualifyFunctions(families: ReadonlyMap<FuncCall, FunctionFamily | null>): Change[] {
  const changes: Change[] = [];
  for (const [call, family] of families) {
    const schema = family?.schema ?? 'pg_catalog';
    if (schema === 'pg_catalog' || nameParts(call.funcname).length !== 1) continue;
    const at = call.location ?? 0;
    const funcname = [{ String: { sval: schema } }, ...(call.funcname ?? [])];
    changes.push({
      edit: { start: at, end: at, parts: [`${quoteIdentifier(schema)}.`] },
      tree: { node: call, becomes: (inside) => ({ FuncCall: { ...inParts(call, inside), funcname } }) },
    });
  }
  return changes;
}

/** The scan becomes a subquery that a filter fits into, under the name that the scan had. Throws `invalid_query`. */
export async function filterScan(source: SourceText, { scan, type }: ScanFilter): Promise<Change> {
  const { reference, relation, column } = scan;
  const { whole, tableCommand } = relationText(source, reference);
  if (tableCommand) {
    throw invalidQuery(
      source,
      reference.location,
      `write SELECT * FROM ${relation.table}; TABLE leaves no room for a filter`,
    );
  }
  const name = reference.alias?.aliasname ?? relation.table;
  const hole: QueryHole = {
    kind: 'filter',
    column: `${quoteIdentifier(relation.table)}.${quoteIdentifier(column.name)}`,
    type,
  };
  const open = `(SELECT * FROM ${reference.inh === true ? '' : 'ONLY '}${tableText(relation)} WHERE `;
  const close = reference.alias === undefined ? `) AS ${quoteIdentifier(name)}` : ')';
  const node = await fromItem(`${open}${probe(hole)}) AS ${quoteIdentifier(name)}`);
  const alias = reference.alias ?? { aliasname: name };
  return {
    edit: { ...whole, parts: [open, hole, close] },
    tree: { node: reference, becomes: () => ({ RangeSubselect: { ...node, alias } }) },
  };
}

/** `schema.table.column` becomes `table.column` where the table is now a subquery. Throws `invalid_query`. */
export function unqualifyColumns(
  source: SourceText,
  select: SelectStmt,
  relations: ReadonlyMap<RangeVar, Relation>,
  filtered: Iterable<RangeVar>,
): Change[] {
  const bare = new Set<string>();
  for (const reference of filtered) {
    const relation = relations.get(reference);
    if (reference.alias === undefined && relation !== undefined) bare.add(tableText(relation));
  }
  const changes: Change[] = [];
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind !== 'ColumnRef') continue;
    const reference: ColumnRef = node;
    const [schema = '', table = '', column] = nameParts(reference.fields);
    const name = tableText({ schema, table });
    if (column === undefined || !bare.has(name)) continue;
    const readings = [...relations].filter(
      ([each, relation]) => each.alias === undefined && tableText(relation) === name,
    );
    if (readings.length > 1) {
      throw invalidQuery(
        source,
        reference.location,
        `${schema}.${table} is read more than once; give each reading an alias`,
      );
    }
    const first = tokenIndexAt(source, reference.location ?? 0);
    let dot = first;
    while (!tokenIs(source, dot, '.')) dot++;
    changes.push({
      edit: { start: source.tokens[first]?.start ?? 0, end: source.tokens[dot]?.end ?? 0, parts: [] },
      tree: { node, becomes: () => ({ ColumnRef: { ...reference, fields: reference.fields?.slice(1) } }) },
    });
  }
  return changes;
}

/** `date_bin` of two arguments gets the epoch for its origin; a bare text takes the type of the time beside it. */
export async function completeDateBins(source: SourceText, select: SelectStmt): Promise<Change[]> {
  const epoch = await expression("'epoch'");
  const changes: Change[] = [];
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    if (kind !== 'FuncCall') continue;
    const call: FuncCall = node;
    if (builtinName(call) !== 'date_bin' || call.args?.length !== 2 || call.func_variadic === true) continue;
    let open = tokenIndexAt(source, call.location ?? 0);
    while (!tokenIs(source, open, '(')) open++;
    const at = source.tokens[closingBracket(source, open)]?.start ?? 0;
    changes.push({
      edit: { start: at, end: at, parts: [", 'epoch'"] },
      tree: {
        node,
        becomes: (inside) => ({ FuncCall: { ...call, args: [...(inside(call.args) as unknown[]), epoch] } }),
      },
    });
  }
  return changes;
}

export async function bindNow({ node, type, start, end }: NowCall): Promise<Change> {
  const hole: QueryHole = { kind: 'now' };
  const [before, after] = ['CAST(', ` AS ${type})`];
  const bound = await expression(`${before}${probe(hole)}${after}`);
  return { edit: { start, end, parts: [before, hole, after] }, tree: { node, becomes: () => bound } };
}

export function dropOrderBy(source: SourceText, select: SelectStmt): Change {
  return { edit: { ...orderByRange(source, select), parts: [] }, tree: null };
}

/** What is put into a hole to have the query read by a server: any time will do. */
export function probe(hole: QueryHole): string {
  const time = "'2000-01-01 00:00:00+00'::pg_catalog.timestamptz";
  return hole.kind === 'now' ? time : `${hole.column} >= ${time}`;
}

function inParts(node: object, inside: (part: unknown) => unknown): object {
  return Object.fromEntries(Object.entries(node).map(([field, part]) => [field, inside(part)]));
}

function tableText({ schema, table }: { readonly schema: string; readonly table: string }): string {
  return `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

async function fromItem(text: string): Promise<object> {
  const { tree } = await parseText(`SELECT FROM ${text}`);
  for (const { kind, node } of nodesUnder(tree.stmts)) if (kind === 'RangeSubselect') return node;
  return {};
}

async function expression(text: string): Promise<object> {
  const { tree } = await parseText(`SELECT ${text}`);
  for (const { kind, node } of nodesUnder(tree.stmts)) if (kind === 'ResTarget') return node['val'] as object;
  return {};
}
