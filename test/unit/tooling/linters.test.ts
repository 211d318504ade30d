import { expect, test } from 'vitest';
import { projectCopy } from './project-copy.ts';

const CONFIGURATION = [
  '.gitignore',
  'package.json',
  'tsconfig.json',
  'biome.json',
  'eslint.config.js',
  'lib/errors.ts',
];

/** The rule that ESLint names for each line of a file; its compact form is gone, JSON stays. */
function rulesByLine(json: string, file: string): Map<number, string[]> {
  const results = JSON.parse(json) as { filePath: string; messages: { line: number; ruleId: string | null }[] }[];
  const found = new Map<number, string[]>();
  for (const { line, ruleId } of results.find(({ filePath }) => filePath.endsWith(file))?.messages ?? []) {
    found.set(line, [...(found.get(line) ?? []), ruleId ?? 'parse error']);
  }
  return found;
}

/** Checks that each line that ends in a comment `// <rule>` breaks that rule, and that no other line breaks any. */
function expectMarkedLines(text: string, found: Map<number, string[]>): void {
  const lines = text.split('\n');
  const expected = lines.flatMap((line, index) => {
    const rule = / \/\/ breaks (\S+)$/.exec(line)?.[1];
    return rule === undefined ? [] : [`${index + 1} ${rule}`];
  });
  expect(expected.length).toBeGreaterThan(0);
  const reported = [...found].flatMap(([line, rules]) => [...new Set(rules)].map((rule) => `${line} ${rule}`));
  expect(reported.sort()).toEqual(expected.sort());
}

const floating = `import { readFile } from 'node:fs/promises';
import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import pg from 'pg';

async function own(): Promise<void> {
  await readFile('own');
}

export interface Port {
  write(): Promise<void>;
}

export async function floats(port: Port, pool: pg.Pool, maybe?: () => Promise<void>): Promise<void> {
  own(); // breaks @typescript-eslint/no-floating-promises
  port.write(); // breaks @typescript-eslint/no-floating-promises
  maybe?.(); // breaks @typescript-eslint/no-floating-promises
  readFile('built-in'); // breaks @typescript-eslint/no-floating-promises
  pool.query('SELECT 1'); // breaks @typescript-eslint/no-floating-promises
  new DynamoDBClient({}).send(new ListTablesCommand({})); // breaks @typescript-eslint/no-floating-promises
  own().then(() => own()); // breaks @typescript-eslint/no-floating-promises
  Promise.all([own()]); // breaks @typescript-eslint/no-floating-promises
  [1].map(() => own()); // breaks @typescript-eslint/no-floating-promises
  void own(); // breaks @typescript-eslint/no-floating-promises
  setTimeout(own, 1); // breaks @typescript-eslint/no-misused-promises
  await own();
  await Promise.all([own(), port.write()]);
  own().catch(() => process.exit(1));
}
`;

const impure = `export const now = Date.now(); // breaks no-restricted-properties
export const today = new Date(); // breaks no-restricted-syntax
export const text = Date(); // breaks no-restricted-syntax
export const renamed = [Date].map((clock) => clock.now());
export const clock = Date['now']; // breaks no-restricted-properties
export const chance = Math.random(); // breaks no-restricted-properties
export const home = process.env.HOME; // breaks no-restricted-globals
export const id = crypto.randomUUID(); // breaks no-restricted-globals
export const started = performance.now(); // breaks no-restricted-globals
export const late = setTimeout(() => 1, 1); // breaks no-restricted-globals
export const hidden = globalThis.setTimeout; // breaks no-restricted-globals
export const files = await import('node:fs'); // breaks no-restricted-syntax
export const pure = [new Date(0), Date.UTC(2020, 1), Math.max(1, 2)];
`;

test('ESLint finds a promise that floats, also one of another package or of Node, and passes one that is awaited', async () => {
  await using copy = await projectCopy(...CONFIGURATION);
  await copy.write('lib/floats.ts', floating);
  const { code, stdout } = await copy.run('eslint', '--format', 'json');
  expect(code).toBe(1);
  expectMarkedLines(floating, rulesByLine(stdout, 'floats.ts'));
});

test('ESLint finds each way of a pure room to the clock, to chance and to the environment, and passes pure uses', async () => {
  await using copy = await projectCopy(...CONFIGURATION);
  const files = ['window', 'flow', 'sql', 'engine', 'jobs'].map((room) => `lib/${room}/impure.ts`);
  for (const file of files) await copy.write(file, impure);
  const { code, stdout } = await copy.run('eslint', '--format', 'json');
  expect(code).toBe(1);
  for (const file of files) expectMarkedLines(impure, rulesByLine(stdout, file));
});

test('an edge may read the clock', async () => {
  await using copy = await projectCopy(...CONFIGURATION);
  await copy.write('lib/local/clock.ts', 'export const now = (): number => Date.now();\n');
  const { code, stdout, stderr } = await copy.run('eslint');
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: '' });
});

const biome = async (file: string, text: string) => {
  await using copy = await projectCopy(...CONFIGURATION);
  await copy.write(file, text);
  // Awaited here: the copy is gone once this function returns.
  return await copy.run('biome', 'ci', '--error-on-warnings', '--colors=off');
};

test('Biome passes a clean file', async () => {
  const { code, stderr } = await biome('lib/clean.ts', "export const one = (): string => 'one';\n");
  expect(stderr).toMatch(/^Checked \d+ files in \S+ No fixes applied\.\n$/);
  expect(code).toBe(0);
});

test.each([
  ['format', 'lib/bad.ts', 'export const one = "one"\n'],
  ['noExplicitAny', 'lib/bad.ts', 'export const one = (x: any): unknown => x;\n'],
  ['noNonNullAssertion', 'lib/bad.ts', 'export const one = (x?: string): string => x!;\n'],
  ['useImportType', 'lib/bad.ts', "import { SluiceError } from './errors.ts';\n\nexport type One = SluiceError;\n"],
  ['useImportExtensions', 'lib/bad.ts', "export { SluiceError } from './errors';\n"],
  ['noEnum', 'lib/bad.ts', 'export enum One {\n  A = 1,\n}\n'],
  ['useFilenamingConvention', 'lib/badName.ts', 'export const one = 1;\n'],
  ['noConsole', 'lib/bad.ts', "console.log('one');\n"],
  ['noUnusedVariables', 'lib/bad.ts', 'const one = 1;\n'],
  ['noSkippedTests', 'test/bad.test.ts', "test.skip('one', () => {});\n"],
  ['noFocusedTests', 'test/bad.test.ts', "test.only('one', () => {});\n"],
])('Biome finds what breaks %s', async (rule, file, text) => {
  const { code, stdout, stderr } = await biome(file, text);
  expect(stdout + stderr).toContain(rule);
  expect(code).toBe(1);
});
