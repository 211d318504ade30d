import { lexicalError } from './lexical-error.ts';
import { isLike, readLikePattern } from './like-pattern.ts';
import type { TokenReader } from './token-reader.ts';

/** Whether a flow of this name is to be shown. */
export type NameFilter = (name: string) => boolean;

const COLUMNS = ['flows', 'flow', 'name'];
const DEEPEST = 50;
const ALLOWED =
  "a condition on the name of the flow: Flows = 'a', Flows <> 'a', Flows [NOT] LIKE 'a%', Flows [NOT] IN ('a', 'b'), joined by AND, OR, NOT and parentheses";

/** `[LIKE 'pattern' | WHERE condition]` to the end of the statement. Throws `invalid_statement` with the position. */
export function readNameFilter(reader: TokenReader, after: string): NameFilter {
  let filter: NameFilter = () => true;
  if (reader.takeIf('like')) filter = readLike(reader);
  else if (reader.takeIf('where')) filter = readOr(reader, 0);
  reader.expectEnd(`${after} [LIKE 'pattern' | WHERE condition]; conditions are joined by AND and OR`);
  return filter;
}

function readOr(reader: TokenReader, depth: number): NameFilter {
  const either = [readAnd(reader, depth)];
  while (reader.takeIf('or')) either.push(readAnd(reader, depth));
  return (name) => either.some((each) => each(name));
}

function readAnd(reader: TokenReader, depth: number): NameFilter {
  const all = [readCondition(reader, depth)];
  while (reader.takeIf('and')) all.push(readCondition(reader, depth));
  return (name) => all.every((each) => each(name));
}

function readCondition(reader: TokenReader, depth: number): NameFilter {
  if (depth > DEEPEST) throw reader.unexpected(`at most ${DEEPEST} conditions inside of each other`);
  if (reader.takeIf('not')) return not(readCondition(reader, depth + 1));
  if (!reader.takeSymbol('(')) return readComparison(reader);
  const inner = readOr(reader, depth + 1);
  reader.expectSymbol(')', ') after the condition');
  return inner;
}

function readComparison(reader: TokenReader): NameFilter {
  const { kind, value } = reader.next;
  const isColumn = (kind === 'word' || kind === 'quoted_identifier') && COLUMNS.includes(value.toLowerCase());
  if (!isColumn) throw reader.unexpected(ALLOWED);
  reader.take();
  if (reader.takeSymbol('=')) return equals(readName(reader));
  if (takeUnequal(reader)) return not(equals(readName(reader)));
  const negated = reader.takeIf('not');
  const operator = reader.next;
  if (reader.takeIf('like')) return negated ? not(readLike(reader)) : readLike(reader);
  if (reader.takeIf('in')) return negated ? not(readIn(reader)) : readIn(reader);
  throw lexicalError(reader.text, operator.start, `this comparison is not read here; expected ${ALLOWED}`);
}

/** `<>` or `!=`. */
function takeUnequal(reader: TokenReader): boolean {
  const operator = reader.text.slice(reader.next.start, reader.next.start + 2);
  if (operator !== '<>' && operator !== '!=') return false;
  reader.take();
  reader.take();
  return true;
}

function readIn(reader: TokenReader): NameFilter {
  reader.expectSymbol('(', '( and names in quotes');
  const names = new Set<string>();
  do names.add(readName(reader));
  while (reader.takeSymbol(','));
  reader.expectSymbol(')', ', and another name, or )');
  return (name) => names.has(name);
}

function readLike(reader: TokenReader): NameFilter {
  const token = reader.string("a pattern in quotes, such as 'hourly%'");
  const pattern = readLikePattern(token.value, readEscape(reader));
  if (pattern === null) {
    throw lexicalError(
      reader.text,
      token.start,
      'the pattern ends in its escape character; write it twice to mean itself',
    );
  }
  return (name) => isLike(name, pattern);
}

function readEscape(reader: TokenReader): string {
  if (!reader.takeIf('escape')) return '\\';
  const token = reader.string('one character in quotes');
  if ([...token.value].length > 1) {
    throw lexicalError(reader.text, token.start, "expected one character in quotes after ESCAPE, or '' for none");
  }
  return token.value;
}

function readName(reader: TokenReader): string {
  return reader.string("the name of a flow in single quotes, such as 'hourly'").value;
}

function equals(wanted: string): NameFilter {
  return (name) => name === wanted;
}

function not(filter: NameFilter): NameFilter {
  return (name) => !filter(name);
}
