import { parseImageReference, RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { expect, test } from 'vitest';
import { contentSentence, unreadSentence } from './images.ts';

test('the images of a further architecture are counted in the units of the others', () => {
  const list = { images: [], layers: [] };
  expect(contentSentence({ images: [], list, bytes: 23_412_345_678, unresolved: [] })).toBe('they are 0 images, 0 layers, 23.4 GB');
});

const refused = (image: string, message: string) => new RegistryError(RegistryErrorCode.notFound, message, { image });

function refusalOf(image: string): unknown {
  try {
    return parseImageReference(image);
  } catch (error) {
    return error;
  }
}

test.each([
  {
    name: 'as the spec writes it',
    image: 'h.test/a:1',
    error: refused('h.test/a:1', 'h.test/a:1: h.test answered 404'),
    why: 'h.test answered 404',
  },
  {
    name: 'as the registry completes it',
    image: 'docker.io/a',
    error: refused('docker.io/library/a:latest', 'docker.io/library/a:latest: docker.io answered 404'),
    why: 'docker.io answered 404',
  },
  {
    name: 'in the middle',
    image: 'h.test/a:1',
    error: refused('h.test/a:1', 'manifest of h.test/a:1: no JSON'),
    why: 'manifest of h.test/a:1: no JSON',
  },
  { name: 'of another image first', image: 'h.test/a:1', error: new Error('h.test/b:1: gone'), why: 'h.test/b:1: gone' },
  {
    name: 'as one that is none',
    image: 'a:1',
    error: refusalOf('a:1'),
    why: 'names no registry; write it with its host, as in registry.example.com/team/app:1.0',
  },
  {
    name: 'as one with another digest',
    image: 'h.test/a@sha512:1',
    error: refusalOf('h.test/a@sha512:1'),
    why: 'its digest is not sha256: followed by 64 lower-case hexadecimal digits',
  },
])('an image that could not be read is named once: $name', ({ image, error, why }) => {
  const unresolved = [{ pullSpec: image, error }];
  expect(unreadSentence({ images: [], unresolved })).toBe(`1 of 1 images could not be read: ${image}: ${why}`);
});
