import type { SelectStmt } from 'libpg-query';
import { columnName } from './column-name.ts';
import { type Change, probe } from './edits.ts';
import { parseText } from './pg-query.ts';
import { type Replacement, rewrite } from './rewrite.ts';
import { invalidQuery } from './source-text.ts';
import { renderTemplate, type Template } from './splice.ts';
import { nodesUnder, type TreeObject, withoutPositions } from './tree.ts';

/** The new text must mean what was intended, to the letter of the parse tree. Throws `invalid_query`. */
export async function verifyTemplate(
  template: Template,
  select: SelectStmt,
  changes: readonly Change[],
): Promise<void> {
  const replacements = new Map<object, Replacement>();
  for (const { tree } of changes) if (tree !== null) replacements.set(tree.node, tree.becomes);
  const intended = rewrite({ SelectStmt: select }, replacements);
  const [statement] = (await parseText(renderTemplate(template, probe))).tree.stmts ?? [];
  const parsed: unknown = statement?.stmt;
  if (JSON.stringify(withoutPositions(intended)) !== JSON.stringify(withoutPositions(parsed))) {
    throw invalidQuery(
      template.source,
      undefined,
      'the query could not be rewritten without changing its meaning; write it with plain table names and aliases',
    );
  }
  checkNames(template, select, intended);
}

/** A column that has no AS takes its name from its expression; binding `now()` must not give it another. */
function checkNames(template: Template, before: SelectStmt, after: unknown): void {
  const renamed = columnNames(after);
  for (const [index, { name, location }] of columnNames({ SelectStmt: before }).entries()) {
    if (renamed[index]?.name === name) continue;
    throw invalidQuery(
      template.source,
      location,
      `this column would be named after the time of the run; add AS ${name ?? 'name'}`,
    );
  }
}

interface NamedTarget {
  readonly name: string | null;
  readonly location: number;
}

/** Of every select list, but for those of filtered scans, which hold a star alone. */
function columnNames(root: unknown): NamedTarget[] {
  const names: NamedTarget[] = [];
  /** Branches of set operations whose columns are named by the first one. */
  const unnamed = new Set<unknown>();
  for (const { kind, node } of nodesUnder(root)) {
    if (kind === 'SelectStmt') {
      unnamed.add(node['rarg']);
      if (unnamed.has(node)) {
        unnamed.add(node['larg']);
        for (const target of selectList(node)) unnamed.add(target);
      }
    }
    if (kind !== 'ResTarget' || node['val'] === undefined || unnamed.has(node)) continue;
    const value = node['val'] as Parameters<typeof columnName>[0];
    if (value !== undefined && 'ColumnRef' in value) continue;
    const name = typeof node['name'] === 'string' ? node['name'] : columnName(value);
    names.push({ name, location: typeof node['location'] === 'number' ? node['location'] : -1 });
  }
  return names;
}

function selectList(select: TreeObject): unknown[] {
  const list = select['targetList'];
  return Array.isArray(list) ? list.map((item: TreeObject) => item['ResTarget']) : [];
}
