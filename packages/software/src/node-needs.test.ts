import type { NodeInventory } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { layerListDigest, packBits, toLayerList } from './layer-list.ts';
import { needsByReport, needsOf } from './node-needs.ts';

const layer = (sign: string, size: number) => ({ digest: `sha256:${sign.repeat(64)}`, size });
const image = (name: string, ...layers: ReturnType<typeof layer>[]) => ({ pullSpecs: [{ pullSpec: name, referenceDigest: name }], layers });
const [base, one, other] = [layer('a', 100), layer('b', 10), layer('c', 1)];
const list = toLayerList([image('one', base, one), image('other', base, other)]);
const inventory: NodeInventory = {
  list: layerListDigest(list),
  held: packBits([true, false, true]),
  packed: packBits([false, false, true]),
  images: packBits([false, false]),
  partial: [[1, 4]],
  runtime: 'containerd 2',
  architecture: 'amd64',
  node: 'node-1',
  space: { sizeBytes: 1, usedBytes: 1, availableBytes: 1, thresholdPercent: 85 },
};

test('bytes are those of layers without a bit, less what is there of them', () => {
  expect(needsOf(list, inventory)).toEqual({ missingBytes: 6, storedBytes: 105, packedBytes: 1, missingImages: 2 });
  expect(needsByReport(list, inventory)).toEqual({ missingBytes: 10, storedBytes: 101, packedBytes: 0, missingImages: 1 });
});

test.each([
  ['of another list', { list: `sha256:${'0'.repeat(64)}` }],
  ['with too few bits', { held: '' }],
])('an answer %s says nothing', (_, change) => {
  expect(needsOf(list, { ...inventory, ...change })).toBeUndefined();
  expect(needsByReport(list, { ...inventory, ...change })).toBeUndefined();
});
