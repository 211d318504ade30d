import { rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Where a script finds the servers. The database URL holds a password, so only the owner may read the file. */
export async function writeReadyFile(
  path: string,
  urls: { readonly api: string; readonly database: string },
): Promise<void> {
  // Renamed into place: whoever waits for the file never reads half of it.
  const fresh = `${resolve(path)}.${process.pid}`;
  await writeFile(fresh, `${JSON.stringify(urls)}\n`, { mode: 0o600 });
  await rename(fresh, resolve(path));
}

/** One that an earlier run left behind would send scripts to servers that are gone. */
export async function removeReadyFile(path: string): Promise<void> {
  await rm(resolve(path), { force: true });
}
