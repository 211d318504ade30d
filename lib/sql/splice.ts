import type { QueryHole } from '../flow/definition.ts';
import { positionOfByte, type SourceText, sliceBytes } from './source-text.ts';

/** New text for a range of bytes of the user's query. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly parts: readonly (string | QueryHole)[];
}

type Piece =
  | { readonly kind: 'kept'; readonly start: number; readonly text: string }
  | { readonly kind: 'new'; readonly at: number; readonly part: string | QueryHole };

/** The user's query with edits, which keeps where each piece of it came from. */
export interface Template {
  readonly source: SourceText;
  readonly pieces: readonly Piece[];
}

/** Edits must not overlap. */
export function splice(source: SourceText, edits: readonly Edit[]): Template {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { start, end, parts } of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    pieces.push({ kind: 'kept', start: at, text: sliceBytes(source.bytes, at, start) });
    pieces.push(...parts.map((part): Piece => ({ kind: 'new', at: start, part })));
    at = end;
  }
  pieces.push({ kind: 'kept', start: at, text: sliceBytes(source.bytes, at) });
  return { source, pieces };
}

/** The query cut at its holes. */
export function cutAtHoles({ pieces }: Template): {
  readonly text: readonly string[];
  readonly holes: readonly QueryHole[];
} {
  const text = [''];
  const holes: QueryHole[] = [];
  for (const piece of pieces) {
    const part = piece.kind === 'kept' ? piece.text : piece.part;
    if (typeof part === 'string') {
      text[text.length - 1] += part;
    } else {
      holes.push(part);
      text.push('');
    }
  }
  return { text, holes };
}

export function renderTemplate({ pieces }: Template, fill: (hole: QueryHole) => string): string {
  return pieces.map((piece) => pieceText(piece, fill)).join('');
}

/**
 * The 1-based position in the user's query of a position in the rendered template. A position inside of new text becomes that
 * of the text which it replaced.
 */
export function positionInSource(
  { source, pieces }: Template,
  fill: (hole: QueryHole) => string,
  position: number,
): number {
  let before = 0;
  for (const piece of pieces) {
    const length = [...pieceText(piece, fill)].length;
    if (position <= before + length) {
      const from = positionOfByte(source.bytes, piece.kind === 'kept' ? piece.start : piece.at);
      return piece.kind === 'kept' ? from + (position - before - 1) : from;
    }
    before += length;
  }
  return positionOfByte(source.bytes, source.bytes.length);
}

function pieceText(piece: Piece, fill: (hole: QueryHole) => string): string {
  if (piece.kind === 'kept') return piece.text;
  return typeof piece.part === 'string' ? piece.part : fill(piece.part);
}
