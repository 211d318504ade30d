import { readInterval } from './clause.ts';
import type { FlowOptions } from './definition.ts';
import type { FlowChange } from './flow-change.ts';
import { parseEvalInterval } from './flow-input.ts';
import { readFlowName } from './flow-name.ts';
import { parseInterval } from './interval.ts';
import { lexicalError } from './lexical-error.ts';
import { checkComment } from './names.ts';
import { readOptionNames, readOptionValues } from './option-list.ts';
import type { TokenReader } from './token-reader.ts';

export interface AlterFlowStatement {
  readonly kind: 'alter_flow';
  readonly name: string;
  readonly ifExists: boolean;
  readonly change: FlowChange;
}

const SETTABLE = 'SET or RESET with (options), EXPIRE AFTER, EVAL INTERVAL or COMMENT';

type Changed = { -readonly [K in keyof FlowChange]: FlowChange[K] };

/** The statement from after `ALTER` on. */
export function readAlterFlow(reader: TokenReader): AlterFlowStatement {
  reader.expect('FLOW after ALTER (Sluice alters nothing else)', 'flow');
  const ifExists = reader.takeIf('if', 'exists');
  const name = readFlowName(reader);
  const change: Changed = { options: {} };
  do readAction(reader, change);
  while (reader.takeSymbol(','));
  reader.expectEnd('ALTER FLOW and its changes; several are separated by commas');
  return { kind: 'alter_flow', name, ifExists, change };
}

/** The statement from after `COMMENT` on. */
export function readCommentOn(reader: TokenReader): AlterFlowStatement {
  reader.expect('ON FLOW after COMMENT', 'on', 'flow');
  const name = readFlowName(reader);
  reader.expect('IS and the comment in quotes, or NULL', 'is');
  const comment = readComment(reader);
  reader.expectEnd('COMMENT ON FLOW');
  return { kind: 'alter_flow', name, ifExists: false, change: { comment, options: {} } };
}

function readAction(reader: TokenReader, change: Changed): void {
  const set = reader.takeIf('set');
  if (!set && !reader.takeIf('reset'))
    throw reader.unexpected(`${SETTABLE}; anything else is changed by CREATE OR REPLACE FLOW`);
  const at = reader.next.start;
  if (reader.takeIf('expire', 'after')) {
    refuseTwice(reader, at, 'EXPIRE AFTER', change.expireAfter);
    change.expireAfter = set ? readInterval(reader, 'EXPIRE AFTER', parseInterval) : null;
  } else if (reader.takeIf('eval', 'interval')) {
    refuseTwice(reader, at, 'EVAL INTERVAL', change.evalInterval);
    change.evalInterval = set ? readInterval(reader, 'EVAL INTERVAL', parseEvalInterval) : null;
  } else if (reader.takeIf('comment')) {
    refuseTwice(reader, at, 'COMMENT', change.comment);
    change.comment = set ? readComment(reader) : null;
  } else if (reader.next.kind === 'symbol' && reader.next.value === '(') {
    const options = set
      ? readOptionValues(reader, 'SET (max_windows = 10)')
      : readOptionNames(reader, 'RESET (max_windows)');
    refuseBoth(reader, at, change.options, options);
    change.options = { ...change.options, ...options };
  } else {
    throw reader.unexpected(SETTABLE);
  }
}

function readComment(reader: TokenReader): string | null {
  if (reader.takeIf('null')) return null;
  const token = reader.string('the comment in quotes, or NULL');
  return reader.checked(token, () => checkComment(token.value));
}

function refuseTwice(reader: TokenReader, at: number, what: string, before: unknown): void {
  if (before !== undefined) throw lexicalError(reader.text, at, `${what} is changed twice`);
}

function refuseBoth(
  reader: TokenReader,
  at: number,
  before: Partial<FlowOptions>,
  options: Partial<FlowOptions>,
): void {
  if (Object.keys(options).some((field) => field in before)) {
    throw lexicalError(reader.text, at, 'an option is changed twice');
  }
}
