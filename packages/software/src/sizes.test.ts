import { expect, test } from 'vitest';
import { sizeOfList } from './sizes.ts';

const image = (digest: string, ...layers: [string, number][]) => ({
  digest,
  pullSpecs: [],
  layers: layers.map(([layer, size]) => ({ digest: layer, size })),
});

test('a layer that images share is counted once', () => {
  expect(sizeOfList({ images: [image('a', ['base', 10], ['one', 1]), image('b', ['base', 10], ['two', 2])] })).toEqual({
    images: 2,
    layers: 3,
    bytes: 13,
  });
  expect(sizeOfList({ images: [] })).toEqual({ images: 0, layers: 0, bytes: 0 });
});
