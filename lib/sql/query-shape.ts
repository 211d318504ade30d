import type { ParseResult, SelectStmt } from 'libpg-query';
import { SluiceError } from '../errors.ts';
import { foreignGrammar } from './foreign-grammar.ts';
import { type ParsedText, PgQueryError, parseText } from './pg-query.ts';
import { invalidQuery, type SourceText, sourceText, tokenIndexAt } from './source-text.ts';
import { depthOf, isObject, nodesUnder, startOf, type TreeObject } from './tree.ts';

export interface ParsedQuery {
  readonly source: SourceText;
  readonly select: SelectStmt;
}

/** Levels of a tree, of which a parenthesis, an operator or a subquery makes a few. Keeps every walk far from the stack's end. */
const MAX_DEPTH = 1200;
/** Finding the end of nested comments takes PostgreSQL's lexer quadratic time. */
const MAX_COMMENT_OPENINGS = 2000;

/**
 * Parses the query and refuses all that is not one SELECT which only reads. Throws `invalid_query` with reason and position.
 */
export async function parseQuery(query: string): Promise<ParsedQuery> {
  const bytes = new TextEncoder().encode(query);
  if (query.includes('\0')) {
    throw invalidQuery(
      { bytes },
      bytes.indexOf(0),
      'the query contains the character NUL, at which PostgreSQL would end it',
    );
  }
  if (!query.isWellFormed()) {
    throw new SluiceError('invalid_query', 'the query contains half of a surrogate pair, which is no character');
  }
  if (query.split('/*').length > MAX_COMMENT_OPENINGS) {
    throw new SluiceError('invalid_query', `the query opens more than ${MAX_COMMENT_OPENINGS} comments; remove some`);
  }
  const { tree, tokens } = await parseOrRefuse(query);
  const source = sourceText(query, tokens);
  const select = oneSelect(source, tree);
  refuseDepth(depthOf(select));
  refuseWrites(source, select);
  return { source, select };
}

async function parseOrRefuse(query: string): Promise<ParsedText> {
  try {
    return await parseText(query);
  } catch (error) {
    throw foreignGrammar(query) ?? asRefusal(error);
  }
}

function asRefusal(error: unknown): SluiceError {
  if (!(error instanceof PgQueryError)) return tooDeep(error);
  const details = error.cursor > 0 ? { position: error.cursor } : {};
  if (/^memory exhausted|stack depth limit/.test(error.message)) return tooDeep(error, details);
  return new SluiceError('invalid_query', `the query cannot be parsed: ${error.message}`, { cause: error, details });
}

function tooDeep(cause: unknown, details = {}): SluiceError {
  return new SluiceError('invalid_query', 'the query is nested too deeply; write it with fewer levels', {
    cause,
    details,
  });
}

function refuseDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw tooDeep(new Error(`${depth} levels`));
}

function oneSelect(source: SourceText, tree: ParseResult): SelectStmt {
  const [first, second] = tree.stmts ?? [];
  const statement = first?.stmt;
  if (first === undefined || statement === undefined) {
    throw invalidQuery(source, 0, 'the query is empty but for comments; give a SELECT');
  }
  const start = source.tokens[tokenIndexAt(source, first.stmt_location ?? 0)]?.start ?? 0;
  if (!('SelectStmt' in statement)) {
    throw invalidQuery(source, start, `a flow's query is a SELECT; this is ${statementName(statement)}`);
  }
  if (second !== undefined) {
    const from = source.tokens[tokenIndexAt(source, second.stmt_location ?? 0)]?.start;
    throw invalidQuery(source, from, "a flow's query is one statement; remove the second one");
  }
  const select = statement.SelectStmt;
  if (select.valuesLists !== undefined) throw invalidQuery(source, start, "a flow's query is a SELECT; this is VALUES");
  return select;
}

/** `InsertStmt` as `INSERT`. */
function statementName(statement: TreeObject | object): string {
  const kind = Object.keys(statement)[0] ?? '';
  return kind
    .replace(/Stmt$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toUpperCase();
}

function refuseWrites(source: SourceText, select: SelectStmt): void {
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    const location = typeof node['location'] === 'number' ? node['location'] : startOf(node);
    switch (kind) {
      case 'ParamRef':
        throw invalidQuery(
          source,
          location,
          `$${node['number'] ?? 0} is a parameter, and a flow's query has none; write the value`,
        );
      case 'SelectStmt':
        if (isObject(node['intoClause'])) {
          throw invalidQuery(
            source,
            startOf(node['intoClause']),
            'SELECT INTO creates a table; the sink is named after SINK TO',
          );
        }
        if (node['lockingClause'] !== undefined) {
          throw invalidQuery(source, lockPosition(source), "a flow's query only reads; remove FOR UPDATE or FOR SHARE");
        }
        break;
      case 'CommonTableExpr':
        if (isObject(node['ctequery']) && !('SelectStmt' in node['ctequery'])) {
          const what = statementName(node['ctequery']);
          throw invalidQuery(
            source,
            location,
            `a flow's query only reads; ${JSON.stringify(node['ctename'])} is ${what}`,
          );
        }
        break;
      case 'RangeTableSample':
        throw invalidQuery(source, location, 'TABLESAMPLE takes other rows at each run; remove it');
    }
  }
}

/** The tree does not say where a lock is asked for. `FOR` has other uses, but none before these words. */
function lockPosition(source: SourceText): number | undefined {
  const index = source.tokens.findIndex((token, at) => {
    const next = source.tokens[at + 1]?.text.toLowerCase() ?? '';
    return token.text.toLowerCase() === 'for' && ['update', 'no', 'share', 'key'].includes(next);
  });
  return source.tokens[index]?.start;
}
