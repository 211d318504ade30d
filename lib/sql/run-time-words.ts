import type { SelectStmt } from 'libpg-query';
import { SluiceError } from '../errors.ts';
import type { Frontend } from '../frontend/frontend.ts';
import { describeTemplate } from './check-template.ts';
import { invalidQuery, positionOfByte, type SourceText, tokenIndexAt, tokenIs } from './source-text.ts';
import { type Edit, splice } from './splice.ts';
import { quoteString } from './sql-literal.ts';
import { isObject, nodesUnder, startOf } from './tree.ts';

/** A text with a word in it that is a time of the run where the text is read as a time: `'today'`, `'tomorrow 06:00'`. */
interface RunTimeWord {
  readonly text: string;
  /** Of the literal in the query. */
  readonly start: number;
  readonly end: number;
}

const WORDS = /\b(?:now|today|tomorrow|yesterday)\b/gi;

/** Letters that no time holds, in place of a word. */
const NO_TIME = 'zzzz';
/** What a date, a timestamp or a time of the day can be read from. */
const TIMES = ['2000-01-01', '2000-01-01 00:00:00'];

function runTimeWords(source: SourceText, select: SelectStmt): RunTimeWord[] {
  return [...nodesUnder({ SelectStmt: select })].flatMap(({ kind, node }) => {
    const text = kind === 'A_Const' ? constantText({ A_Const: node }) : null;
    if (text === null || text.search(WORDS) === -1) return [];
    const first = tokenIndexAt(source, typeof node['location'] === 'number' ? node['location'] : 0);
    const last = tokenIs(source, first + 1, 'uescape') ? first + 2 : first;
    return [{ text, start: source.tokens[first]?.start ?? 0, end: source.tokens[last]?.end ?? 0 }];
  });
}

/** Casts to a time are seen without a server, also those of a cast to text. Throws `invalid_query`. */
export function refuseCastWords(source: SourceText, select: SelectStmt): void {
  for (const { kind, node } of nodesUnder({ SelectStmt: select })) {
    const type = kind === 'TypeCast' && isObject(node['typeName']) ? JSON.stringify(node['typeName']['names']) : '';
    if (!/"(?:date|timestamp|timestamptz|time|timetz)"/.test(type)) continue;
    let inner = node['arg'];
    while (isObject(inner) && isObject(inner['TypeCast'])) inner = inner['TypeCast']['arg'];
    const text = constantText(inner);
    if (text !== null && text.search(WORDS) !== -1) throw refusal(source, text, startOf(inner));
  }
}

/** A query with its changes, as the server has accepted it. */
interface Accepted {
  readonly source: SourceText;
  readonly select: SelectStmt;
  readonly plainChanges: readonly { readonly edit: Edit }[];
}

/**
 * Refuses such a text where the server reads it as a time, beside a column say. The server is asked: with other letters for the word
 * the query is refused then, and with a time for it accepted. Throws
 * `invalid_query`.
 */
export async function refuseComparedWords(
  { source, select, plainChanges }: Accepted,
  timeZone: string,
  frontend: Frontend,
): Promise<void> {
  const words = runTimeWords(source, select);
  const accepted = plainChanges.map(({ edit }) => edit);
  for (const text of new Set(words.map((word) => word.text))) {
    const same = words.filter((word) => word.text === text);
    const asked = (replacement: string) => {
      const parts = [quoteString(text.replaceAll(WORDS, replacement))];
      const replaced = splice(source, [...accepted, ...same.map(({ start, end }) => ({ start, end, parts }))]);
      return refusedBy(() => describeTemplate(replaced, replaced, timeZone, frontend));
    };
    const refused = await asked(NO_TIME);
    if (refused === null) continue;
    for (const time of TIMES) {
      if ((await asked(time)) !== null) continue;
      const meant = same.find(({ start }) => positionOfByte(source.bytes, start) === refused.details.position);
      throw refusal(source, text, (meant ?? same[0])?.start ?? -1);
    }
  }
}

async function refusedBy(ask: () => Promise<unknown>): Promise<SluiceError | null> {
  try {
    await ask();
    return null;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_query') return error;
    throw error;
  }
}

function refusal(source: SourceText, text: string, location: number): SluiceError {
  return invalidQuery(source, location, `'${text}' is another time at each run; use now() and an EVAL INTERVAL`);
}

function constantText(node: unknown): string | null {
  if (!isObject(node) || !isObject(node['A_Const'])) return null;
  const { sval } = node['A_Const'];
  if (!isObject(sval)) return null;
  return typeof sval['sval'] === 'string' ? sval['sval'] : '';
}
