import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { readNodeRegistries } from './node-registries.ts';

let root: string;
let pem: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'flotilla-node-'));
  const file = join(root, 'made.crt');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', join(root, 'made.key')];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, '-subj', '/CN=test', '-out', file], { stdio: 'ignore' });
  pem = await readFile(file, 'utf8');
});
afterEach(() => rm(root, { recursive: true }));

async function put(path: string, text: string | Buffer): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}
const read = (environment: Record<string, string> = {}) =>
  readNodeRegistries(
    readConfig({ REGISTRIES_CONF_DIR: join(root, 'etc'), REGISTRY_CERTS_DIRS: `${root}/etc/certs.d:${root}/docker`, ...environment }, []),
  );
const table = (location: string, mirror: string): string =>
  `[[registry]]\nlocation="${location}"\n[[registry.mirror]]\nlocation="${mirror}"\n`;

test('a node without any of it', async () => {
  expect(await read()).toEqual({ rules: [], hostTls: new Map(), ca: undefined });
});

test('registries.conf and its drop-ins in order, other files left out; REGISTRY_CONFIG wins for what it covers', async () => {
  await put('etc/registries.conf', table('a.test', 'main.test') + table('b.test/team', 'main.test'));
  await put('etc/registries.conf.d/20.conf', table('a.test', 'late.test'));
  await put('etc/registries.conf.d/10.conf', table('a.test', 'early.test') + table('c.test', 'early.test'));
  await put('etc/registries.conf.d/30.conf.bak', 'broken [');
  const mirrors = (rules: Awaited<ReturnType<typeof read>>['rules']) =>
    rules.map(({ prefix, mirrors: [first] }) => [prefix, first?.location]);
  expect(mirrors((await read()).rules)).toEqual([
    ['a.test', 'late.test'],
    ['b.test/team', 'main.test'],
    ['c.test', 'early.test'],
  ]);
  const REGISTRY_CONFIG = '[{"source":"b.test","mirrors":["given.test"]},{"source":"a.test/x","mirrors":["given.test"]}]';
  expect(mirrors((await read({ REGISTRY_CONFIG })).rules)).toEqual([
    ['b.test', 'given.test'],
    ['a.test/x', 'given.test'],
    ['a.test', 'late.test'],
    ['c.test', 'early.test'],
  ]);
});

test('authorities of certs.d, of the first folder that knows the host', async () => {
  await put('etc/certs.d/m.test:5000/ca.crt', pem);
  await put('etc/certs.d/m.test:5000/README', 'x');
  await put('docker/m.test:5000/ca.crt', 'never read');
  await put('docker/other.test/ca.crt', pem);
  await put('docker/client.test/client.cert', pem);
  await put('docker/client.test/client.key', await readFile(join(root, 'made.key'), 'utf8'));
  const { hostTls } = await read();
  expect([...hostTls.keys()].toSorted()).toEqual(['client.test', 'm.test:5000', 'other.test']);
  expect(hostTls.get('m.test:5000')).toEqual({ ca: pem.trim() });
  expect(hostTls.get('client.test')).toMatchObject({ cert: pem, key: expect.stringContaining('PRIVATE KEY') });
});

test('bundles that are there are joined; that none is there is said', async () => {
  const one = await put('one.pem', pem);
  const { ca } = await read({ REGISTRY_CA: `${root}/none.pem:${one}` });
  expect(ca).toBe(pem.trim());
  await expect(read({ REGISTRY_CA: `${root}/none.pem` })).rejects.toThrow(/REGISTRY_CA: there is no file .*none\.pem/);
});

test.each([
  {
    name: 'a link out of what is mounted',
    file: 'ca.crt',
    link: '/etc/pki/nowhere/ca.crt',
    problem:
      /ca\.crt: it leads to \/etc\/pki\/nowhere\/ca\.crt, outside of the folders that this pod has of the node \(\S+etc\/certs\.d, \S+docker, \S+etc\): put the file itself in its place, or name an authority in REGISTRY_CA \(annotation flotilla\.io\/ca-bundle-path\)/,
  },
  {
    name: 'a link to what is missing within',
    file: 'ca.crt',
    link: '../gone/ca.crt',
    problem: /ca\.crt: it leads to \S+\/etc\/certs\.d\/gone\/ca\.crt, which is not there; put the file itself in its place/,
  },
  { name: 'an empty file', file: 'ca.crt', text: '', problem: /ca\.crt: it has no readable certificate; put PEM there/ },
  { name: 'a file in DER', file: 'ca.crt', text: 'der', problem: /ca\.crt: it has no readable certificate/ },
  { name: 'a file that is too large', file: 'ca.crt', text: 'x'.repeat(5_000_000), problem: /ca\.crt cannot be read: it has more than/ },
  { name: 'a folder', file: 'ca.crt/x', text: '', problem: /ca\.crt cannot be read: it is no file/ },
  { name: 'a certificate without its key', file: 'client.cert', text: 'pem', problem: /client\.cert: it is not there/ },
  { name: 'a key that is none', file: 'client.key', text: 'hello', problem: /client\.cert: / },
])('$name costs itself alone, and is told to its host alone', async ({ file, link, text, problem }) => {
  await put('etc/certs.d/good.test/ca.crt', pem);
  await put('etc/certs.d/odd.test/zz-good.crt', pem);
  await put('etc/certs.d/odd.test/client.cert', pem);
  if (file !== 'client.cert') await put('etc/certs.d/odd.test/client.key', await readFile(join(root, 'made.key'), 'utf8'));
  const der = new X509Certificate(pem).raw;
  if (link) await symlink(link, join(root, 'etc/certs.d/odd.test', file));
  else await put(`etc/certs.d/odd.test/${file}`, text === 'der' ? der : text === 'pem' ? pem : (text ?? ''));
  const { hostTls } = await read();
  expect(hostTls.get('good.test')).toEqual({ ca: pem.trim() });
  expect(hostTls.get('odd.test')).toMatchObject({ ca: pem.trim(), problems: [expect.stringMatching(problem)] });
});

test('a folder of a host that leads out of what is mounted is told to that host', async () => {
  await put('etc/certs.d/good.test/ca.crt', pem);
  await symlink('/etc/pki/nowhere', join(root, 'etc/certs.d/odd.test'));
  const { hostTls } = await read();
  expect(hostTls.get('good.test')).toEqual({ ca: pem.trim() });
  expect(hostTls.get('odd.test')?.problems).toEqual([
    expect.stringMatching(
      /certs\.d\/odd\.test: it leads to \/etc\/pki\/nowhere, outside of the folders .*: put the folder itself in its place/,
    ),
  ]);
});

test.each<[string, string, string, RegExp]>([
  ['a bundle without a certificate', 'ca.pem', 'hello', /REGISTRY_CA: .*ca\.pem cannot be used: it has no readable certificate/],
  ['a bundle that is cut', 'ca.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n', /REGISTRY_CA: .*ca\.pem cannot be used/],
  ['a registries.conf that is none', 'etc/registries.conf', 'hello', /etc\/registries\.conf: is not TOML/],
  ['a file without end', 'etc/registries.conf', `#${'x'.repeat(5_000_000)}`, /REGISTRIES_CONF_DIR: .* more than 4194304 bytes/],
])('%s is refused by name', async (_, path, text, message) => {
  const file = await put(path, text);
  await expect(read(path === 'ca.pem' ? { REGISTRY_CA: file } : {})).rejects.toThrow(message);
});
