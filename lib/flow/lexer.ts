import { lexicalError } from './lexical-error.ts';
import { readDollarQuoted, readEscapeString, readPlainString, readQuotedIdentifier } from './quoted-token.ts';

/**
 * One token of a statement. `value`: a word folded to lower case, the content of quotes, the digits of a number, the symbol
 * itself. `start` and `end` are UTF-16 indexes.
 */
export interface Token {
  readonly kind: 'word' | 'quoted_identifier' | 'string' | 'number' | 'symbol' | 'end';
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** Reads the token at or after `from` by PostgreSQL's lexical rules. Throws `invalid_statement` with the position. */
export function readToken(text: string, from: number): Token {
  const start = skipBlanks(text, from);
  const rest = text.slice(start, start + 3);
  const first = rest[0];
  if (first === undefined) return { kind: 'end', value: '', start, end: start };
  if (/^[uU]&["']/.test(rest)) {
    throw lexicalError(text, start, `${rest} is not read here; write the characters themselves, in plain quotes`);
  }
  if (first === '"') return { kind: 'quoted_identifier', ...readQuotedIdentifier(text, start) };
  if (first === "'") return { kind: 'string', ...readPlainString(text, start) };
  if (/^[eE]'/.test(rest)) return { kind: 'string', ...readEscapeString(text, start) };
  if (/^[bBxXnN]'/.test(rest))
    throw lexicalError(text, start, `${rest.slice(0, 2)}…' is not read here; use plain quotes`);
  if (first === '$') {
    const quoted = readDollarQuoted(text, start);
    if (quoted !== null) return { kind: 'string', ...quoted };
  }
  return readWord(text, start) ?? readNumber(text, start) ?? readSymbol(text, start);
}

/** PostgreSQL folds ASCII letters only, in a database of encoding UTF-8. */
function foldName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const BLANKS = /[ \t\n\r\f\v]*/y;
const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const NUMBER = /(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;

function skipBlanks(text: string, from: number): number {
  for (let at = from; ; ) {
    const blanksEnd = at + matchAt(BLANKS, text, at).length;
    if (text.startsWith('--', blanksEnd)) at = lineEnd(text, blanksEnd);
    else if (text.startsWith('/*', blanksEnd)) at = commentEnd(text, blanksEnd);
    else return blanksEnd;
  }
}

function lineEnd(text: string, from: number): number {
  const length = text.slice(from).search(/[\n\r]/);
  return length === -1 ? text.length : from + length;
}

/** Comments nest. */
function commentEnd(text: string, start: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  let depth = 0;
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  throw lexicalError(text, start, 'this comment has no end; close it with */');
}

function readWord(text: string, start: number): Token | null {
  const word = matchAt(WORD, text, start);
  return word === '' ? null : { kind: 'word', value: foldName(word), start, end: start + word.length };
}

function readNumber(text: string, start: number): Token | null {
  const number = matchAt(NUMBER, text, start);
  return number === '' ? null : { kind: 'number', value: number, start, end: start + number.length };
}

function readSymbol(text: string, start: number): Token {
  const value = String.fromCodePoint(text.codePointAt(start) ?? 0);
  return { kind: 'symbol', value, start, end: start + value.length };
}

function matchAt(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? '';
}
