import { SluiceError } from '../errors.ts';
import type { QueryColumn } from '../frontend/frontend.ts';
import { UNNAMED } from './column-name.ts';
import { SYSTEM_COLUMNS } from './lookup.ts';
import type { Output } from './query-model.ts';
import { invalidQuery, type SourceText } from './source-text.ts';

/** PostgreSQL's limits of a table and of an index. */
const MAX_COLUMNS = 1600;
export const MAX_KEYS = 32;

/** Refuses names that a table's columns cannot have. Throws `invalid_query`. */
export function checkOutputNames(source: SourceText, outputs: readonly Output[]): void {
  const seen = new Set<string>();
  for (const { name, location } of outputs) {
    if (name === null) continue;
    if (name === UNNAMED) {
      throw invalidQuery(source, location, 'this column of the query has no name, and the sink needs one; add AS name');
    }
    if (SYSTEM_COLUMNS.includes(name)) {
      throw invalidQuery(
        source,
        location,
        `a table cannot have a column ${JSON.stringify(name)}; give it another name with AS`,
      );
    }
    if (seen.has(name)) {
      throw invalidQuery(
        source,
        location,
        `two columns of the query are named ${JSON.stringify(name)}; name one otherwise with AS`,
      );
    }
    seen.add(name);
  }
}

/** What the server said must agree with what was worked out here. Throws `invalid_query`. */
export function checkColumns(
  source: SourceText,
  columns: readonly QueryColumn[],
  outputs: readonly Output[] | null,
): void {
  if (columns.length === 0) throw invalidQuery(source, 0, 'the query has no columns; select at least one');
  const updateAt = columns.some(({ name }) => name === 'update_at') ? 0 : 1;
  if (columns.length + updateAt > MAX_COLUMNS) {
    throw invalidQuery(
      source,
      0,
      `the sink would have more than ${MAX_COLUMNS} columns, the most that a table can have; select fewer`,
    );
  }
  const bare = columns.find(({ name }) => name === UNNAMED);
  if (bare !== undefined) throw invalidQuery(source, 0, 'a column of the query has no name; add AS name');
  if (outputs === null) return;
  const differs =
    columns.length !== outputs.length || columns.some(({ name }, index) => (outputs[index]?.name ?? name) !== name);
  if (differs) {
    throw new SluiceError(
      'invalid_query',
      'the columns of the query could not be told from its text; list them by name, each with AS',
    );
  }
}
