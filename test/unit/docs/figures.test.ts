import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../../lib/api/body.ts';
import { statusOf } from '../../../lib/api/errors.ts';
import { MOST_MARKS } from '../../../lib/api/mark-schema.ts';
import { ROUTES } from '../../../lib/api/routes.ts';
import { type ErrorCode, SluiceError } from '../../../lib/errors.ts';
import { DEFAULT_OPTIONS, readOption, writtenOptions } from '../../../lib/flow/options.ts';
import { DEFAULT_DATABASE_PORT, DEFAULT_PORT, HELP } from '../../../lib/local/arguments.ts';
import { RUN_KEPT_SECONDS } from '../../../lib/store/dynamodb/codec.ts';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');

/** The cells of the table rows of a page whose first cell matches. */
function rows(page: string, first: RegExp): string[][] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split(/ ?\| ?/).slice(1, -1))
    .filter(([cell = '']) => first.test(cell));
}

const names = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);

/** Where the page's table of statuses is not what the API does. */
function statusFindings(page: string): string[] {
  const pairs = rows(page, /^[45]\d\d$/).flatMap(([status, codes = '']) =>
    names(codes).map((code) => [code, Number(status)] as const),
  );
  const [, union = ''] = /export type ErrorCode =([^;]*);/.exec(read('lib/errors.ts')) ?? [];
  const codes = names(union.replaceAll("'", '`'));
  return [
    ...pairs
      .filter(([code, status]) => statusOf(new SluiceError(code as ErrorCode, '')) !== status)
      .map(([code, status]) => `${code} is not ${status}`),
    ...codes.filter((code) => !pairs.some(([shown]) => shown === code)).map((code) => `${code} is missing`),
  ];
}

describe('docs/api.md', () => {
  test('gives each error code the status that the API gives it', () => {
    expect(statusFindings(read('docs/api.md'))).toEqual([]);
  });

  test('a wrong status and a missing code are noticed', () => {
    const wrong = read('docs/api.md')
      .replace('`flow_exists`, ', '')
      .replace('| 404 | `flow_not_found`', '| 409 | `flow_not_found`');
    expect(statusFindings(wrong)).toEqual([
      'flow_not_found is not 409',
      'table_not_found is not 409',
      'flow_exists is missing',
    ]);
  });

  test('gives the limits that the API has', () => {
    const text = read('docs/api.md').replace(/\s+/g, ' ');
    expect(text).toContain(`At most ${MOST_MARKS.toLocaleString('en')} of each in one request.`);
    expect(text).toContain(`at most ${BODY_LIMIT_BYTES / 1024} KB`);
    expect(text).toContain(`the last ${RUN_KEPT_SECONDS / 86_400} days`);
  });
});

test('the README lists every call of the API, and no other', () => {
  const shown = rows(read('README.md'), /^`(GET|PUT|PATCH|POST|DELETE) /).flatMap(([call = '']) => {
    const [first = '', ...more] = [...call.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
    return [first, ...more.map((path) => first.replace(/\/\w+$/, path))];
  });
  expect(shown.sort()).toEqual(ROUTES.map(({ method, path }) => `${method} ${path}`).sort());
});

test('the README lists every flag of npm start, with its default', () => {
  const flags = (text: string) => [...text.matchAll(/(?<=^ {2}|`)--[\w-]+/gm)].map(([flag]) => flag).sort();
  const table = rows(read('README.md'), /^`--/);
  expect(table.flatMap(([flag = '']) => flags(flag)).sort()).toEqual(flags(HELP));
  const text = table.join('\n');
  expect(text).toContain(`without it ${DEFAULT_PORT},`);
  expect(text).toContain(`without it ${DEFAULT_DATABASE_PORT},`);
  expect(text).toContain(`without it ${/\(default: (\d+)\)/.exec(HELP)?.[1]}`);
});

test('docs/flows.md lists every option, with its default and its bounds', () => {
  const shown = rows(read('docs/flows.md'), /^`[a-z_]+`$/).filter(([option = '']) => /_|connection|order/.test(option));
  // Options that differ from every default are all written.
  const all = writtenOptions({
    ...DEFAULT_OPTIONS,
    connection: '',
    timeZone: '',
    mergeDistance: -1,
    maxRanges: -1,
    maxWindows: -1,
    order: 'oldest',
  });
  expect(shown.map(([option = '']) => names(option)[0])).toEqual(all.map(([name]) => name));
  for (const [cell = '', shownDefault = '', text = ''] of shown) {
    const [name = ''] = names(cell);
    const value: unknown = JSON.parse(shownDefault.replaceAll('`', '').replaceAll("'", '"'));
    const read = readOption(name, value);
    expect({ ...DEFAULT_OPTIONS, ...read }, name).toEqual(DEFAULT_OPTIONS);
    const [, least, most] = /(\d+) to (\d+)$/.exec(text) ?? [];
    if (least === undefined) continue;
    for (const good of [Number(least), Number(most)]) expect(Object.values(readOption(name, good))).toEqual([good]);
    for (const bad of [Number(least) - 1, Number(most) + 1])
      expect(() => readOption(name, bad)).toThrow('whole number');
  }
});
