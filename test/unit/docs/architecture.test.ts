import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(PROJECT, file), 'utf8');
const foldersIn = (folder: string): string[] =>
  readdirSync(join(PROJECT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);

/** The text of a numbered section. */
const section = (page: string, number: number): string =>
  page.split(/^## /m).find((part) => part.startsWith(`${number}. `)) ?? '';

/** Rooms of lib, folders of test, calls of ports, variables of functions that the pages do not name, or name in vain. */
function findings(architecture: string, runbook: string): string[] {
  const rooms = section(architecture, 4);
  const ports = section(architecture, 5);
  const shown = {
    lib: [...rooms.matchAll(/^ {2}(\w+)\//gm)].map(([, room = '']) => room),
    test: [...(/^test\/ +(.*)$/m.exec(rooms)?.[1] ?? '').matchAll(/(\w+)\//g)].map(([, folder = '']) => folder),
    FlowStore: callsShown(ports, 'FlowStore'),
    Frontend: callsShown(ports, 'Frontend'),
    Schedule: callsShown(ports, 'Schedule'),
    variables: [...runbook.matchAll(/^\| `(SLUICE_\w+)`/gm)].map(([, name = '']) => name),
  };
  const real: Record<keyof typeof shown, string[]> = {
    lib: foldersIn('lib'),
    test: foldersIn('test').filter((folder) => folder !== 'support'),
    FlowStore: callsOf('lib/store/flow-store.ts', 'FlowStore'),
    Frontend: callsOf('lib/frontend/frontend.ts', 'Frontend'),
    Schedule: callsOf('lib/schedule/schedule.ts', 'Schedule'),
    variables: [...new Set(read('functions/settings.ts').match(/SLUICE_\w+/g))],
  };
  return (Object.keys(shown) as (keyof typeof shown)[]).flatMap((kind) => [
    ...real[kind].filter((name) => !shown[kind].includes(name)).map((name) => `${kind}: ${name} is not named`),
    ...shown[kind].filter((name) => !real[kind].includes(name)).map((name) => `${kind}: ${name} does not exist`),
  ]);
}

function callsShown(text: string, port: string): string[] {
  const [, list = ''] = new RegExp(`^${port} +((?:[\\w, ]|\\n {4})*)`, 'm').exec(text) ?? [];
  return list.match(/\w+/g) ?? [];
}

function callsOf(file: string, port: string): string[] {
  const [, body = ''] = new RegExp(`interface ${port} \\{\\n([\\s\\S]*?)\\n\\}`).exec(read(file)) ?? [];
  return [...body.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = '']) => name);
}

test('rooms, ports and settings are those of the code', () => {
  expect(callsOf('lib/store/flow-store.ts', 'FlowStore').length).toBeGreaterThan(10);
  expect(findings(read('docs/architecture.md'), read('docs/runbook.md'))).toEqual([]);
});

test('one that is not named, or does not exist, is found', () => {
  const architecture = read('docs/architecture.md')
    .replace('  window/ ', '  door/ ')
    .replace(' model/', '')
    .replace('abort, settle,', 'abort, unsettle,')
    .replace('put, enable,', 'put,');
  expect(findings(architecture, read('docs/runbook.md').replace('`SLUICE_TABLE`', '`SLUICE_CHAIR`'))).toEqual([
    'lib: window is not named',
    'lib: door does not exist',
    'test: model is not named',
    'FlowStore: settle is not named',
    'FlowStore: unsettle does not exist',
    'Schedule: enable is not named',
    'variables: SLUICE_TABLE is not named',
    'variables: SLUICE_CHAIR does not exist',
  ]);
});
