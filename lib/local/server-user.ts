import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SluiceError } from '../errors.ts';

/** An account of this machine under which the database server runs when Sluice itself runs as root. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Accounts without rights that usually exist; the first one found is taken. */
const PREFERRED = ['postgres', 'nobody', 'daemon'];

export function parsePasswd(text: string): ServerUser[] {
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (!name || !uid || !gid || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}

export function chooseServerUser(accounts: readonly ServerUser[]): ServerUser | null {
  const unprivileged = accounts.filter((account) => account.uid > 0);
  for (const name of PREFERRED) {
    const found = unprivileged.find((account) => account.name === name);
    if (found !== undefined) return found;
  }
  return null;
}

/**
 * null unless this process is root, because PostgreSQL refuses to run as root. An existing data folder keeps its owner.
 */
export async function serverUser(dataFolder: string | null): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;
  const accounts = parsePasswd(await readFile('/etc/passwd', 'utf8'));
  if (dataFolder !== null) {
    const owner = await stat(dataFolder).then(
      (found) => found.uid,
      () => 0,
    );
    const account = accounts.find((candidate) => candidate.uid === owner);
    if (owner > 0 && account !== undefined) return account;
  }
  const user = chooseServerUser(accounts);
  if (user === null) {
    throw new SluiceError(
      'unsupported_server',
      `PostgreSQL does not run as root, and /etc/passwd has none of the users ${PREFERRED.join(', ')} to run it as. Start Sluice as an ordinary user.`,
    );
  }
  return user;
}

/** Whether `user` may pass through every folder above and including `folder`. */
export async function canTraverse(folder: string, user: ServerUser): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const found = await stat(path).catch(() => null);
    if (found === null) return false;
    const bit = found.uid === user.uid ? 0o100 : found.gid === user.gid ? 0o010 : 0o001;
    if ((found.mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}
