import { expect, test } from 'vitest';
import { projectCopy } from './project-copy.ts';

test('knip finds an unused export, an unused file and an unused package, and passes what is used', async () => {
  await using copy = await projectCopy('knip.json', 'tsconfig.json');
  const dependencies = { pg: '*', zod: '*' };
  await copy.write('package.json', JSON.stringify({ name: 'copy', type: 'module', scripts: {}, dependencies }));
  await copy.write('lib/used.ts', 'export const used = 1;\nexport const unusedExport = 2;\n');
  await copy.write('lib/unused-file.ts', 'export const one = 1;\n');
  await copy.write(
    'functions/tick.ts',
    "import pg from 'pg';\nimport { used } from '../lib/used.ts';\n\nexport const handler = [pg, used];\n",
  );
  const { code, stdout } = await copy.run('knip', '--reporter', 'json');
  expect(code).toBe(1);
  const { issues } = JSON.parse(stdout) as { issues: Record<string, { name: string }[]>[] };
  const names = (kind: string): string[] => issues.flatMap((issue) => issue[kind] ?? []).map(({ name }) => name);
  expect({ files: names('files'), exports: names('exports'), dependencies: names('dependencies') }).toEqual({
    files: ['lib/unused-file.ts'],
    exports: ['unusedExport'],
    dependencies: ['zod'],
  });
});
