import { chmod } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { type ProjectCopy, projectCopy, runProgram } from './project-copy.ts';

const report = (...states: string[]): string =>
  JSON.stringify({
    numTotalTests: states.length,
    numPassedTests: states.filter((status) => status === 'passed').length,
    numFailedTests: states.filter((status) => status === 'failed').length,
    testResults: [{ status: 'passed', assertionResults: states.map((status) => ({ status })) }],
  });

/** Runs .ci/run where `npm` is a stand-in that notes its arguments, leaves a report, and fails when told to. */
async function ciRun(copy: ProjectCopy, failing: string, written: string) {
  const script = [
    '#!/bin/sh',
    'echo "$*" >> calls',
    'mkdir -p reports',
    `if [ "$1" = test ]; then printf '%s' '${written}' > reports/tests.json; fi`,
    'test ! -t 0 || exit 9',
    `case "$*" in "${failing}"*) exit 1 ;; esac`,
  ];
  await copy.write('bin/npm', `${script.join('\n')}\n`);
  await chmod(join(copy.folder, 'bin/npm'), 0o755);
  const PATH = [join(copy.folder, 'bin'), process.env.PATH].join(delimiter);
  const { code, stdout } = await runProgram(copy.folder, join(copy.folder, '.ci/run'), [], { PATH });
  return { code, lines: stdout.trim().split('\n') };
}

test('a run in which all passes ends with the totals of the tests and with success', async () => {
  await using copy = await projectCopy('.ci');
  const { code, lines } = await ciRun(copy, 'nothing', report('passed', 'passed'));
  expect(lines.at(-2)).toBe('2 passed, 0 failed');
  expect(lines.at(-1)).toMatch(/^All stages passed after \d+ s$/);
  expect(code).toBe(0);
  const stages = ['install', 'lint', 'types', 'imports', 'deadcode', 'test'];
  expect(lines.filter((line) => line.startsWith('<==')).map((line) => line.split(' ')[1])).toEqual(stages);
});

test.each(['lint', 'types', 'imports', 'deadcode'])(
  'a failed stage %s fails the run, and the later ones run nevertheless',
  async (stage) => {
    await using copy = await projectCopy('.ci');
    const { code, lines } = await ciRun(copy, `run ${stage}`, report('passed'));
    expect(lines.some((line) => line.startsWith('<== test passed'))).toBe(true);
    expect(lines.at(-2)).toBe('1 passed, 0 failed');
    expect(lines.at(-1)).toMatch(new RegExp(`^FAILED: ${stage}, after \\d+ s$`));
    expect(code).toBe(1);
  },
);

test('without its packages the run ends at once', async () => {
  await using copy = await projectCopy('.ci');
  const { code, lines } = await ciRun(copy, 'ci', report('passed'));
  expect(lines.filter((line) => line.startsWith('==>'))).toHaveLength(1);
  expect(code).toBe(1);
});

test.each([
  ['a failed test', report('passed', 'failed'), '1 passed, 1 failed'],
  ['a skipped test', report('passed', 'skipped'), '1 passed, 0 failed, 1 not run'],
  ['no test at all', report(), '0 passed, 0 failed'],
])('%s fails the run even if npm test says nothing', async (_, written, totals) => {
  await using copy = await projectCopy('.ci');
  const { code, lines } = await ciRun(copy, 'nothing', written);
  expect(lines.at(-2)).toBe(totals);
  expect(lines.at(-1)).toMatch(/^FAILED: totals, after \d+ s$/);
  expect(code).toBe(1);
});

test('of a real report of vitest each failed test and each file that does not load counts as failed', async () => {
  await using copy = await projectCopy('.ci');
  const head = "import { expect, test } from 'vitest';\n";
  await copy.write(
    'a.test.ts',
    `${head}test('a', () => {});\ntest('b', () => expect(1).toBe(2));\ntest.skip('c', () => {});\n`,
  );
  await copy.write('b.test.ts', `import './missing.ts';\n${head}test('d', () => {});\n`);
  await copy.write('c.test.ts', `${head}test('e', () => {});\n`);
  await copy.run('vitest', 'run', '--root', copy.folder, '--reporter=json', '--outputFile=reports/tests.json');
  const { code, stdout } = await copy.run('node', '.ci/test-totals.ts');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '2 passed, 2 failed, 1 not run\n' });
});
