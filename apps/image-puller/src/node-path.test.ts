import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodePath } from './small-file.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-node-'));
  await mkdir(join(root, 'etc/docker/certs.d/a.test'), { recursive: true });
  await mkdir(join(root, 'etc/pki'), { recursive: true });
  await writeFile(join(root, 'etc/pki/ca.crt'), 'x');
  const links: [string, string][] = [
    ['/etc/pki/ca.crt', 'etc/docker/certs.d/a.test/absolute.crt'],
    ['../../../pki/ca.crt', 'etc/docker/certs.d/a.test/relative.crt'],
    ['absolute.crt', 'etc/docker/certs.d/a.test/twice.crt'],
    ['/etc/gone/ca.crt', 'etc/docker/certs.d/a.test/dangling.crt'],
    ['/etc/docker/certs.d/a.test', 'etc/docker/certs.d/b.test'],
    ['loop.crt', 'etc/docker/certs.d/a.test/loop.crt'],
    ['../../../../../../../../etc/pki/ca.crt', 'etc/docker/certs.d/a.test/above.crt'],
  ];
  for (const [target, at] of links) await symlink(target, join(root, at));
});
afterEach(() => rm(root, { recursive: true }));

test.each([
  { path: 'a.test/none.crt', want: '/etc/docker/certs.d/a.test/none.crt' },
  { path: 'a.test/absolute.crt', want: '/etc/pki/ca.crt' },
  { path: 'a.test/relative.crt', want: '/etc/pki/ca.crt' },
  { path: 'a.test/twice.crt', want: '/etc/pki/ca.crt' },
  { path: 'a.test/dangling.crt', want: '/etc/gone/ca.crt' },
  { path: 'b.test/absolute.crt', want: '/etc/pki/ca.crt' },
  { path: 'a.test/loop.crt', want: '/etc/docker/certs.d/a.test/loop.crt' },
  { path: 'a.test/above.crt', want: '/etc/pki/ca.crt' },
])('$path of the node is $want', async ({ path, want }) => {
  expect(await nodePath(`${root}/etc/docker/certs.d/${path}`, root)).toBe(root + want);
});

test('a path that is not of the node stays', async () => {
  expect(await nodePath('/etc/config/x', root)).toBe('/etc/config/x');
});
