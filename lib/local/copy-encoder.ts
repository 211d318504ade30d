/** Columns of equal length, of the types `timestamp` (microseconds since 1970), `integer` and `text`. null is NULL. */
export interface CopyColumns {
  readonly timestamps: ArrayLike<bigint | null>;
  readonly integers: readonly ArrayLike<bigint | null>[];
  readonly texts: readonly ArrayLike<string | null>[];
}

/** `PGCOPY`, no flags, no extension: https://www.postgresql.org/docs/current/sql-copy.html#SQL-COPY-FILE-FORMATS */
export const COPY_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
export const COPY_TRAILER = Buffer.from([0xff, 0xff]);

/** PostgreSQL counts from 2000-01-01. */
const POSTGRES_EPOCH = 946_684_800_000_000n;
const LENGTH_BYTES = 4;

/** Rows `from` up to `to` in PostgreSQL's binary COPY format: the timestamp first, then the integers, then the texts. */
export function encodeRows(columns: CopyColumns, from: number, to: number): Buffer {
  const fields = 1 + columns.integers.length + columns.texts.length;
  const texts = columns.texts.map((column) => encodeTexts(column, from, to));
  let size = 0;
  for (const column of texts) for (const text of column) size += text?.length ?? 0;
  const fixed = 2 + fields * LENGTH_BYTES + 8 + columns.integers.length * 4;
  const buffer = Buffer.allocUnsafe((to - from) * fixed + size);

  let at = 0;
  for (let row = from; row < to; row++) {
    at = buffer.writeInt16BE(fields, at);
    const time = columns.timestamps[row];
    if (time === null || time === undefined) at = buffer.writeInt32BE(-1, at);
    else at = buffer.writeBigInt64BE(time - POSTGRES_EPOCH, buffer.writeInt32BE(8, at));
    for (const column of columns.integers) {
      const value = column[row];
      if (value === null || value === undefined) at = buffer.writeInt32BE(-1, at);
      else at = buffer.writeInt32BE(Number(value), buffer.writeInt32BE(4, at));
    }
    for (const column of texts) {
      const value = column[row - from];
      if (value === null || value === undefined) at = buffer.writeInt32BE(-1, at);
      else {
        at = buffer.writeInt32BE(value.length, at);
        at += value.copy(buffer, at);
      }
    }
  }
  return buffer.subarray(0, at);
}

/** Few different texts in many rows: each is encoded once. */
function encodeTexts(column: ArrayLike<string | null>, from: number, to: number): (Buffer | null)[] {
  const known = new Map<string, Buffer>();
  const encoded: (Buffer | null)[] = [];
  for (let row = from; row < to; row++) {
    const text = column[row] ?? null;
    if (text === null) {
      encoded.push(null);
      continue;
    }
    let bytes = known.get(text);
    if (bytes === undefined) {
      bytes = Buffer.from(text, 'utf8');
      known.set(text, bytes);
    }
    encoded.push(bytes);
  }
  return encoded;
}
