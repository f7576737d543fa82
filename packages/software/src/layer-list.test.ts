import { LayerList } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { heldLayers, imagesOfList, layerListDigest, packBits, toLayerList, unpackBits } from './layer-list.ts';

const digest = (sign: string) => `sha256:${sign.repeat(64)}`;
const layer = (sign: string) => ({ digest: digest(sign), size: Number.parseInt(sign, 16) });
const image = (name: string, ...signs: string[]) => ({
  pullSpecs: [{ pullSpec: `registry.example/${name}`, referenceDigest: digest('f') }],
  layers: signs.map(layer),
});
const images = [image('one', 'a', 'b'), image('other', 'a', 'c', 'b')];

test('each layer stands once, in the order of the images, and the images come back whole', () => {
  const list = LayerList.parse(JSON.parse(JSON.stringify(toLayerList(images))));
  expect(list.layers).toEqual([layer('a'), layer('b'), layer('c')]);
  expect(imagesOfList(list).map(({ layers }) => layers)).toEqual(images.map(({ layers }) => layers));
});

test.each([
  ['another layer', [image('one', 'a', 'd'), image('other', 'a', 'c', 'b')]],
  ['another order', images.toReversed()],
  ['another name', [image('two', 'a', 'b'), image('other', 'a', 'c', 'b')]],
])('%s is another list', (_, others) => {
  expect(layerListDigest(toLayerList(others))).not.toBe(layerListDigest(toLayerList(images)));
  expect(layerListDigest(toLayerList(structuredClone(images)))).toBe(layerListDigest(toLayerList(images)));
});

test('what is held is a bit each, and what was not judged is held', () => {
  const list = toLayerList(images);
  const { held } = heldLayers(
    list,
    new Map([
      [digest('a'), 'missing'],
      [digest('b'), 'packed'],
    ] as const),
  );
  expect(unpackBits(held, 3)).toEqual([false, true, true]);
});

test.each([0, 1, 7, 8, 9, 611])('%i bits come back, and only as many', (count) => {
  const answers = Array.from({ length: count }, (_, at) => at % 3 === 0);
  expect(unpackBits(packBits(answers), count)).toEqual(answers);
  expect(unpackBits(packBits(answers), count + 8)).toBeUndefined();
});
