import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PROJECT, type ProjectCopy, projectCopy, runTool } from './project-copy.ts';

interface Report {
  readonly modules: { source: string }[];
  readonly summary: { violations: { from: string; to: string; rule: { name: string } }[] };
}

const CRUISE = ['--config', '.dependency-cruiser.js', '--output-type', 'json', 'lib', 'functions', 'cdk', 'test'];

/** The rules of dependency-cruiser look at paths only, so that a room's every module can be a stand-in. */
async function cruise(files: Record<string, string>): Promise<Report> {
  await using copy = await projectCopy('.dependency-cruiser.js', 'tsconfig.json', 'package.json');
  return await cruiseCopy(copy, { 'functions/tick.ts': '', 'cdk/app.ts': '', 'test/a.ts': '', ...files });
}

async function cruiseCopy(copy: ProjectCopy, files: Record<string, string>): Promise<Report> {
  for (const [file, text] of Object.entries(files)) await copy.write(file, text);
  const { stdout, stderr } = await copy.run('depcruise', ...CRUISE);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Report;
}

const sourcesOf = (folder: string): string[] =>
  readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

test('the check sees every module of the project, and all keep the directions', async () => {
  const { stdout, stderr } = await runTool(PROJECT, 'depcruise', CRUISE);
  expect(stderr).toBe('');
  const { modules, summary } = JSON.parse(stdout) as Report;
  const seen = new Set(modules.map(({ source }) => source));
  const sources = ['lib', 'functions', 'cdk', 'test'].flatMap(sourcesOf);
  expect(sources.length).toBeGreaterThan(40);
  expect(sources.filter((source) => !seen.has(source))).toEqual([]);
  expect(summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
});

const PORT = 'lib/store/flow-store.ts';
const importing = (specifier: string) => `import { x } from '${specifier}';\nexport const y = x;\n`;
const importingType = (specifier: string) => `import type { X } from '${specifier}';\nexport type Y = X;\n`;
const exporting = 'export type X = string;\nexport const x = 1;\n';

/** [the file that imports, what it imports, the rules that refuse it]: none means that it is allowed. */
const CASES: readonly [file: string, text: string, ...rules: string[]][] = [
  ['lib/flow/a.ts', importing('../window/x.ts')],
  ['lib/sql/a.ts', importing('../flow/x.ts')],
  ['lib/engine/a.ts', importing('../window/x.ts')],
  ['lib/engine/b.ts', importingType('../store/flow-store.ts')],
  ['lib/api/a.ts', importing('../engine/x.ts')],
  ['lib/local/a.ts', importing('../store/dynamodb/x.ts')],
  ['lib/local/b.ts', importing('../../functions/x.ts')],
  ['functions/a.ts', importing('../lib/store/dynamodb/x.ts')],
  ['cdk/a.ts', importing('../functions/x.ts')],
  ['test/b.ts', importing('../lib/local/x.ts')],
  ['lib/store/dynamodb/a.ts', importing('@aws-sdk/client-dynamodb')],
  ['lib/sql/b.ts', importing('libpg-query')],

  ['lib/window/a.ts', importing('../flow/x.ts'), 'window-imports-only-its-rooms'],
  ['lib/window/b.ts', importing('node:fs'), 'window-does-no-io'],
  ['lib/window/c.ts', importing('pg'), 'window-imports-only-its-packages'],
  ['lib/flow/b.ts', importing('../sql/x.ts'), 'flow-imports-only-its-rooms'],
  ['lib/flow/c.ts', importingType('../engine/x.ts'), 'flow-imports-only-its-rooms'],
  ['lib/flow/d.ts', importing('@aws-sdk/client-dynamodb'), 'flow-imports-only-its-packages'],
  ['lib/flow/e.ts', importing('node:process'), 'flow-does-no-io'],
  ['lib/sql/c.ts', importing('../engine/x.ts'), 'sql-imports-only-its-rooms'],
  ['lib/sql/d.ts', importing('../frontend/postgres/x.ts'), 'sql-imports-only-its-rooms'],
  ['lib/engine/c.ts', importing('../sql/x.ts'), 'engine-imports-only-its-rooms'],
  ['lib/engine/d.ts', importingType('../store/dynamodb/x.ts'), 'engine-imports-only-its-rooms'],
  ['lib/engine/e.ts', importing('../store/flow-store.ts'), 'ports-for-their-types-only'],
  ['lib/engine/f.ts', importing('node:crypto'), 'engine-does-no-io'],
  ['lib/engine/g.ts', importing('zod'), 'engine-imports-only-its-packages'],
  ['lib/store/dynamodb/b.ts', importing('../../engine/x.ts'), 'store-imports-only-its-rooms'],
  ['lib/store/dynamodb/c.ts', importing('../memory/x.ts'), 'adapters-know-no-other-adapter'],
  [
    'lib/store/dynamodb/d.ts',
    importing('../../frontend/postgres/x.ts'),
    'adapters-know-no-other-adapter',
    'store-imports-only-its-rooms',
  ],
  ['lib/frontend/postgres/a.ts', importing('../../sql/x.ts'), 'frontend-imports-only-its-rooms'],
  ['lib/schedule/a.ts', importing('../api/x.ts'), 'schedule-imports-only-its-rooms'],
  ['lib/telemetry/a.ts', importing('../engine/x.ts'), 'telemetry-knows-the-engine-by-its-types'],
  ['lib/api/b.ts', importing('../store/dynamodb/x.ts'), 'api-imports-only-its-rooms'],
  ['lib/api/c.ts', importing('../../functions/x.ts'), 'api-imports-only-its-rooms', 'nothing-imports-a-handler'],
  ['lib/api/d.ts', importing('../local/x.ts'), 'api-imports-only-its-rooms', 'nothing-imports-the-local-default'],
  ['lib/local/c.ts', importing('../../test/x.ts'), 'nothing-imports-a-test'],
  ['lib/local/d.ts', importing('fast-check'), 'no-development-package-in-the-product'],
  ['lib/local/e.ts', importing('../../cdk/x.ts'), 'nothing-imports-the-deployment'],
  ['lib/new-room/a.ts', importing('../window/x.ts'), 'every-room-is-listed'],
  ['functions/b.ts', importing('../lib/engine/missing.ts'), 'no-unresolvable-import'],
  ['lib/jobs/a.ts', importing('./b.ts'), 'no-cycles'],
  ['lib/jobs/b.ts', importing('./a.ts')], // a cycle is reported once
  ['lib/frontend/frontend.ts', importingType('./postgres/x.ts'), 'ports-know-no-adapter'],
];

test('each direction that is wrong is refused by its rule, and each that is right passes', async () => {
  const rooms = [
    'window',
    'flow',
    'sql',
    'engine',
    'local',
    'api',
    'store/dynamodb',
    'store/memory',
    'frontend/postgres',
  ];
  const targets = [...rooms.map((room) => `lib/${room}/x.ts`), 'functions/x.ts', 'cdk/x.ts', 'test/x.ts', PORT];
  const { summary } = await cruise({
    ...Object.fromEntries(targets.map((target) => [target, exporting])),
    ...Object.fromEntries(CASES.map(([file, text]) => [file, text])),
  });
  const refused = summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`);
  expect(refused.sort()).toEqual(CASES.flatMap(([file, , ...rules]) => rules.map((rule) => `${file}: ${rule}`)).sort());
});

test('a bad import in the project itself is found', async () => {
  await using copy = await projectCopy(
    '.dependency-cruiser.js',
    'tsconfig.json',
    'package.json',
    'lib',
    'functions',
    'cdk',
  );
  const { summary } = await cruiseCopy(copy, {
    'test/a.ts': '',
    'lib/window/wrong.ts': "export type { FlowDefinition } from '../flow/definition.ts';\n",
  });
  expect(summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`)).toContain(
    'lib/window/wrong.ts: window-imports-only-its-rooms',
  );
});
