import { describe, expect, test } from 'vitest';
import { parseConfig } from './config.ts';

test('an empty environment gives the defaults of a pod on a node', () => {
  expect(parseConfig({ MAX_PARALLEL_PULLS: '', STORE: '' })).toMatchObject({
    specDir: '/etc/config',
    store: 'cri',
    sockets: ['/run/containerd/containerd.sock', '/run/crio/crio.sock'],
    pullSecretPath: '/var/lib/kubelet/config.json',
    mirrors: [],
    namespace: 'openshift-talo-pre-cache',
    parallelPulls: 5,
    gcThresholdPercent: 85,
    expansion: 2.5,
    progressConfigMap: true,
  });
});

test('a layout takes no more than its blobs, a socket may be a URL, mirrors are JSON', () => {
  const REGISTRY_CONFIG = '[{"source":"registry.test","mirrors":["10.0.0.1:5000/cache"],"insecure":true}]';
  expect(parseConfig({ STORE: 'layout', CRI_SOCKET: 'unix:///run/x.sock', REGISTRY_CONFIG })).toMatchObject({
    expansion: 1,
    sockets: ['/run/x.sock'],
    mirrors: [{ source: 'registry.test', mirrors: ['10.0.0.1:5000/cache'], insecure: true }],
  });
});

describe('refused, naming the variable', () => {
  test.each([
    ['STORE', 'podman'],
    ['MAX_PARALLEL_PULLS', '0'],
    ['MAX_PARALLEL_PULLS', 'many'],
    ['MAX_PARALLEL_PULLS', '1e9'],
    ['IMAGE_GC_HIGH_THRESHOLD_PERCENT', '101'],
    ['LOG_LEVEL', 'loud'],
    ['PROGRESS_CONFIG_MAP', 'yes'],
    ['REGISTRY_CONFIG', '{'],
    ['REGISTRY_CONFIG', '{}'],
    ['REGISTRY_CONFIG', '[{"source":"a"}]'],
    ['REGISTRY_CONFIG', '[{"source":"https://a","mirrors":[]}]'],
    ['REGISTRY_CONFIG', '[{"source":"a","mirrors":[],"insecurely":true}]'],
    ['REGISTRY_CONFIG', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
    ['REGISTRY_CONFIG', ' '.repeat(70_000)],
  ])('%s', (name, value) => {
    expect(() => parseConfig({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_PULLER_CONFIG_INVALID', message: expect.stringContaining(name) }),
    );
  });
});
