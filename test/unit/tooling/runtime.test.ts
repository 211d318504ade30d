import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from './project-copy.ts';

const manifest = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
  devDependencies: Record<string, string>;
};
const pinned = `v${manifest.devDependencies.node}`;

test('the tests run on the major version of Node that Lambda runs', () => {
  expect(process.versions.node.split('.')[0]).toBe('24');
});

test('the tests run on the very version of Node that package.json pins, wherever npm was installed from', () => {
  expect(process.version).toBe(pinned);
});

test('a child started by execPath and one started as "node" run on the pinned version too', () => {
  const print = ['-p', 'process.version'];
  expect(execFileSync(process.execPath, print, { encoding: 'utf8' }).trim()).toBe(pinned);
  expect(execFileSync('node', print, { encoding: 'utf8' }).trim()).toBe(pinned);
});

test('npm puts the pinned Node in front of the one that the machine has', () => {
  // What a terminal has, before npm prepends node_modules/.bin.
  const PATH = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter);
  const version = execFileSync('npm', ['exec', '--offline', '-c', 'node -p process.version'], {
    cwd: PROJECT,
    env: { ...process.env, PATH },
    encoding: 'utf8',
  });
  expect(version.trim()).toBe(pinned);
});
