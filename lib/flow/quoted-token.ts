import { lexicalError } from './lexical-error.ts';

/** Content of a quoted token and where it lies, in UTF-16 indexes. */
interface Quoted {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

export function readQuotedIdentifier(text: string, start: number): Quoted {
  const { value, end } = readDoubled(text, start, '"', 'this quoted name has no end; close it with "');
  return { value, start, end };
}

/** `'…'`, continued by further quotes after a line break, as the SQL standard has it. */
export function readPlainString(text: string, start: number): Quoted {
  const parts: string[] = [];
  for (let at: number | null = start; ; ) {
    const { value, end } = readDoubled(text, at, "'", "this string has no end; close it with '");
    parts.push(value);
    at = continuation(text, end);
    if (at === null) return { value: parts.join(''), start, end };
  }
}

/** `E'…'` with its backslash escapes. */
export function readEscapeString(text: string, start: number): Quoted {
  const parts: string[] = [];
  let at = start + 2;
  for (;;) {
    const char = text[at];
    if (char === undefined) throw lexicalError(text, start, "this string has no end; close it with '");
    if (char === "'" && text[at + 1] !== "'") {
      const next = continuation(text, at + 1);
      if (next === null) return { value: parts.join(''), start, end: at + 1 };
      at = next + 1;
    } else if (char === '\\') {
      const { value, end } = readEscape(text, at);
      parts.push(value);
      at = end;
    } else {
      parts.push(char);
      at += char === "'" ? 2 : 1;
    }
  }
}

/** `$tag$…$tag$`; null where `$` does not open one. */
export function readDollarQuoted(text: string, start: number): Quoted | null {
  const opening = /^\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/.exec(text.slice(start))?.[0];
  if (opening === undefined) return null;
  const from = start + opening.length;
  const to = text.indexOf(opening, from);
  if (to === -1) throw lexicalError(text, start, `this string has no end; close it with ${opening}`);
  return { value: text.slice(from, to), start, end: to + opening.length };
}

function readDoubled(text: string, start: number, quote: string, unclosed: string): { value: string; end: number } {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf(quote, at);
    if (at === -1) throw lexicalError(text, start, unclosed);
    if (text[at + 1] !== quote) {
      return { value: text.slice(start + 1, at).replaceAll(quote + quote, quote), end: at + 1 };
    }
  }
}

/** Where the string goes on: at a quote that only white space with a line break parts from `end`. */
function continuation(text: string, end: number): number | null {
  const gap = /^[ \t\f\v]*[\n\r][ \t\n\r\f\v]*(?=')/.exec(text.slice(end))?.[0];
  return gap === undefined ? null : end + gap.length;
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function readEscape(text: string, at: number): { value: string; end: number } {
  const found =
    /^\\(?:(?<octal>[0-7]{1,3})|x(?<hex>[0-9A-Fa-f]{1,2})|u(?<u4>[0-9A-Fa-f]{4})|U(?<u8>[0-9A-Fa-f]{8}))/.exec(
      text.slice(at, at + 10),
    );
  if (found === null) {
    const char = String.fromCodePoint(text.codePointAt(at + 1) ?? 0);
    if (char === 'u' || char === 'U') throw lexicalError(text, at, 'a Unicode escape is \\uXXXX or \\UXXXXXXXX');
    return { value: SIMPLE_ESCAPES[char] ?? char, end: at + 1 + char.length };
  }
  const { octal, hex, u4, u8 } = found.groups ?? {};
  const code = octal === undefined ? Number.parseInt(hex ?? u4 ?? u8 ?? '0', 16) : Number.parseInt(octal, 8);
  if (code === 0) throw lexicalError(text, at, 'the character NUL cannot be stored');
  if (code > 0x7f && (octal ?? hex) !== undefined) {
    throw lexicalError(text, at, `${found[0]} is a part of a character; write the character itself, or \\uXXXX`);
  }
  if (code > 0x10ffff) throw lexicalError(text, at, `${found[0]} is no Unicode character`);
  return { value: String.fromCodePoint(code), end: at + found[0].length };
}
