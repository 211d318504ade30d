import { SluiceError } from '../errors.ts';
import { readToken, type Token } from './lexer.ts';
import { lexicalError } from './lexical-error.ts';
import { positionOf } from './text-position.ts';

/** Walks through the tokens of a statement, one ahead. Every refusal carries the position of the token it is about. */
export class TokenReader {
  readonly text: string;
  /** The token that comes next. */
  next: Token;

  constructor(text: string) {
    this.text = text;
    this.next = readToken(text, 0);
  }

  /** Takes the next token. */
  take(): Token {
    const token = this.next;
    this.next = readToken(this.text, token.end);
    return token;
  }

  /** Whether the next tokens are these words. */
  sees(...words: readonly string[]): boolean {
    let token: Token | null = null;
    for (const word of words) {
      // Nothing after the last word is read: what follows AS is not for this lexer to judge.
      token = token === null ? this.next : readToken(this.text, token.end);
      if (token.kind !== 'word' || token.value !== word) return false;
    }
    return true;
  }

  /** Takes these words if they are next. */
  takeIf(...words: readonly string[]): boolean {
    if (!this.sees(...words)) return false;
    for (const _ of words) this.take();
    return true;
  }

  takeSymbol(symbol: string): boolean {
    if (this.next.kind !== 'symbol' || this.next.value !== symbol) return false;
    this.take();
    return true;
  }

  expect(expected: string, ...words: readonly string[]): void {
    if (!this.takeIf(...words)) throw this.unexpected(expected);
  }

  expectSymbol(symbol: string, expected: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(expected);
  }

  name(expected: string): Token {
    if (this.next.kind !== 'word' && this.next.kind !== 'quoted_identifier') throw this.unexpected(expected);
    return this.take();
  }

  string(expected: string): Token {
    if (this.next.kind !== 'string') throw this.unexpected(expected);
    return this.take();
  }

  /** The end of the statement, after at most one semicolon. */
  expectEnd(after: string): void {
    this.takeSymbol(';');
    if (this.next.kind !== 'end') throw this.unexpected(`nothing more after ${after}`);
  }

  unexpected(expected: string): SluiceError {
    const { kind, start, end } = this.next;
    const found =
      kind === 'end' ? 'the end of the statement' : JSON.stringify(this.text.slice(start, end).slice(0, 48));
    return lexicalError(this.text, start, `expected ${expected}, found ${found}`);
  }

  /** Runs a check of what `token` says and gives its refusal the token's position. */
  checked<T>(token: Token, check: () => T): T {
    try {
      return check();
    } catch (error) {
      throw atPosition(error, positionOf(this.text, token.start));
    }
  }
}

function atPosition(error: unknown, position: number): unknown {
  if (!(error instanceof SluiceError)) return error;
  const code = error.code === 'invalid_request' ? 'invalid_statement' : error.code;
  return new SluiceError(code, error.message, { cause: error, details: { position } });
}
