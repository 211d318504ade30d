import { SluiceError } from '../errors.ts';

/** What is paged. A cursor of one listing is refused by another. */
export type Paged = 'flows' | 'runs';

/** Opaque text for the sort key of the last item of a page. */
export function toCursor(paged: Paged, lastKey: string): string {
  return Buffer.from(`${paged}:${lastKey}`).toString('base64url');
}

/** Throws `invalid_request` for text that `toCursor` never gave. */
export function fromCursor(paged: Paged, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  const lastKey = text.slice(paged.length + 1);
  // Decoding skips what it does not know: only what encodes back to the same text was ever given out.
  if (lastKey === '' || toCursor(paged, lastKey) !== cursor) throw invalidCursor();
  return lastKey;
}

export function invalidCursor(): SluiceError {
  return new SluiceError(
    'invalid_request',
    'the cursor is not one of this listing; use the cursor of the page before, or none to start over',
  );
}
