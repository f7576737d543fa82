import { expect, test } from 'vitest';
import { contentSentence } from './images.ts';

test('the images of a further architecture are counted in the units of the others', () => {
  const list = { images: [], layers: [] };
  expect(contentSentence({ images: [], list, bytes: 23_412_345_678, unresolved: [] })).toBe('they are 0 images, 0 layers, 23.4 GB');
});
