import { expect, test } from 'vitest';
import { shownCommands } from '../../support/fenced-commands.ts';

const texts = (markdown: string): string[] => shownCommands('a.md', markdown).map(({ text }) => text);
const fence = (language: string, ...lines: string[]): string =>
  ['Text', `\`\`\`${language}`, ...lines, '```', ''].join('\n');

test('each line of a shell fence is a command, told by file and line', () => {
  expect(shownCommands('a.md', fence('sh', 'npm ci', '', 'npm test'))).toEqual([
    { file: 'a.md', line: 3, text: 'npm ci' },
    { file: 'a.md', line: 5, text: 'npm test' },
  ]);
});

test('commands joined by && or a semicolon are commands of their own, comments are none', () => {
  expect(texts(fence('bash', '# first', 'npm ci && npm start # runs on', 'a; b'))).toEqual([
    'npm ci',
    'npm start',
    'a',
    'b',
  ]);
});

test('quotes keep what looks like an end, over several lines too', () => {
  const curl = ["curl -d '{", '  "sql": "a && b; c # d"', "}' http://localhost"];
  expect(texts(fence('sh', ...curl, 'next'))).toEqual([curl.join('\n'), 'next']);
  expect(texts(fence('sh', 'echo "a\\" && b"', 'next'))).toEqual(['echo "a\\" && b"', 'next']);
});

test('a backslash at the end of a line joins the next one', () => {
  expect(texts(fence('sh', 'curl \\', '  -X POST \\', '  http://localhost', 'next'))).toEqual([
    'curl -X POST http://localhost',
    'next',
  ]);
});

test('a here-document belongs to its command', () => {
  expect(texts(fence('sh', "psql <<'SQL'", 'SELECT 1', 'SQL', 'next'))).toEqual([
    "psql <<'SQL'\nSELECT 1\nSQL",
    'next',
  ]);
});

test('of a session only the lines after the prompt are commands', () => {
  expect(texts(fence('console', '$ npm test', ' 3 passed', '> quoted output', '$ a \\', '> b', 'done'))).toEqual([
    'npm test',
    'a b',
  ]);
});

test('fences of other languages, longer fences around fences, and fences in lists', () => {
  expect(texts(fence('sql', 'npm test'))).toEqual([]);
  expect(texts('````md\n```sh\nnpm test\n```\n````\n')).toEqual([]);
  expect(texts('1. First\n\n   ```sh\n   npm test\n   ```\n')).toEqual(['npm test']);
  expect(texts('~~~sh\nnpm test\n~~~\n')).toEqual(['npm test']);
});

test('a fence in which a command could hide is refused', () => {
  expect(() => texts('```\nnpm test\n```\n')).toThrow('a.md:1: the fence names no language');
  expect(() => texts('```sh\nnpm test\n')).toThrow('a.md:1: the fence is not closed');
  expect(() => texts(fence('console', 'npm test'))).toThrow('a.md:2: a session without a line that starts with "$ "');
});
