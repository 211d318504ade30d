import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT }).sort();
const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');

/** Without fenced blocks, in which brackets are no links. */
const prose = (markdown: string): string => markdown.replace(/^```[\s\S]*?^```/gm, '');

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (markdown: string): string[] =>
  [...prose(markdown).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );

/** The links of a page that lead nowhere. */
function broken(page: string, markdown: string): string[] {
  return [...prose(markdown).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^https?:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(PROJECT, file)) || relative('.', file).startsWith('..'))
      return [`${page}: ${target}: no such file`];
    if (anchor === undefined || anchorsOf(file === page ? markdown : read(file)).includes(anchor)) return [];
    return [`${page}: ${target}: no such heading`];
  });
}

test('every link of the documentation leads somewhere', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/architecture.md']));
  const links = pages.flatMap((page) => [...prose(read(page)).matchAll(/\]\(/g)]);
  expect(links.length).toBeGreaterThan(40);
  expect(pages.flatMap((page) => broken(page, read(page)))).toEqual([]);
});

test('every decision record is listed, and is short', () => {
  const records = pages.filter((page) => /^docs\/adr\/\d/.test(page));
  const list = read('docs/adr/README.md');
  expect(records.length).toBeGreaterThan(10);
  expect(records.filter((page) => !list.includes(`(${page.slice('docs/adr/'.length)})`))).toEqual([]);
  expect(records.filter((page) => read(page).split('\n').length > 41)).toEqual([]);
});

test('a link to a file or a heading that is not there is found', () => {
  const page =
    '# One heading, of `two`\n[a](#one-heading-of-two) [b](#two) [c](docs/gone.md) [d](docs/api.md#gone) [e](../..)\n';
  expect(broken('README.md', page)).toEqual([
    'README.md: #two: no such heading',
    'README.md: docs/gone.md: no such file',
    'README.md: docs/api.md#gone: no such heading',
    'README.md: ../..: no such file',
  ]);
});

/** What code, lint messages and import rules say of the architecture page. */
const cited = (text: string): string[] => [
  ...[...text.matchAll(/architecture\.md, rule (\d+)/g)].map(([, number = '']) => `${number}. **`),
  ...[...text.matchAll(/architecture\.md, section (\d+)/g)].map(([, number = '']) => `## ${number}. `),
];

test('the rules and sections of the architecture page that messages cite are there', () => {
  const citing = ['eslint.config.js', '.dependency-cruiser.js'].flatMap((file) => cited(read(file)));
  expect(citing).toEqual(['13. **', '## 4. ']);
  const lines = read('docs/architecture.md').split('\n');
  const missing = (starts: readonly string[]) =>
    starts.filter((start) => !lines.some((line) => line.startsWith(start)));
  expect(missing(citing)).toEqual([]);
  expect(missing(Array.from({ length: 13 }, (_, index) => `${index + 1}. **`))).toEqual([]);
  expect(missing(['14. **', '## 99. '])).toEqual(['14. **', '## 99. ']);
});
