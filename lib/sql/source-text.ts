import type { ScanToken } from 'libpg-query';
import { type ErrorDetails, SluiceError } from '../errors.ts';

/**
 * The user's query with its tokens. All offsets are UTF-8 bytes, as in PostgreSQL's parse trees; only errors speak of
 * characters.
 */
export interface SourceText {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Without comments, ascending. */
  readonly tokens: readonly ScanToken[];
}

export function sourceText(text: string, tokens: readonly ScanToken[]): SourceText {
  return {
    text,
    bytes: new TextEncoder().encode(text),
    tokens: tokens.filter(({ tokenName }) => tokenName !== 'SQL_COMMENT' && tokenName !== 'C_COMMENT'),
  };
}

export function sliceBytes(bytes: Uint8Array, start: number, end?: number): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, end));
}

/** 1-based position in characters of a byte offset. */
export function positionOfByte(bytes: Uint8Array, offset: number): number {
  let position = 1;
  for (let at = 0; at < offset && at < bytes.length; at++) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) position++;
  }
  return position;
}

/** Index of the first token at or after a byte offset. */
export function tokenIndexAt(source: SourceText, offset: number): number {
  let low = 0;
  let high = source.tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((source.tokens[middle]?.start ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether the token is this keyword or symbol (a quoted identifier of the same letters is not). */
export function tokenIs(source: SourceText, index: number, text: string): boolean {
  return source.tokens[index]?.text.toLowerCase() === text;
}

/** Index of the bracket that closes the one at `index`. */
export function closingBracket(source: SourceText, index: number): number {
  let depth = 0;
  for (let at = index; at < source.tokens.length; at++) {
    if (tokenIs(source, at, '(') || tokenIs(source, at, '[')) depth++;
    else if (tokenIs(source, at, ')') || tokenIs(source, at, ']')) depth--;
    if (depth === 0) return at;
  }
  throw new SluiceError('internal', 'a bracket of a parsed query has no counterpart');
}

/** Index past a name of one or more parts: identifiers with dots between, each perhaps with its own UESCAPE. */
export function pastName(source: SourceText, index: number): number {
  for (let at = index + 1; ; at += 2) {
    if (tokenIs(source, at, 'uescape')) at += 2;
    if (!tokenIs(source, at, '.')) return at;
  }
}

/** `invalid_query` at a byte offset; a negative offset stands for no position. */
export function invalidQuery(
  source: Pick<SourceText, 'bytes'>,
  offset: number | undefined,
  message: string,
  details: ErrorDetails = {},
): SluiceError {
  const position = offset === undefined || offset < 0 ? {} : { position: positionOfByte(source.bytes, offset) };
  return new SluiceError('invalid_query', message, { details: { ...details, ...position } });
}
