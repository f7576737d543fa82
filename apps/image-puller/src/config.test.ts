import { describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';

const parse = (env: Readonly<Record<string, string>>) => readConfig(env, []);

test('an empty environment gives the defaults of a pod on a node', () => {
  expect(parse({ MAX_PARALLEL_PULLS: '', STORE: '' })).toMatchObject({
    specDir: '/etc/config',
    store: 'cri',
    sockets: ['/run/containerd/containerd.sock', '/run/crio/crio.sock'],
    pullSecretPath: '/var/lib/kubelet/config.json',
    registryRules: [],
    registriesDir: '/etc/containers',
    certsDirs: ['/etc/containers/certs.d', '/etc/docker/certs.d'],
    registryCaPaths: [],
    proxy: { http: undefined, https: undefined, no: undefined },
    namespace: 'openshift-talo-pre-cache',
    parallelPulls: 5,
    gcThresholdPercent: 85,
    expansion: 2.5,
    progressOnJob: true,
  });
});

test('a layout takes no more than its blobs, a socket may be a URL, mirrors are JSON', () => {
  const REGISTRY_CONFIG = '[{"source":"registry.test","mirrors":["10.0.0.1:5000/cache"],"insecure":true}]';
  expect(parse({ STORE: 'layout', CRI_SOCKET: 'unix:///run/x.sock', REGISTRY_CONFIG })).toMatchObject({
    expansion: 1,
    sockets: ['/run/x.sock'],
    registryRules: [{ prefix: 'registry.test', scheme: 'https', mirrors: [{ location: '10.0.0.1:5000/cache', scheme: 'http' }] }],
  });
});

test('an insecure source that is its own mirror is spoken to over plain HTTP', () => {
  const REGISTRY_CONFIG =
    '[{"source":"a.test:5000","mirrors":[],"insecure":true},{"source":"b.test","mirrors":["m.test"],"insecure":true}]';
  expect(parse({ REGISTRY_CONFIG }).registryRules.map(({ prefix, scheme }) => [prefix, scheme])).toEqual([
    ['a.test:5000', 'http'],
    ['b.test', 'https'],
  ]);
});

test('several sockets, bundles and proxies in either spelling', () => {
  const environment = {
    CRI_SOCKET: 'unix:///run/a.sock, /run/b.sock',
    REGISTRY_CA: '/etc/a.pem:/etc/b.pem',
    https_proxy: 'proxy.test:3128',
    HTTP_PROXY: 'http://u:p@proxy.test',
    no_proxy: '.cluster.local',
  };
  expect(parse(environment)).toMatchObject({
    sockets: ['/run/a.sock', '/run/b.sock'],
    registryCaPaths: ['/etc/a.pem', '/etc/b.pem'],
    proxy: { http: 'http://u:p@proxy.test', https: 'http://proxy.test:3128', no: '.cluster.local' },
  });
});

test('a proxy that is no URL is refused without its password', () => {
  for (const HTTPS_PROXY of ['http://u:hunter2@bad host', 'u:hunter2@bad host', 'socks5://u:hunter2@proxy.test'])
    expect(() => parse({ HTTPS_PROXY })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^(?!.*hunter2).*HTTPS_PROXY.*is no URL of a proxy/) }),
    );
});

test('a flag counts before its variable', () => {
  const { specDir, store } = readConfig({ STORE: 'cri', CONFIG_VOLUME_PATH: '/spec' }, ['--store', 'layout']);
  expect([specDir, store]).toEqual(['/spec', 'layout']);
});

describe('refused, naming the variable', () => {
  test.each([
    ['STORE', 'podman'],
    ['MAX_PARALLEL_PULLS', '0'],
    ['MAX_PARALLEL_PULLS', 'many'],
    ['MAX_PARALLEL_PULLS', '1e9'],
    ['IMAGE_GC_HIGH_THRESHOLD_PERCENT', '101'],
    ['LOG_LEVEL', 'loud'],
    ['PROGRESS_ON_JOB', 'yes'],
    ['REGISTRY_CONFIG', '{'],
    ['REGISTRY_CONFIG', '{}'],
    ['REGISTRY_CONFIG', '[{"source":"a"}]'],
    ['REGISTRY_CONFIG', '[{"source":"https://a","mirrors":[]}]'],
    ['REGISTRY_CONFIG', '[{"source":"a","mirrors":[],"insecurely":true}]'],
    ['REGISTRY_CONFIG', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
    ['REGISTRY_CONFIG', ' '.repeat(70_000)],
  ])('%s', (name, value) => {
    expect(() => parse({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_PULLER_CONFIG_INVALID', message: expect.stringContaining(name) }),
    );
  });
});
