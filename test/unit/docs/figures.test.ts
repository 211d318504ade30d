import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { BODY_LIMIT_BYTES } from '../../../lib/api/body.ts';
import { statusOf } from '../../../lib/api/errors.ts';
import { MOST_MARKS } from '../../../lib/api/mark-schema.ts';
import { ROUTES } from '../../../lib/api/routes.ts';
import { type ErrorCode, SluiceError } from '../../../lib/errors.ts';
import { DEFAULT_OPTIONS, readOption, shownOptions } from '../../../lib/flow/options.ts';
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

/** Where the page's table of options is not what the options are. */
function optionFindings(page: string): string[] {
  const options = shownOptions(DEFAULT_OPTIONS);
  const shown = rows(page.slice(page.indexOf('### Options')), /^`[a-z_]+`$/).slice(0, Object.keys(options).length);
  const order = shown.map(([option = '']) => names(option)[0] ?? '');
  if (String(order) !== String(Object.keys(options))) return [`the page lists ${order.join(', ')}`];
  return shown.flatMap(([cell = '', shownDefault = '', text = '']) => {
    const [name = ''] = names(cell);
    const isDefault =
      shownDefault === 'none'
        ? String(options[name] ?? '') === ''
        : readsAs(name, JSON.parse(shownDefault.replaceAll('`', '').replaceAll("'", '"')), options[name]);
    const { good, bad } = probes(text);
    return [
      ...(isDefault ? [] : [`${name} is not ${shownDefault} by default`]),
      ...good.filter((value) => !isTaken(name, value)).map((value) => `${name} does not take ${value}`),
      ...bad.filter((value) => isTaken(name, value)).map((value) => `${name} takes ${value}`),
    ];
  });
}

function readsAs(name: string, value: unknown, shown: unknown): boolean {
  return String(shownOptions({ ...DEFAULT_OPTIONS, ...readOption(name, value) })[name]) === String(shown);
}

/** Values that the text of an option says are taken, and some that it says are not. */
function probes(text: string): { good: (string | number)[]; bad: (string | number)[] } {
  const [, least, most] = /; (\d+) to (\d+)$/.exec(text) ?? [];
  if (least !== undefined) {
    return { good: [Number(least), Number(most)], bad: [Number(least) - 1, Number(most) + 1] };
  }
  if (/; a length\b/.test(text)) return { good: ['90 minutes', ...texts(text)], bad: ['1 month ago', 5] };
  if (/; a time$/.test(text)) return { good: ['2026-01-01T00:00:00Z'], bad: ['2026-01-01', 5] };
  const [, words] = /; ('.*')$/.exec(text.replaceAll('`', '')) ?? [];
  return words === undefined ? { good: [], bad: [] } : { good: texts(words), bad: ['other', 5] };
}

function texts(text: string): string[] {
  return [...text.matchAll(/'([^']+)'/g)].map(([, value = '']) => value);
}

function isTaken(name: string, value: string | number): boolean {
  try {
    readOption(name, value);
    return true;
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_option') return false;
    throw error;
  }
}

describe('docs/flows.md', () => {
  test('lists every option, with its default and its bounds', () => {
    expect(optionFindings(read('docs/flows.md'))).toEqual([]);
  });

  test.each([
    ['an option that is missing', (page: string) => page.replace(/\| `lookback` .*\n/, ''), /lists connection/],
    ['another default', (page: string) => page.replace('| `max_windows` | 20 |', '| `max_windows` | 21 |'), /not 21/],
    ['no default', (page: string) => page.replace('| `max_windows` | 20 |', '| `max_windows` | none |'), /not none/],
    ['another bound', (page: string) => page.replace('; 1 to 10000', '; 1 to 10001'), /does not take 10001/],
    ['a narrower bound', (page: string) => page.replace('; 1 to 10000', '; 1 to 9999'), /takes 10000/],
    ['another word', (page: string) => page.replace("`'newest'` or `'oldest'`", "`'newest'` or `'old'`"), /take old/],
  ])('would not be right with %s: the comparison sees it', (_what, change, finding) => {
    const page = change(read('docs/flows.md'));
    expect(page).not.toBe(read('docs/flows.md'));
    expect(optionFindings(page).join('\n')).toMatch(finding);
  });
});
