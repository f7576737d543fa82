import { expect, test } from 'vitest';
import { freeBytes, requiredBytes } from './node-needs.ts';

const GIB = 2 ** 30;
const demand = { missingBytes: 2 * GIB, cachedBytes: 0, packedBytes: 0, expansion: 2, spaceRequiredGiB: undefined };

test.each<[string, Partial<Parameters<typeof requiredBytes>[0]>, number]>([
  ['what is missing, unpacked', {}, 4],
  ['nothing when nothing is missing, whatever spaceRequired says', { missingBytes: 0, spaceRequiredGiB: 35 }, 0],
  ['spaceRequired when it is more', { spaceRequiredGiB: 35 }, 35],
  ['what is missing when spaceRequired is less', { spaceRequiredGiB: 1 }, 4],
  ['spaceRequired less what is there', { spaceRequiredGiB: 35, cachedBytes: 10 * GIB }, 15],
  ['what is missing when most is there', { spaceRequiredGiB: 35, cachedBytes: 17 * GIB }, 4],
  ['the files of layers that are there and packed', { missingBytes: 0, cachedBytes: 6 * GIB, packedBytes: 4 * GIB, expansion: 2.5 }, 6],
  [
    'spaceRequired less what is there, packed layers by their own size',
    { spaceRequiredGiB: 35, cachedBytes: 10 * GIB, packedBytes: 4 * GIB },
    19,
  ],
  [
    'nothing more for packed layers of a store that unpacks nothing',
    { missingBytes: 0, cachedBytes: 4 * GIB, packedBytes: 4 * GIB, expansion: 1 },
    0,
  ],
])('required is %s', (_, given, gib) => {
  expect(requiredBytes({ ...demand, ...given })).toBe(gib * GIB);
});

test.each([
  { name: 'is what the threshold leaves', room: { sizeBytes: 100, usedBytes: 60, availableBytes: 40 }, want: 25 },
  { name: 'is no more than can be written', room: { sizeBytes: 100, usedBytes: 60, availableBytes: 10 }, want: 10 },
  { name: 'is less than nothing above the threshold', room: { sizeBytes: 100, usedBytes: 90, availableBytes: 10 }, want: -5 },
])('what is free $name', ({ room, want }) => {
  expect(freeBytes(room, 85)).toBe(want);
});
