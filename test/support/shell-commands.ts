import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';

// Stand-ins for the two commands that the documentation shows beside npm, for machines that have Node.js only. They know the flags
// that the documentation uses, and fail on any other.

const HERE = fileURLToPath(import.meta.url);
const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = { curl, psql };

/** Puts `curl` and `psql` into `folder`, for a PATH. */
export async function writeStandIns(folder: string): Promise<void> {
  for (const name of Object.keys(COMMANDS)) {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${HERE}" ${name} "$@"\n`);
    await chmod(path, 0o755);
  }
}

async function curl(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      silent: { type: 'boolean', short: 's' },
      request: { type: 'string', short: 'X' },
      header: { type: 'string', short: 'H', multiple: true },
      data: { type: 'string', short: 'd' },
    },
  });
  const [url = ''] = positionals;
  const given = (values.header ?? []).map((line): [string, string] => {
    const [name = '', ...value] = line.split(':');
    return [name, value.join(':').trim()];
  });
  // As curl does: a form unless a header says otherwise, and of a file no line breaks.
  const headers = new Headers(values.data === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' });
  for (const [name, value] of given) headers.set(name, value);
  const body = values.data === '@-' ? readFileSync(0, 'utf8').replace(/[\r\n]/g, '') : values.data;
  const method = values.request ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  process.stdout.write(await response.text());
}

async function psql(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { command: { type: 'string', short: 'c', multiple: true } },
  });
  const client = new pg.Client({ connectionString: positionals[0] });
  await client.connect();
  try {
    for (const command of values.command ?? []) {
      const { rows } = await client.query({ text: command, rowMode: 'array' });
      for (const row of rows as unknown[][]) process.stdout.write(`${row.map(String).join('|')}\n`);
    }
  } finally {
    await client.end();
  }
}

if (process.argv[1] === HERE) {
  const [name = '', ...args] = process.argv.slice(2);
  await COMMANDS[name]?.(args);
}
