import { readInterval } from './clause.ts';
import { type FlowInput, parseEvalInterval, trimQuery } from './flow-input.ts';
import { readFlowName } from './flow-name.ts';
import { parseInterval } from './interval.ts';
import { lexicalError } from './lexical-error.ts';
import { checkComment, checkQueryText } from './names.ts';
import { readOptionValues } from './option-list.ts';
import { DEFAULT_OPTIONS } from './options.ts';
import { readTableName } from './table-name.ts';
import { positionOf } from './text-position.ts';
import type { TokenReader } from './token-reader.ts';

export interface CreateFlowStatement {
  readonly kind: 'create_flow';
  readonly input: FlowInput;
  readonly mode: 'create' | 'or_replace' | 'if_not_exists';
  /** Characters of the statement that come before the query; see `shiftPosition`. */
  readonly queryOffset: number;
}

const CLAUSES = [
  { name: 'EXPIRE AFTER', words: ['expire', 'after'] },
  { name: 'EVAL INTERVAL', words: ['eval', 'interval'] },
  { name: 'COMMENT', words: ['comment'] },
  { name: 'WITH', words: ['with'] },
  { name: 'AS', words: ['as'] },
] as const;

type ClauseName = (typeof CLAUSES)[number]['name'];

const ORDER = `SINK TO, ${CLAUSES.map(({ name }) => name).join(', ')}`;

/** The statement from after `CREATE` on. Throws `invalid_statement`, `invalid_option`, `invalid_query` with the position. */
export function readCreateFlow(reader: TokenReader): CreateFlowStatement {
  const orReplace = reader.takeIf('or', 'replace');
  reader.expect('FLOW after CREATE (Sluice creates nothing else)', 'flow');
  const ifToken = reader.next;
  const ifNotExists = reader.takeIf('if', 'not', 'exists');
  if (orReplace && ifNotExists) {
    throw lexicalError(reader.text, ifToken.start, 'OR REPLACE and IF NOT EXISTS exclude each other; leave one out');
  }
  const name = readFlowName(reader);
  reader.expect('SINK TO and the name of a table', 'sink', 'to');
  const sink = readTableName(reader, 'the name of the sink table');
  const clauses = readClauses(reader);
  return {
    kind: 'create_flow',
    mode: orReplace ? 'or_replace' : ifNotExists ? 'if_not_exists' : 'create',
    input: { name, sink, ...clauses, ...readQuery(reader) },
    queryOffset: positionOf(reader.text, queryStart(reader)) - 1,
  };
}

function readClauses(reader: TokenReader): Omit<FlowInput, 'name' | 'sink' | 'query'> {
  const read: { -readonly [K in 'expireAfter' | 'evalInterval' | 'comment' | 'options']: FlowInput[K] } = {
    expireAfter: null,
    evalInterval: null,
    comment: null,
    options: DEFAULT_OPTIONS,
  };
  const seen: ClauseName[] = [];
  for (;;) {
    const clause = nextClause(reader, seen);
    seen.push(clause);
    switch (clause) {
      case 'EXPIRE AFTER':
        read.expireAfter = readInterval(reader, clause, parseInterval);
        break;
      case 'EVAL INTERVAL':
        read.evalInterval = readInterval(reader, clause, parseEvalInterval);
        break;
      case 'COMMENT': {
        const token = reader.string("the comment in quotes, such as COMMENT 'departures per hour'");
        read.comment = reader.checked(token, () => checkComment(token.value));
        break;
      }
      case 'WITH':
        read.options = { ...DEFAULT_OPTIONS, ...readOptionValues(reader, 'WITH (max_windows = 10)') };
        break;
      case 'AS':
        return read;
      default:
        clause satisfies never;
    }
  }
}

/** Takes the words of the clause that comes next, unless it stands in the wrong place. After `AS`, nothing is read ahead. */
function nextClause(reader: TokenReader, seen: readonly ClauseName[]): ClauseName {
  const clause = CLAUSES.find(({ words }) => reader.sees(...words));
  if (clause === undefined) {
    const sinkAgain = reader.sees('sink', 'to') ? ': SINK TO is given twice' : '';
    throw reader.unexpected(`one of ${CLAUSES.map(({ name }) => name).join(', ')}${sinkAgain}`);
  }
  if (seen.includes(clause.name)) throw lexicalError(reader.text, reader.next.start, `${clause.name} is given twice`);
  const later = seen.find((name) => CLAUSES.findIndex((each) => each.name === name) > CLAUSES.indexOf(clause));
  if (later !== undefined) {
    const message = `${clause.name} is misplaced: it belongs before ${later}. The order is ${ORDER}`;
    throw lexicalError(reader.text, reader.next.start, message);
  }
  if (clause.name !== 'AS') for (const _ of clause.words) reader.take();
  return clause.name;
}

/** `AS` is the token that comes next; what follows it is the query, whatever it is. */
function queryStart(reader: TokenReader): number {
  const blank = /\s*/y;
  blank.lastIndex = reader.next.end;
  return reader.next.end + (blank.exec(reader.text)?.[0].length ?? 0);
}

function readQuery(reader: TokenReader): { readonly query: string } {
  const text = reader.text.slice(reader.next.end);
  return { query: reader.checked(reader.next, () => checkQueryText(trimQuery(text))) };
}
