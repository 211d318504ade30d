import { describe, expect, it } from 'vitest';
import { readToken, type Token } from '../../../lib/flow/lexer.ts';

function tokens(text: string): Token[] {
  const found: Token[] = [];
  for (let token = readToken(text, 0); token.kind !== 'end'; token = readToken(text, token.end)) found.push(token);
  return found;
}

const values = (text: string) => tokens(text).map(({ kind, value }) => `${kind} ${value}`);

describe('tokens', () => {
  it.each([
    ['Flow fLÖw _a1$b', ['word flow', 'word flÖw', 'word _a1$b']],
    ['"Flow" "a""b" "ä ö"', ['quoted_identifier Flow', 'quoted_identifier a"b', 'quoted_identifier ä ö']],
    ["'it''s' 'a\\n'", ["string it's", 'string a\\n']],
    ["E'a\\n\\'\\x41\\101\\u00e9\\U0001F600''' e'\\q'", ["string a\n'AAé😀'", 'string q']],
    ["$$a'b$$ $x$ $$ $y$ $x$ $ä$z$ä$", ["string a'b", 'string  $$ $y$ ', 'string z']],
    ["'a'\n  'b' 'c' 'd'", ['string ab', 'string c', 'string d']],
    ["E'a'\n'\\x42'", ['string aB']],
    ['1 2.5 .5 1e3 1_000', ['number 1', 'number 2.5', 'number .5', 'number 1e3', 'number 1_000']],
    ['a/* x /* y */ z */b--c\nd--e\rf', ['word a', 'word b', 'word d', 'word f']],
    [
      '(a.b,=-;)',
      ['symbol (', 'word a', 'symbol .', 'word b', 'symbol ,', 'symbol =', 'symbol -', 'symbol ;', 'symbol )'],
    ],
    ['😀', ['word 😀']],
    ['$1 $', ['symbol $', 'number 1', 'symbol $']],
  ])('%j', (text, expected) => {
    expect(values(text)).toEqual(expected);
  });

  it('do not fold letters that PostgreSQL does not fold', () => {
    expect(values('ÄRGER İ')).toEqual(['word Ärger', 'word İ']);
  });

  it.each([
    ['"a', /quoted name has no end/, 1],
    ["x 'a", /string has no end/, 3],
    ["E'a\\'", /string has no end/, 1],
    ['ä $$a', /string has no end; close it with \$\$/, 3],
    ['😀 /* a /* b */', /comment has no end/, 3],
    ['U&"a"', /U&" is not read here/, 1],
    ["u&'a'", /not read here/, 1],
    ["B'1'", /not read here/, 1],
    ["E'\\x00'", /NUL/, 3],
    ["E'\\xe9'", /part of a character/, 3],
    ["E'\\uZZZZ'", /Unicode escape/, 3],
    ["E'\\UFFFFFFFF'", /no Unicode character/, 3],
  ])('refuse %j', (text, message, position) => {
    const refusal = { code: 'invalid_statement', message: expect.stringMatching(message), details: { position } };
    expect(() => tokens(text)).toThrow(expect.objectContaining(refusal) as unknown as Error);
  });
});
