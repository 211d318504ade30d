import type { CompiledQuery, QueryHole } from '../flow/definition.ts';

/** A compiled query with its holes filled. It ends in a line break, so that a comment at its end ends too. */
export function renderQuery(
  compiled: Pick<CompiledQuery, 'text' | 'holes'>,
  fill: (hole: QueryHole) => string,
): string {
  const parts = compiled.text.map((text, index) => {
    const hole = compiled.holes[index];
    return hole === undefined ? text : text + fill(hole);
  });
  return `${parts.join('')}\n`;
}
