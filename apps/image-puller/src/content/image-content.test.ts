import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { chainIds, layersToFetch, snapshotterOf } from './image-content.ts';

const sha = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
const layers = ['a', 'b', 'c'].map((name) => ({ mediaType: 'layer', digest: sha(`layer ${name}`), size: 1 }));
const diffIds = ['a', 'b', 'c'].map((name) => sha(`diff ${name}`));

test('a chain id names a layer and all below it', () => {
  const [a = '', b = '', c = ''] = diffIds;
  expect(chainIds(diffIds)).toEqual([a, sha(`${a} ${b}`), sha(`${sha(`${a} ${b}`)} ${c}`)]);
});

test.each([
  { name: 'nothing is unpacked', unpacked: [], want: ['a', 'b', 'c'] },
  { name: 'the lowest layer is unpacked', unpacked: [0], want: ['b', 'c'] },
  { name: 'two layers are unpacked', unpacked: [0, 1], want: ['c'] },
  { name: 'everything is unpacked', unpacked: [0, 1, 2], want: [] },
])('where $name, the layers above are fetched: $want', async ({ unpacked, want }) => {
  const chain = chainIds(diffIds);
  const found = await layersToFetch(layers, diffIds, async (key) => unpacked.some((index) => chain[index] === key));
  expect(found.map(({ digest }) => digest)).toEqual(want.map((name) => sha(`layer ${name}`)));
});

test('an image whose configuration names other layers is fetched whole', async () => {
  expect(await layersToFetch(layers, diffIds.slice(1), async () => true)).toEqual(layers);
});

test.each([
  ['/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs', 'overlayfs'],
  ['/data/io.containerd.snapshotter.v1.native/', 'native'],
  ['/var/lib/containers/storage/overlay-images', undefined],
  ['', undefined],
])('the snapshotter of %j is %s', (mountpoint, want) => {
  expect(snapshotterOf(mountpoint)).toBe(want);
});
