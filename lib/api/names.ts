import { SluiceError } from '../errors.ts';
import type { TableName } from '../flow/definition.ts';
import { checkName } from '../flow/names.ts';

/** Where an unqualified name is looked up; the search path that every session pins has no other schema for tables. */
const DEFAULT_SCHEMA = 'public';

/** A flow's name as a path or an event gives it. Throws `invalid_request`. */
export function checkFlowName(name: string): string {
  return checkName('name of the flow', name);
}

/**
 * Reads `table` or `schema.table`. A part in double quotes is taken as it is, with `""` for a quote; any other part is folded to
 * lower case, as in SQL, but may hold any character save dots and quotes. Throws `invalid_request`.
 */
export function parseTablePath(text: string): TableName {
  const parts: string[] = [];
  let rest: string | null = text;
  while (rest !== null) {
    const match: RegExpExecArray | null = /^(?:"(?<quoted>(?:[^"]|"")*)"|(?<plain>[^".]+))(?:\.(?<rest>.*))?$/su.exec(
      rest,
    );
    if (match === null) throw notATable(text);
    const { quoted, plain = '', rest: after } = match.groups ?? {};
    parts.push(quoted === undefined ? foldCase(plain) : quoted.replaceAll('""', '"'));
    rest = after ?? null;
  }
  const [first = '', second, ...others] = parts;
  if (others.length > 0) throw notATable(text);
  return second === undefined
    ? { schema: DEFAULT_SCHEMA, table: checkName('name of the table', first) }
    : { schema: checkName('name of the schema', first), table: checkName('name of the table', second) };
}

/** ASCII letters only, as PostgreSQL folds in UTF-8. */
function foldCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function notATable(text: string): SluiceError {
  return new SluiceError(
    'invalid_request',
    `${JSON.stringify(text.slice(0, 200))} is not a table name; write table or schema.table, with double quotes around a part that has a dot, ` +
      'a quote or capital letters, and name the connection by ?connection=',
  );
}
