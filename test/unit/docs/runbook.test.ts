import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');

/** What an entry says, each at the start of a list item. */
const PARTS = ['- **Seen:**', '- **Means:**', '- **Do:**'];

/** The members of the type, which leaves nothing behind at run time. */
function errorCodes(): string[] {
  const [, union = ''] = /export type ErrorCode =([^;]*);/.exec(read('lib/errors.ts')) ?? [];
  return [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code);
}

/** What is wrong with the section of errors: codes without an entry, entries without a code, entries that say too little. */
function findings(runbook: string, codes: readonly string[]): string[] {
  const [, section = ''] = runbook.split('\n## Errors\n');
  const entries = new Map(
    section.split('\n### ').map((entry) => [entry.split('\n', 1)[0] ?? '', entry.split('\n').slice(1).join('\n')]),
  );
  entries.delete('');
  return [
    ...codes.filter((code) => !entries.has(code)).map((code) => `${code} has no entry`),
    ...[...entries]
      .slice(1)
      .flatMap(([title, text]) => [
        ...(codes.includes(title) ? [] : [`${title} is no error code`]),
        ...PARTS.filter((part) => !text.includes(part)).map((part) => `${title} does not say ${part}`),
      ]),
  ];
}

test('the runbook has an entry for every error code, and for no other', () => {
  const codes = errorCodes();
  expect(codes).toEqual(expect.arrayContaining(['invalid_request', 'duplicate_sink_key', 'internal']));
  expect(codes.length).toBeGreaterThan(20);
  expect(findings(read('docs/runbook.md'), codes)).toEqual([]);
});

test('a code without an entry is found, as are an entry without a code and one that says too little', () => {
  const runbook = read('docs/runbook.md')
    .replace('### deadlock\n', '### dead_lock\n')
    .replace('- **Means:** A flow of', '');
  expect(findings(runbook, errorCodes())).toEqual([
    'deadlock has no entry',
    'flow_exists does not say - **Means:**',
    'dead_lock is no error code',
  ]);
});
