import { checkName } from './names.ts';
import type { TokenReader } from './token-reader.ts';

/** The name of a flow in a statement. Throws `invalid_statement` with the position. */
export function readFlowName(reader: TokenReader): string {
  const token = reader.name('the name of a flow');
  const name = reader.checked(token, () => checkName('name of the flow', token.value));
  if (reader.next.kind === 'symbol' && reader.next.value === '.') {
    throw reader.unexpected('a flow name of one part (flows have no schema; quote a name that contains a dot)');
  }
  return name;
}
