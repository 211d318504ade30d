import type { TokenReader } from './token-reader.ts';

/** The length of time that a clause takes, with the word INTERVAL before it or without. */
export function readInterval(reader: TokenReader, clause: string, parse: (text: string) => bigint): bigint {
  reader.takeIf('interval');
  const token = reader.string(`a length of time in quotes, such as ${clause} '1 hour'`);
  return reader.checked(token, () => parse(token.value));
}
