import type { Node } from 'libpg-query';
import { isObject, nameParts, STAR, type TreeObject } from './tree.ts';

/** PostgreSQL's name for a column that has none. */
export const UNNAMED = '?column?';

/**
 * The name that PostgreSQL gives an output column without AS (`FigureColname` of its parser). null: not worked out here
 * (XML and JSON constructors).
 */
export function columnName(expression: Node | undefined): string | null {
  const { name } = figure(expression);
  return name;
}

/** `weak`: a name that a cast around it replaces by the type's. */
interface Figured {
  readonly name: string | null;
  readonly weak: boolean;
}

const NOTHING: Figured = { name: UNNAMED, weak: true };

function strong(name: string | null): Figured {
  return { name, weak: false };
}

function figure(expression: unknown): Figured {
  if (!isObject(expression)) return NOTHING;
  const [kind] = Object.keys(expression);
  const node = kind === undefined ? undefined : expression[kind];
  if (kind === undefined || !isObject(node)) return NOTHING;
  switch (kind) {
    case 'ColumnRef':
      return lastName(node['fields']) ?? NOTHING;
    case 'A_Indirection':
      return lastName(node['indirection']) ?? figure(node['arg']);
    case 'FuncCall':
      return strong(nameParts(node['funcname'] as Node[]).at(-1) ?? null);
    case 'A_Expr':
      return node['kind'] === 'AEXPR_NULLIF' ? strong('nullif') : NOTHING;
    case 'TypeCast':
      return figureCast(node);
    case 'CollateClause':
      return figure(node['arg']);
    case 'GroupingFunc':
      return strong('grouping');
    case 'SubLink':
      return figureSubLink(node);
    case 'CaseExpr': {
      const otherwise = figure(node['defresult']);
      return otherwise.weak ? { name: 'case', weak: true } : otherwise;
    }
    case 'A_ArrayExpr':
      return strong('array');
    case 'RowExpr':
      return strong('row');
    case 'CoalesceExpr':
      return strong('coalesce');
    case 'MinMaxExpr':
      return strong(node['op'] === 'IS_LEAST' ? 'least' : 'greatest');
    case 'SQLValueFunction':
      return strong(
        String(node['op'])
          .replace(/^SVFOP_/, '')
          .replace(/_N$/, '')
          .toLowerCase(),
      );
    default:
      return /^Xml|^Json/.test(kind) ? strong(null) : NOTHING;
  }
}

function figureCast(node: TreeObject): Figured {
  const inner = figure(node['arg']);
  if (!inner.weak) return inner;
  const typeName = node['typeName'];
  const name = isObject(typeName) ? nameParts(typeName['names'] as Node[]).at(-1) : undefined;
  return name === undefined ? inner : { name, weak: true };
}

function figureSubLink(node: TreeObject): Figured {
  switch (node['subLinkType']) {
    case 'EXISTS_SUBLINK':
      return strong('exists');
    case 'ARRAY_SUBLINK':
      return strong('array');
    case 'EXPR_SUBLINK': {
      let query: unknown = isObject(node['subselect']) ? node['subselect']['SelectStmt'] : undefined;
      while (isObject(query) && isObject(query['larg'])) query = query['larg'];
      const targets = isObject(query) ? query['targetList'] : undefined;
      const target: unknown = Array.isArray(targets) ? targets[0] : undefined;
      const result = isObject(target) ? target['ResTarget'] : undefined;
      if (!isObject(result)) return NOTHING;
      return typeof result['name'] === 'string' ? strong(result['name']) : figure(result['val']);
    }
    default:
      return NOTHING;
  }
}

/** The last part that is a name: subscripts and stars are passed over, as PostgreSQL does. */
function lastName(parts: unknown): Figured | null {
  const names = nameParts(parts as Node[]).filter((part) => part !== '' && part !== STAR);
  const last = names.at(-1);
  return last === undefined ? null : strong(last);
}
