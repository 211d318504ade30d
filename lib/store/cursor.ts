import { SluiceError } from '../errors.ts';
import { MAX_FLOW_NAME_BYTES } from './bounds.ts';

/** What is paged, with what the key of an item looks like. A cursor of one listing is refused by another. */
const PAGED = {
  flows: (key: string) => key !== '' && Buffer.byteLength(key) <= MAX_FLOW_NAME_BYTES,
  runs: (key: string) => /^\d{20}#\d{20}$/.test(key),
};

type Paged = keyof typeof PAGED;

/** Opaque text for the key of the last item of a page. */
export function toCursor(paged: Paged, lastKey: string): string {
  return Buffer.from(`${paged}:${lastKey}`).toString('base64url');
}

/** Throws `invalid_request` for text that `toCursor` never gave. */
export function fromCursor(paged: Paged, cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  const lastKey = text.slice(paged.length + 1);
  // Decoding skips what it does not know: only what encodes back to the same text was ever given out.
  if (PAGED[paged](lastKey) && toCursor(paged, lastKey) === cursor) return lastKey;
  throw new SluiceError(
    'invalid_request',
    'the cursor is not one of this listing; use the cursor of the page before, or none to start over',
  );
}
