import type { CommonTableExpr, RangeVar, SelectStmt } from 'libpg-query';
import { isObject, nameParts } from './tree.ts';

/** A query of a WITH clause. */
export interface Cte {
  readonly name: string;
  readonly select: SelectStmt;
  /** Names given to its columns; may be fewer than it has. */
  readonly columnNames: readonly string[];
  readonly location: number;
  /** It reads itself. */
  recursive: boolean;
}

/** What each name in a FROM clause stands for. */
export interface References {
  /** Names of relations, in order of appearance. */
  readonly relations: readonly RangeVar[];
  /** Names of WITH queries. */
  readonly ctes: ReadonlyMap<RangeVar, Cte>;
}

/** WITH queries in sight, the nearest first. */
type Sight = readonly Cte[];

/** Tells names of WITH queries from names of relations, by PostgreSQL's rules of scope. */
export function collectReferences(select: SelectStmt): References {
  const relations: RangeVar[] = [];
  const ctes = new Map<RangeVar, Cte>();
  /** WITH queries whose text is being visited. */
  const inside: Cte[] = [];

  function visit(value: unknown, sight: Sight): void {
    if (Array.isArray(value)) {
      for (const each of value) visit(each, sight);
    } else if (isObject(value)) {
      for (const [key, child] of Object.entries(value)) {
        if (key === 'SelectStmt') visitSelect(child as SelectStmt, sight);
        else if (key === 'RangeVar') visitReference(child as RangeVar, sight);
        else visit(child, sight);
      }
    }
  }

  function visitSelect(node: SelectStmt, outer: Sight): void {
    const { withClause, larg, rarg, ...rest } = node;
    let sight = outer;
    if (withClause !== undefined) {
      const own = (withClause.ctes ?? []).flatMap((each) =>
        'CommonTableExpr' in each ? cteOf(each.CommonTableExpr) : [],
      );
      // WITH RECURSIVE lets its queries see themselves and those after them.
      if (withClause.recursive === true) sight = [...own, ...outer];
      for (const cte of own) {
        inside.push(cte);
        visitSelect(cte.select, sight);
        inside.pop();
        if (withClause.recursive !== true) sight = [cte, ...sight];
      }
    }
    if (larg !== undefined) visitSelect(larg, sight);
    if (rarg !== undefined) visitSelect(rarg, sight);
    visit(rest, sight);
  }

  function visitReference(node: RangeVar, sight: Sight): void {
    const cte = node.schemaname === undefined ? sight.find(({ name }) => name === node.relname) : undefined;
    if (cte === undefined) {
      relations.push(node);
      return;
    }
    ctes.set(node, cte);
    if (inside.includes(cte)) cte.recursive = true;
  }

  visitSelect(select, []);
  relations.sort((a, b) => (a.location ?? 0) - (b.location ?? 0));
  return { relations, ctes };
}

function cteOf(node: CommonTableExpr): Cte[] {
  const query = node.ctequery;
  if (query === undefined || !('SelectStmt' in query)) return [];
  return [
    {
      name: node.ctename ?? '',
      select: query.SelectStmt,
      columnNames: nameParts(node.aliascolnames),
      location: node.location ?? 0,
      recursive: false,
    },
  ];
}
