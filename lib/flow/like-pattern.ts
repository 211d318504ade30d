/** A pattern of LIKE: characters that stand for themselves, and the two that do not. */
export type LikePattern = readonly (string | typeof ANY_ONE | typeof ANY_MANY)[];

const ANY_ONE = Symbol('_');
const ANY_MANY = Symbol('%');

/** Characters are code points, as in SQL. `escaping` is one, or empty for none. null: the pattern ends in its escape character. */
export function readLikePattern(text: string, escaping: string): LikePattern | null {
  const pattern: (string | typeof ANY_ONE | typeof ANY_MANY)[] = [];
  const characters = [...text];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    if (character === escaping) {
      at += 1;
      const escaped = characters[at];
      if (escaped === undefined) return null;
      pattern.push(escaped);
    } else {
      pattern.push(character === '%' ? ANY_MANY : character === '_' ? ANY_ONE : character);
    }
  }
  return pattern;
}

/** Takes time in proportion to both lengths: after a mismatch, the last `%` takes one character more. */
export function isLike(text: string, pattern: LikePattern): boolean {
  const characters = [...text];
  let at = 0;
  let wanted = 0;
  let resume: { at: number; wanted: number } | null = null;
  while (at < characters.length) {
    const next = pattern[wanted];
    if (next === ANY_MANY) {
      wanted += 1;
      resume = { at, wanted };
    } else if (next === ANY_ONE || next === characters[at]) {
      at += 1;
      wanted += 1;
    } else if (resume !== null) {
      resume = { at: resume.at + 1, wanted: resume.wanted };
      ({ at, wanted } = resume);
    } else {
      return false;
    }
  }
  return pattern.slice(wanted).every((each) => each === ANY_MANY);
}
