import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { NODE_PATHS, PULLER_VARIABLES, RUN_DIRECTORY, SOCKET_PATH } from './puller-settings.ts';
import { spokeNode } from './spoke-node.ts';

interface Given {
  readonly annotations?: Record<string, string>;
  readonly vendor?: string;
  readonly claims?: Record<string, string>;
}
const cluster = (parts: Given = {}) => {
  const object = { metadata: { name: 'spoke-1' }, spec: { hubAcceptsClient: true }, status: {} };
  const { annotations, vendor, claims = {} } = parts;
  const clusterClaims = Object.entries(claims).map(([name, value]) => ({ name, value }));
  return {
    ...object,
    metadata: { ...object.metadata, ...(annotations && { annotations }), ...(vendor && { labels: { vendor } }) },
    status: { ...object.status, clusterClaims },
  };
};
const paths = (object: ReturnType<typeof cluster>) => spokeNode(object).mounts.map(({ path }) => path);

test('an unknown node gets only /run, with every usual socket below it as a candidate', () => {
  const { mounts, variables, hasSccs, problems } = spokeNode(cluster());
  expect({ mounts, hasSccs, problems }).toEqual({
    mounts: [{ name: 'runtime-socket', path: '/run', type: 'Directory' }],
    hasSccs: false,
    problems: [],
  });
  expect(variables).toEqual({
    CRI_SOCKET: [
      '/host/run/crio/crio.sock',
      '/host/run/k3s/containerd/containerd.sock',
      '/host/run/k0s/containerd.sock',
      '/host/run/containerd/containerd.sock',
      '/host/run/cri-dockerd.sock',
    ].join(','),
  });
});

test.each<{ name: string; given: Given; want: boolean; openshift: boolean }>([
  { name: 'the label of OpenShift', given: { vendor: 'OpenShift' }, want: true, openshift: true },
  { name: 'its claim', given: { claims: { 'product.open-cluster-management.io': 'ROSA' } }, want: true, openshift: true },
  { name: 'its version alone', given: { claims: { 'version.openshift.io': '4.16.1' } }, want: true, openshift: true },
  {
    name: 'MicroShift, whose nodes are other ones',
    given: { claims: { 'version.microshift.io': '4.16.1' } },
    want: true,
    openshift: false,
  },
  {
    name: 'a claim against a label',
    given: { vendor: 'OpenShift', claims: { 'product.open-cluster-management.io': 'EKS' } },
    want: false,
    openshift: false,
  },
  { name: 'something else', given: { vendor: 'Other' }, want: false, openshift: false },
])('$name: constraints $want', ({ given, want, openshift }) => {
  const node = spokeNode(cluster(given));
  expect(node.hasSccs).toBe(want);
  expect(node.mounts.some(({ path }) => path === '/var/lib/kubelet/config.json')).toBe(openshift);
});

test('claims that cannot be read are none', () => {
  expect(spokeNode({ ...cluster({ vendor: 'OpenShift' }), status: { clusterClaims: 'many' } }).hasSccs).toBe(true);
});

describe('annotations', () => {
  test('the folder of a named socket is mounted, never the socket, and nothing else of /run', () => {
    const { mounts, variables } = spokeNode(
      cluster({ annotations: { 'flotilla.io/runtime-socket': 'unix:///run/k3s/containerd/containerd.sock' } }),
    );
    expect(mounts).toEqual([{ name: 'runtime-socket', path: '/run/k3s/containerd', type: 'Directory' }]);
    expect(variables.CRI_SOCKET).toBe('/host/run/k3s/containerd/containerd.sock');
  });

  test('win over what OpenShift nodes have; empty says there is none', () => {
    const annotations = { 'flotilla.io/pull-secret-path': '', 'flotilla.io/runtime-storage': '/var/lib/containers/storage' };
    const found = paths(cluster({ vendor: 'OpenShift', annotations }));
    expect(found).toContain('/var/lib/containers/storage');
    expect(found).not.toContain('/var/lib/containers');
    expect(found).not.toContain('/var/lib/kubelet/config.json');
  });

  test('certificates of registries are read where runtimes read them: beside registries.conf, then as docker has them', () => {
    const { mounts, variables } = spokeNode(cluster({ vendor: 'OpenShift' }));
    expect(mounts).toContainEqual({ name: 'registry-certs-dir', path: '/etc/docker/certs.d', type: 'DirectoryOrCreate' });
    expect(variables.REGISTRY_CERTS_DIRS).toBe('/host/etc/containers/certs.d:/host/etc/docker/certs.d');
    const alone = spokeNode(cluster({ annotations: { 'flotilla.io/registry-certs-dir': '/etc/docker/certs.d' } }));
    expect(alone.variables.REGISTRY_CERTS_DIRS).toBe('/host/etc/docker/certs.d');
    expect(spokeNode(cluster({ vendor: 'OpenShift', annotations: { 'flotilla.io/registry-certs-dir': '' } })).variables).not.toHaveProperty(
      'REGISTRY_CERTS_DIRS',
    );
  });

  test.each([
    ['flotilla.io/runtime-storage', '/'],
    ['flotilla.io/runtime-storage', '/etc'],
    ['flotilla.io/runtime-storage', '/var/lib/containers/../../../etc'],
    ['flotilla.io/runtime-storage', '/var/lib/containers/'],
    ['flotilla.io/runtime-storage', '/var/lib/containerside'],
    ['flotilla.io/pull-secret-path', '/etc/shadow'],
    ['flotilla.io/pull-secret-path', 'var/lib/kubelet/config.json'],
    ['flotilla.io/runtime-socket', '/etc/kubernetes/x.sock'],
    ['flotilla.io/runtime-socket', '/run/a.sock,/run/b.sock'],
    ['flotilla.io/ca-bundle-path', '/etc/ssl/private/key.pem'],
    ['flotilla.io/registries-conf-dir', `/etc/containers/${'x'.repeat(300)}`],
  ])('%s: %s is refused with the places that are not, and never mounted', (annotation, path) => {
    const object = cluster({ annotations: { [annotation]: path } });
    const { problems, mounts } = spokeNode(object);
    expect(problems).toEqual([expect.stringContaining(`annotation ${annotation} of the ManagedCluster is "${path.slice(0, 50)}`)]);
    expect(problems[0]).toContain('lies below /');
    expect(mounts.map((each) => each.path)).toEqual(['/run']);
  });
});

describe('settings of one cluster', () => {
  test('are variables of the puller; empty takes away what the hub has for all', () => {
    const annotations = {
      'flotilla.io/http-proxy': 'http://user:secret@proxy.example:3128',
      'flotilla.io/no-proxy': '.cluster.local,10.0.0.0/8,[fd00::1]',
      'flotilla.io/registry-config': '[{"source":"registry.example","mirrors":["mirror:5000"]}]',
      'flotilla.io/image-gc-threshold': '70',
      'flotilla.io/https-proxy': '',
    };
    const { variables, problems } = spokeNode(cluster({ annotations }));
    expect(problems).toEqual([]);
    expect(variables).toMatchObject({
      HTTP_PROXY: annotations['flotilla.io/http-proxy'],
      HTTPS_PROXY: '',
      NO_PROXY: annotations['flotilla.io/no-proxy'],
      REGISTRY_CONFIG: annotations['flotilla.io/registry-config'],
      IMAGE_GC_HIGH_THRESHOLD_PERCENT: '70',
    });
  });

  test.each([
    ['flotilla.io/http-proxy', 'proxy.example:3128'],
    ['flotilla.io/https-proxy', 'socks5://user:secret@proxy.example'],
    ['flotilla.io/no-proxy', 'a b'],
    ['flotilla.io/registry-config', '{}'],
    ['flotilla.io/registry-config', '[{"source"'],
    ['flotilla.io/image-gc-threshold', '0'],
    ['flotilla.io/image-gc-threshold', '85%'],
  ])('%s: %s is refused without being repeated', (annotation, value) => {
    const { variables, problems } = spokeNode(cluster({ annotations: { [annotation]: value } }));
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^annotation ${annotation} of the ManagedCluster cannot be used; write `))]);
    expect(problems[0]).not.toContain('secret');
    expect(Object.keys(variables)).toEqual(['CRI_SOCKET']);
  });
});

test('an unknown annotation of ours is reported with the closest known one; others are ignored', () => {
  expect(spokeNode(cluster({ annotations: { 'flotilla.io/http_proxy': 'http://a', 'example.com/http_proxy': 'b' } })).unknown).toMatch(
    /^flotilla\.io\/http_proxy on the ManagedCluster is not known; did you mean flotilla\.io\/http-proxy\?/,
  );
  const known = [...NODE_PATHS.map(({ annotation }) => annotation), 'flotilla.io/runtime-socket', 'flotilla.io/no-proxy'];
  expect(spokeNode(cluster({ annotations: Object.fromEntries(known.map((key) => [key, ''])) })).unknown).toBeUndefined();
  expect(spokeNode(undefined).unknown).toBeUndefined();
});

/** All allowed host paths of the puller, in order. */
const HOST_PLACES = [...new Set([RUN_DIRECTORY, ...SOCKET_PATH.places, ...NODE_PATHS.flatMap(({ places }) => places)])].toSorted();

test('no place is the root or a folder with everything of a node', () => {
  for (const place of HOST_PLACES) expect(place).not.toMatch(/^\/(etc|var|usr|root|home|var\/lib|var\/lib\/kubelet|etc\/kubernetes)?$/);
});

test('SECURITY.md lists the variables that the hub gives the puller, and no other', async () => {
  const text = await readFile(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');
  const listed = [...text.matchAll(/^\| `container\.env\[([A-Z_,]+)\]\.value`/gm)].flatMap(([, names = '']) => names.split(','));
  expect([...new Set(listed)].toSorted()).toEqual([...PULLER_VARIABLES].toSorted());
});

test("the spoke's chart lets its agent mount these places and no other", async () => {
  const Values = z.object({ confinement: z.object({ hostPaths: z.array(z.string()) }) });
  const values = parse(await readFile(new URL('../../../../charts/spoke/values.yaml', import.meta.url), 'utf8'));
  expect(Values.parse(values).confinement.hostPaths).toEqual(HOST_PLACES);
});
