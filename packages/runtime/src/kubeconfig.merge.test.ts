import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadKubeconfig, mergeKubeconfigs, readContextNamespace } from './kubeconfig.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'flotilla-kubeconfigs-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function write(name: string, config: object | string): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof config === 'string' ? config : JSON.stringify(config));
  return path;
}

test('of each name the first counts, a context may join parts of two files, and a file that is not there has nothing', () => {
  const one = write('one/config', {
    clusters: [{ name: 'hub', cluster: { server: 'https://one:6443', 'certificate-authority': 'ca.crt' } }],
    contexts: [{ name: 'both', context: { cluster: 'hub', user: 'me', namespace: 'ran' } }],
  });
  const two = write('two/config', {
    clusters: [{ name: 'hub', cluster: { server: 'https://two:6443' } }],
    users: [{ name: 'me', user: { 'client-certificate': 'me.crt', exec: { command: './login', args: [] } } }],
    contexts: [{ name: 'later', context: { cluster: 'hub', user: 'me' } }],
    'current-context': 'later',
  });
  const kubeconfig = mergeKubeconfigs([join(dir, 'missing'), one, two]);
  const access = loadKubeconfig({ kubeconfig, context: 'both' });
  expect(access.server).toBe('https://one:6443');
  expect(access.certificateAuthority.file).toBe(join(dir, 'one/ca.crt'));
  expect(access.user.certificate.file).toBe(join(dir, 'two/me.crt'));
  expect(access.user.provider?.exec).toMatchObject({ command: join(dir, 'two/login') });
  expect(readContextNamespace({ kubeconfig, context: 'both' })).toBe('ran');
  expect(loadKubeconfig({ kubeconfig }).server).toBe('https://one:6443');
});

test('a file that cannot be read is named, and so are all when none is there', () => {
  const broken = write('broken', 'clusters: 7');
  const good = write('good', { clusters: [] });
  expect(() => mergeKubeconfigs([good, broken])).toThrow(`kubeconfig ${broken} cannot be read`);
  expect(() => mergeKubeconfigs([join(dir, 'a'), join(dir, 'b')])).toThrow(/KUBECONFIG names .*a, .*b, and there is no such file/);
});
