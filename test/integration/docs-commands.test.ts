import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type ShownCommand, shownCommands } from '../support/fenced-commands.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** Who runs a command that the documentation shows. */
interface Runner {
  readonly command: RegExp;
  /** The test, or the stage of CI, that runs it on every change. */
  readonly runBy: string;
  /** Text of that file without which it would not run the command. */
  readonly proof: string;
}

const RUNNERS: readonly Runner[] = [
  { command: /^npm ci$/, runBy: '.ci/run', proof: 'npm ci' },
  { command: /^npm test$/, runBy: '.ci/run', proof: 'npm test' },
  { command: /^npm start$/, runBy: 'test/integration/readme.test.ts', proof: "spawn('npm', ['start'" },
  {
    command: /^(API|DATABASE)=/,
    runBy: 'test/integration/readme.test.ts',
    proof: "blocksOf('README.md')",
  },
  {
    command: /^(curl|psql) .*"\$(API|DATABASE)/,
    runBy: 'test/integration/readme.test.ts',
    proof: "blocksOf('docs/api.md')",
  },
];

const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');
const pages = globSync(['README.md', 'docs/**/*.md'], { cwd: PROJECT }).sort();
const shown = (): ShownCommand[] => pages.flatMap((page) => shownCommands(page, read(page)));

/** The commands that no runner claims, each with what to do about it. */
const unclaimed = (commands: readonly ShownCommand[], runners: readonly Runner[]): string[] =>
  commands
    .filter(({ text }) => !runners.some(({ command }) => command.test(text)))
    .map(
      ({ file, line, text }) =>
        `${file}:${line}: no test runs "${text}". Write one, then name it in RUNNERS of test/integration/docs-commands.test.ts.`,
    );

/** The claims that do not hold: the runner is gone, does not run the command, or the command is shown nowhere. */
const falseClaims = (commands: readonly ShownCommand[], runners: readonly Runner[]): string[] =>
  runners.flatMap(({ command, runBy, proof }) => {
    if (!existsSync(join(PROJECT, runBy))) return [`${command}: ${runBy} does not exist`];
    if (!read(runBy).includes(proof)) return [`${command}: ${runBy} does not say "${proof}"`];
    return commands.some(({ text }) => command.test(text)) ? [] : [`${command}: no page shows it; remove the entry`];
  });

test('every command that the documentation shows is run by a test', () => {
  expect(pages).toContain('README.md');
  expect(shown().map(({ text }) => text)).toEqual(expect.arrayContaining(['npm ci', 'npm start', 'npm test']));
  expect(unclaimed(shown(), RUNNERS)).toEqual([]);
});

test('every runner exists, runs its command, and is still needed', () => {
  expect(falseClaims(shown(), RUNNERS)).toEqual([]);
});

test('every npm script that the documentation shows exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const used = shown().flatMap(({ text }) => {
    const npm = /^npm (?:run ([\w:-]+)|(start|test)\b)/.exec(text);
    return npm === null ? [] : [npm[1] ?? npm[2] ?? ''];
  });
  expect(used).toContain('start');
  expect(used.filter((script) => !(script in scripts))).toEqual([]);
});

test('a command without a runner is found, as are a runner without a file, without a proof and without a command', () => {
  const commands = [{ file: 'README.md', line: 7, text: 'npm run unheard-of' }];
  expect(unclaimed(commands, RUNNERS)).toEqual([
    expect.stringContaining('README.md:7: no test runs "npm run unheard-of"'),
  ]);
  expect(unclaimed(commands, [{ command: /unheard/, runBy: 'package.json', proof: '' }])).toEqual([]);
  expect(
    falseClaims(commands, [
      { command: /unheard/, runBy: 'test/gone.test.ts', proof: '' },
      { command: /unheard/, runBy: 'package.json', proof: 'unheard-of' },
      { command: /never/, runBy: 'package.json', proof: 'sluice' },
      { command: /unheard/, runBy: 'package.json', proof: 'sluice' },
    ]),
  ).toEqual([
    '/unheard/: test/gone.test.ts does not exist',
    '/unheard/: package.json does not say "unheard-of"',
    '/never/: no page shows it; remove the entry',
  ]);
});
