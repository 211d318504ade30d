import { SluiceError } from '../errors.ts';
import { nearestName } from '../flow/nearest-name.ts';
import type { QueryColumn } from '../frontend/frontend.ts';
import { MAX_KEYS } from './output-columns.ts';

/**
 * The columns that identify a sink row. `known`: what the query's own group keys tell, by which the option may not differ; a query
 * without them is merged by the option alone, and has no key if there is none. Under the history column of a recording query each
 * grid time has rows of its own: the column comes first, whether it is named or not. So does the window's column, `label`, if it is
 * named. Throws `invalid_option`.
 */
export function rowKey(
  known: readonly string[],
  given: readonly string[],
  columns: readonly QueryColumn[],
  history: string | null,
  label: string | null,
): readonly string[] {
  for (const name of given) checkKeyColumn(name, columns);
  const within = (key: readonly string[]) => key.filter((name) => name !== history);
  if (known.length > 0 && given.length > 0 && !sameNames(within(known), within(given))) {
    throw invalid(
      `Option key is (${given.join(', ')}), but the query's group keys identify its rows already: (${known.join(', ')}). Leave the option out, or name exactly these.`,
    );
  }
  const key = known.length > 0 ? known : given;
  const first = key.filter((name) => name === label);
  const rest = key.filter((name) => name !== label);
  const whole = history === null || key.length === 0 ? [...first, ...rest] : [history, ...within(key)];
  if (whole.length <= MAX_KEYS) return whole;
  throw invalid(
    `A row's key would have ${whole.length} columns; an index, and so a sink's key, has at most ${MAX_KEYS}.`,
  );
}

function checkKeyColumn(name: string, columns: readonly QueryColumn[]): void {
  const column = columns.find((each) => each.name === name);
  if (column === undefined) {
    const names = columns.map((each) => each.name);
    const near = nearestName(name, names);
    const meant = near === null ? '' : ` Did you mean ${near}?`;
    throw invalid(
      `Option key names ${JSON.stringify(name)}, which is no column of the query.${meant} Its columns: ${names.join(', ')}.`,
    );
  }
  if (!column.indexable) {
    throw invalid(
      `Option key names ${JSON.stringify(name)} of type ${column.type}, which an index cannot hold; cast it to another type in the query, such as text.`,
    );
  }
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_option', message);
}
