import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from './project-copy.ts';

// In pieces, so that this file may be searched too.
const FORBIDDEN = [
  ['shared', '/design'],
  ['/wo', 'rk/'],
  ['TO', 'DO'],
  ['FIX', 'ME'],
].map((pieces) => pieces.join(''));
// A hash in base64 may spell any word.
const UNSEARCHED = ['package-lock.json'];

const findings = (file: string, text: string): string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      FORBIDDEN.filter((word) => line.includes(word)).map((word) => `${file}:${index + 1} says ${word}`),
    );

const ignored = readFileSync(join(PROJECT, '.gitignore'), 'utf8').split('\n').concat('.git');

/** The project's own files, found without git: who unpacked an archive may run the tests too. */
function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(join(PROJECT, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (ignored.some((pattern) => matchesGlob(entry.name, pattern.replace(/\/$/, '')))) continue;
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

test('no file speaks of unfinished work or of a place outside of the project', () => {
  const files = [...filesIn('')].filter((file) => !UNSEARCHED.includes(file));
  expect(files).toEqual(expect.arrayContaining(['package.json', 'lib/errors.ts', '.ci/run']));
  expect(files.filter((file) => file.includes('node_modules'))).toEqual([]);
  expect(files.flatMap((file) => findings(file, readFileSync(join(PROJECT, file), 'utf8')))).toEqual([]);
});

test.each(FORBIDDEN)('"%s" is found, with its line', (word) => {
  expect(findings('a.ts', `const one = 1;\n// ${word}: later\n`)).toEqual([`a.ts:2 says ${word}`]);
});
