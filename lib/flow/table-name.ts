import { SluiceError } from '../errors.ts';
import type { TableName } from './definition.ts';
import { checkSink, checkText } from './names.ts';
import { TokenReader } from './token-reader.ts';

/** Reads `table` or `schema.table`, each quoted or not, off the statement. */
export function readTableName(reader: TokenReader, what: string): TableName {
  const first = reader.name(what);
  if (!reader.takeSymbol('.')) return reader.checked(first, () => checkSink(null, first.value));
  const second = reader.name('a table name after the schema');
  if (reader.next.kind === 'symbol' && reader.next.value === '.') {
    throw reader.unexpected('a table name of at most two parts, schema.table');
  }
  return reader.checked(first, () => checkSink(first.value, second.value));
}

/** A table name as SQL writes it. Throws `invalid_request`. */
export function parseTableName(text: string): TableName {
  try {
    const reader = new TokenReader(checkText('table name', text));
    const name = readTableName(reader, 'a table name');
    if (reader.next.kind !== 'end') throw reader.unexpected('nothing after the table name');
    return name;
  } catch (error) {
    throw asTableName(text, error);
  }
}

function asTableName(text: string, error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  const message = `${JSON.stringify(text.slice(0, 64))} is not a table name: ${error.message}`;
  return new SluiceError('invalid_request', message, { cause: error });
}
