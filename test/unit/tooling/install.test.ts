import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT } from './project-copy.ts';

interface LockedPackage {
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

const read = (file: string): unknown => JSON.parse(readFileSync(join(PROJECT, file), 'utf8'));
const manifest = read('package.json') as Record<'allowScripts', Record<string, boolean>> &
  Record<'dependencies' | 'devDependencies', Record<string, string>>;
const locked = (read('package-lock.json') as { packages: Record<string, LockedPackage> }).packages;

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

test('npm 12 is told by name about every package that has an install script, and about no other', () => {
  const withScript = Object.keys(locked).filter((path) => locked[path]?.hasInstallScript === true);
  expect(withScript.map(nameOf)).toContain('node');
  expect(Object.keys(manifest.allowScripts).sort()).toEqual([...new Set(withScript.map(nameOf))].sort());
  expect(Object.values(manifest.allowScripts)).not.toContain(false);
});

/** The names that a package needs and that npm would look for, in vain, from the package's folder upwards. */
function missingFrom(packages: Record<string, LockedPackage>): string[] {
  return Object.entries(packages).flatMap(([path, { dependencies = {}, optionalDependencies = {} }]) => {
    const folders = path
      .split('/node_modules/')
      .map((_, index, parts) => `${parts.slice(0, index + 1).join('/node_modules/')}/`);
    return Object.keys({ ...dependencies, ...optionalDependencies })
      .filter(
        (name) => !['', ...folders].some((folder) => `${folder}node_modules/${name}`.replace(/^\//, '') in packages),
      )
      .map((name) => `${path} needs ${name}`);
  });
}

test('the lock file holds every package that another one names, optional ones too: npm ci refuses it otherwise', () => {
  expect(Object.keys(locked).length).toBeGreaterThan(100);
  expect(missingFrom(locked)).toEqual([]);
});

test('a package missing in the lock file is noticed', () => {
  const packages = { '': { dependencies: { a: '1' } }, 'node_modules/a': { optionalDependencies: { b: '1', c: '1' } } };
  expect(missingFrom({ ...packages, 'node_modules/a/node_modules/b': {} })).toEqual(['node_modules/a needs c']);
});

test('every version is pinned', () => {
  const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.length).toBeGreaterThan(20);
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});
