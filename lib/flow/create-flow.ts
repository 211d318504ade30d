import type { FlowOptions } from './definition.ts';
import { type FlowInput, parseEvalInterval, trimQuery } from './flow-input.ts';
import { parseInterval } from './interval.ts';
import { lexicalError } from './lexical-error.ts';
import { checkComment, checkName, checkQueryText } from './names.ts';
import { checkOptionName, DEFAULT_OPTIONS, type OptionValue, readOption } from './options.ts';
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

export function readFlowName(reader: TokenReader): string {
  const token = reader.name('the name of a flow');
  const name = reader.checked(token, () => checkName('name of the flow', token.value));
  if (reader.next.kind === 'symbol' && reader.next.value === '.') {
    throw reader.unexpected('a flow name of one part (flows have no schema; quote a name that contains a dot)');
  }
  return name;
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
        read.options = readOptions(reader);
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

function readInterval(reader: TokenReader, clause: string, parse: (text: string) => bigint): bigint {
  reader.takeIf('interval');
  const token = reader.string(`a length of time in quotes, such as ${clause} '1 hour'`);
  return reader.checked(token, () => parse(token.value));
}

function readOptions(reader: TokenReader): FlowOptions {
  reader.expectSymbol('(', '( and options, such as WITH (max_windows = 10)');
  const options: FlowOptions = { ...DEFAULT_OPTIONS };
  const seen = new Set<string>();
  do {
    const name = reader.name('the name of an option');
    reader.checked(name, () => checkOptionName(name.value));
    if (seen.has(name.value)) throw lexicalError(reader.text, name.start, `option ${name.value} is given twice`);
    seen.add(name.value);
    reader.expectSymbol('=', `= and a value for option ${name.value}`);
    const value = reader.next;
    Object.assign(
      options,
      reader.checked(value, () => readOption(name.value, readValue(reader, name.value))),
    );
  } while (reader.takeSymbol(','));
  reader.expectSymbol(')', ', and another option, or )');
  return options;
}

/** A word without quotes counts as a string, as in `order = oldest`. */
function readValue(reader: TokenReader, option: string): OptionValue {
  if (reader.takeSymbol('(')) return readList(reader, option);
  const negative = reader.takeSymbol('-');
  if (!negative && reader.next.kind !== 'number' && reader.next.kind !== 'symbol') return readText(reader, option);
  if (reader.next.kind !== 'number') throw reader.unexpected(`a value for option ${option}`);
  const number = Number(reader.take().value.replaceAll('_', ''));
  return negative ? -number : number;
}

function readList(reader: TokenReader, option: string): string[] {
  const values: string[] = [];
  do values.push(readText(reader, option));
  while (reader.takeSymbol(','));
  reader.expectSymbol(')', ', and another name, or )');
  return values;
}

function readText(reader: TokenReader, option: string): string {
  return reader.next.kind === 'string' ? reader.take().value : reader.name(`a value for option ${option}`).value;
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
