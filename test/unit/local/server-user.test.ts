import { describe, expect, it } from 'vitest';
import { chooseServerUser, parsePasswd } from '../../../lib/local/server-user.ts';

const ACCOUNTS = parsePasswd(
  [
    'root:x:0:0:root:/root:/bin/bash',
    'daemon:x:1:1::/usr/sbin:/usr/sbin/nologin',
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
    'postgres:x:101:104::/var/lib/postgresql:/bin/bash',
    '# a comment',
    'broken:x:many:1::/:',
    '',
  ].join('\n'),
);

describe('the user that the server runs as', () => {
  it('is read from lines that are whole', () => {
    expect(ACCOUNTS.map(({ name }) => name)).toEqual(['root', 'daemon', 'nobody', 'postgres']);
  });

  it('is one without rights, by preference', () => {
    expect(chooseServerUser(ACCOUNTS)).toEqual({ name: 'postgres', uid: 101, gid: 104 });
    expect(chooseServerUser(ACCOUNTS.filter(({ name }) => name !== 'postgres'))?.name).toBe('nobody');
    expect(chooseServerUser(ACCOUNTS.filter(({ uid }) => uid === 0))).toBeNull();
  });

  it('is never root under another name', () => {
    expect(chooseServerUser(parsePasswd('nobody:x:0:0:::\n'))).toBeNull();
  });
});
