import type { RangeVar } from 'libpg-query';
import { closingBracket, pastName, type SourceText, tokenIndexAt, tokenIs } from './source-text.ts';

/** Where a table reference was written, in bytes. */
export interface RelationText {
  /** Its name alone. */
  readonly name: { readonly start: number; readonly end: number };
  /** With ONLY, the star of `table *` and brackets, without the alias. */
  readonly whole: { readonly start: number; readonly end: number };
  /** Written as `TABLE name`, which takes no alias and no subquery. */
  readonly tableCommand: boolean;
}

export function relationText(source: SourceText, reference: RangeVar): RelationText {
  const first = tokenIndexAt(source, reference.location ?? 0);
  const past = pastName(source, first);
  const name = range(source, first, past - 1);
  let from = first;
  let to = past - 1;
  if (reference.inh !== true) {
    if (tokenIs(source, first - 1, '(')) {
      from = first - 2;
      to = closingBracket(source, first - 1);
    } else {
      from = first - 1;
    }
  } else if (tokenIs(source, past, '*')) {
    to = past;
  }
  return { name, whole: range(source, from, to), tableCommand: tokenIs(source, first - 1, 'table') };
}

function range(source: SourceText, first: number, last: number): { start: number; end: number } {
  return { start: source.tokens[first]?.start ?? 0, end: source.tokens[last]?.end ?? 0 };
}
