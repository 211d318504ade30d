import fc from 'fast-check';

/** What ends, opens or hides something somewhere between a statement, a query, a key of the store and a path. */
const FRAGMENTS = [
  '"',
  "'",
  '""',
  "''",
  '\\',
  "\\'",
  '`',
  '$$',
  '$tag$',
  '$1',
  '--',
  '/*',
  '*/',
  ';',
  '; DROP TABLE canary; --',
  '"; DROP TABLE canary; --',
  "'; DROP TABLE canary; --",
  '(',
  ')',
  ',',
  '.',
  '/',
  '#',
  '%',
  '%2F',
  '%s',
  '?',
  '&',
  '=',
  ':',
  '::int',
  '@',
  '|',
  '{}',
  ' ',
  '\t',
  '\n',
  '\r\n',
  '\f',
  '\u0001',
  '\u007f',
  '\u00a0',
  '\u2028',
  'select',
  'ORDER',
  'User',
  'as',
  'A',
  'z',
  '0',
  '9',
  '_',
  'é',
  'e\u0301',
  'ß',
  'İ',
  'ı',
  '名',
  'שלום',
  '\u202e',
  '\u200b',
  '\ufeff',
  '\uffff',
  '😀',
  '👩‍👩‍👧',
];

const WHOLE_NAMES = [
  'select',
  'order',
  'user',
  'table',
  'from',
  'SELECT',
  'Window',
  'rows',
  'group',
  'null',
  'true',
  'at',
  'timestamp',
  'text',
  'count',
  'date_trunc',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  'name',
  'sluice',
  'src',
  '1',
  '0x1',
  '1e5',
  ' ',
  '.',
  '..',
  '/',
  '#',
  '%',
  '"',
  "'",
  '\\',
  '$$',
  '--',
  '/*',
  ';',
  '*',
  '$1',
  'a.b',
  'a"."b',
  'STATE',
  'FLOW#x',
  'DIRTY#',
  '"; DROP TABLE canary; --',
  `'); DROP TABLE canary; --`,
];

const bytesOf = (text: string) => Buffer.byteLength(text);

/** As many whole characters as 63 bytes hold. */
function cut(name: string): string {
  let kept = '';
  for (const character of name) {
    if (bytesOf(kept + character) > 63) break;
    kept += character;
  }
  return kept;
}

const filler = fc.constantFrom('x', 'Ä', '名', '😀');
const fragments = (most: number) =>
  fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: most }).map((all) => all.join(''));
const anyCharacters = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', ''));

/** A name that PostgreSQL can store and that is nobody else's: no system schema and no path of the API ends like it. */
export const hostileName: fc.Arbitrary<string> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom(...WHOLE_NAMES) },
    { weight: 4, arbitrary: fragments(6) },
    { weight: 1, arbitrary: anyCharacters },
    {
      weight: 2,
      arbitrary: fc.tuple(fragments(3), filler).map(([start, fill]) => cut(start + fill.repeat(63)).padEnd(1)),
    },
    // Exactly 63 bytes, the last of them of a character of several.
    { weight: 1, arbitrary: fc.constantFrom(`${'名'.repeat(21)}`, `abc${'😀'.repeat(15)}`, `x${'é'.repeat(31)}`) },
  )
  .map(cut)
  .filter((name) => name !== '' && !/^(pg_.*|information_schema|public|sluice)$/s.test(name));

/** Any text that PostgreSQL can store. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(fragments(8), anyCharacters);

export const LITERAL_KINDS = ['plain', 'escape', 'dollar', 'unicode'] as const;
export type LiteralKind = (typeof LITERAL_KINDS)[number];

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(kind: LiteralKind, text: string): string {
  switch (kind) {
    case 'plain':
      return `'${text.replaceAll("'", "''")}'`;
    case 'escape':
      return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
    case 'dollar': {
      let tag = '';
      while (text.includes(`$${tag}`)) tag += 'q';
      return `$${tag}$${text}$${tag}$`;
    }
    case 'unicode':
      return `U&'${[...text.replaceAll('\\', '\\\\').replaceAll("'", "''")].map(escapeBeyondAscii).join('')}'`;
    default:
      return kind satisfies never;
  }
}

function escapeBeyondAscii(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 ? character : `\\+${code.toString(16).padStart(6, '0')}`;
}

export function lineComment(text: string): string {
  return `-- ${text.replace(/[\r\n]/g, ' ')}\n`;
}

export function nestedComment(text: string): string {
  const inner = text.replaceAll('*', '+');
  return `/* ${inner} /* ${inner} */ ${inner} */`;
}
