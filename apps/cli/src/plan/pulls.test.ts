import { ClusterClaim, type ManagedCluster } from '@flotilla/api/ocm';
import type { NodeInventory, PullerReport } from '@flotilla/api/ran';
import { layerListDigest, packBits, toLayerList } from '@flotilla/software';
import { expect, test } from 'vitest';
import type { ListedImages } from './images.ts';
import { earlierKey, planPulls } from './pulls.ts';

const digest = (sign: string) => `sha256:${sign.repeat(64)}`;
const layer = (sign: string, size: number) => ({ digest: digest(sign), size, diffId: digest(sign) });
const image = (sign: string, ...layers: ReturnType<typeof layer>[]) => ({
  digest: digest(sign),
  pullSpecs: [{ pullSpec: `registry.example/${sign}@${digest(sign)}`, referenceDigest: digest(sign) }],
  layers,
});
const [base, one, other, top] = [layer('a', 100), layer('b', 10), layer('c', 1), layer('d', 5)];
const listed = (architecture: string, ...images: ReturnType<typeof image>[]): ListedImages => {
  const list = toLayerList(images);
  const bytes = list.layers.reduce((sum, { size }) => sum + size, 0);
  return { architecture, images, list, bytes, unresolved: [], skipped: [], allExcluded: 0, spaceRequiredGiB: undefined, tags: [] };
};
const amd64 = listed('amd64', image('1', base, one), image('2', base, other));
const unreadable: ListedImages = {
  ...amd64,
  unresolved: [{ pullSpec: 'registry.example/x', error: new Error('401; check the pull secret') }],
};
const arm64 = listed('arm64', image('3', top));

const cluster = (name: string, nodes?: string): [string, ManagedCluster] => [
  name,
  { metadata: { name }, status: nodes === undefined ? {} : { clusterClaims: [{ name: ClusterClaim.nodes, value: nodes }] } },
];
const managed = new Map([
  cluster('x86', '1 amd64 containerd://2.1.4'),
  cluster('arm', '3 arm64 cri-o://1.34.0'),
  cluster('crio', '1 amd64 cri-o://1.34.0'),
  cluster('silent'),
]);
const list = layerListDigest(amd64.list);
const inventory: NodeInventory = {
  list,
  held: packBits([true, false, true]),
  packed: packBits([false, false, false]),
  images: packBits([false, true]),
  partial: [],
  runtime: 'containerd 2.2',
  architecture: 'amd64',
  node: 'node-1',
  space: { sizeBytes: 1_000, usedBytes: 800, availableBytes: 200, thresholdPercent: 85 },
};
const report = { layers: { list, held: packBits([true, true, false]) }, bytesPerSecond: 5 } as PullerReport;

const known: Parameters<typeof planPulls>[0] = {
  clusters: ['x86'],
  managed,
  done: new Set(),
  lists: new Map([
    ['amd64', amd64],
    ['arm64', arm64],
  ]),
  left: { reports: new Map(), earlier: [], notes: [] },
  earlierLists: new Map(),
  inspections: undefined,
  rate: undefined,
  configAnnotations: undefined,
};
const plan = (given: Partial<typeof known>) => planPulls({ ...known, ...given })[0];
const inspected = new Map([['x86', { inventory }]]);
const reported = { reports: new Map([['x86', { by: 'a puller', report }]]), earlier: [], notes: [] };
const pulled = (by: string, clusters: readonly string[]) => ({
  left: { reports: new Map(), earlier: [{ by, spec: {} as never, clusters: new Set(clusters) }], notes: [] },
  // It begins as the first of the wanted images does, and ends as the other.
  earlierLists: new Map([[earlierKey(by, 'amd64'), listed('amd64', image('4', base, top, other))]]),
});

test.each([
  {
    name: 'nobody looked',
    given: {},
    want: { says: 'not looked at', bytes: { certainty: 'at-most', value: 111 }, runtime: 'containerd 2.1.4' },
  },
  {
    name: 'its node answered',
    given: { inspections: inspected, left: reported, done: new Set(['x86']) },
    want: { says: 'inspected', bytes: { certainty: 'exact', value: 10 }, runtime: 'containerd 2.2', free: { value: 50 }, fits: true },
  },
  {
    name: 'its node did not answer, and a puller reported',
    given: { inspections: new Map([['x86', { why: 'no answer for 3 min' }]]), left: reported },
    want: { says: 'as a puller left it', bytes: { certainty: 'forecast', value: 1 }, seconds: { value: 1 } },
  },
  {
    name: 'its node did not answer',
    given: { inspections: new Map([['x86', { why: 'no answer for 3 min' }]]) },
    want: { says: 'no answer for 3 min', bytes: { certainty: 'at-most' }, free: { certainty: 'unknown' } },
  },
  {
    name: 'its node answered for another list',
    given: { inspections: new Map([['x86', { inventory: { ...inventory, list: digest('0') } }]]) },
    want: { says: 'its node answered for other images', bytes: { certainty: 'at-most' } },
  },
  {
    name: 'this upgrade has pulled',
    given: { done: new Set(['x86']) },
    want: { says: 'pulled by this upgrade', bytes: { certainty: 'exact', value: 0 } },
  },
  {
    name: 'another upgrade has pulled, on containerd',
    given: pulled('ran/old', ['x86']),
    want: { says: 'as ran/old left it', bytes: { certainty: 'forecast', value: 11 }, images: { missing: { value: 2 } } },
  },
  {
    name: 'another upgrade has pulled, on CRI-O',
    given: { ...pulled('ran/old', ['crio']), clusters: ['crio'] },
    want: { bytes: { certainty: 'forecast', value: 10 } },
  },
  {
    name: 'nobody could read an image',
    given: { lists: new Map([['amd64', unreadable]]) },
    want: {
      images: { missing: { certainty: 'unknown' }, of: 3 },
      bytes: { certainty: 'unknown', why: '1 of 3 images could not be read: registry.example/x: 401; check the pull secret' },
      space: { certainty: 'unknown' },
    },
  },
  {
    name: 'its nodes are of another architecture',
    given: { clusters: ['arm'] },
    want: { architecture: 'arm64', images: { of: 1 }, bytes: { certainty: 'at-most', value: 5 } },
  },
  { name: 'nobody says what its nodes are', given: { clusters: ['silent'] }, want: { bytes: { certainty: 'at-most', value: 111 } } },
  {
    name: 'nobody says what its nodes are, and an image of the smaller list could not be read',
    given: { clusters: ['silent'], lists: new Map([...known.lists, ['arm64', { ...arm64, unresolved: unreadable.unresolved }]]) },
    want: { bytes: { certainty: 'unknown' } },
  },
  {
    name: 'one of three nodes answered',
    given: {
      clusters: ['arm'],
      inspections: new Map([
        [
          'arm',
          {
            inventory: {
              ...inventory,
              architecture: 'arm64',
              list: layerListDigest(arm64.list),
              held: packBits([false]),
              packed: packBits([false]),
              images: packBits([false]),
            },
          },
        ],
      ]),
    },
    want: { bytes: { certainty: 'forecast', value: 5, why: 'one of 3 nodes was asked' } },
  },
])('where $name', ({ given, want }) => {
  expect(plan(given)).toMatchObject(want);
});
