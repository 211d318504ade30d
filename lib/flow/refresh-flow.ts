import type { Instant } from '../window/instant.ts';
import { parseInstant } from '../window/rfc3339.ts';
import type { TimeRange } from '../window/time-range.ts';
import { readFlowName } from './flow-name.ts';
import { lexicalError } from './lexical-error.ts';
import type { TokenReader } from './token-reader.ts';

export interface RefreshFlowStatement {
  readonly kind: 'refresh_flow';
  readonly name: string;
  /** `end` does not belong to it. */
  readonly range: TimeRange;
  /** Also windows that no plan would take otherwise. */
  readonly force: boolean;
}

/** The statement from after `REFRESH` on. */
export function readRefreshFlow(reader: TokenReader): RefreshFlowStatement {
  reader.expect('FLOW after REFRESH (Sluice refreshes nothing else)', 'flow');
  const name = readFlowName(reader);
  reader.expect("FROM and a time in quotes, such as '2026-01-01T00:00:00Z'", 'from');
  const start = readInstant(reader);
  reader.expect('TO and a time in quotes, which does not belong to the range', 'to');
  const at = reader.next.start;
  const end = readInstant(reader);
  if (start >= end) throw lexicalError(reader.text, at, 'TO must be later than FROM; it does not belong to the range');
  const force = reader.takeIf('force');
  reader.expectEnd('REFRESH FLOW, a name, FROM, TO and FORCE');
  return { kind: 'refresh_flow', name, range: { start, end }, force };
}

function readInstant(reader: TokenReader): Instant {
  const token = reader.string("a time in quotes, such as '2026-01-01T00:00:00Z'");
  return reader.checked(token, () => parseInstant(token.value));
}
