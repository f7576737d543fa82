import { expect, test } from 'vitest';
import { requiredBytes, requireSpace } from './space.ts';

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

const usage = { path: '/store', sizeBytes: 100 * GIB, usedBytes: 60 * GIB, availableBytes: 40 * GIB };

test.each<[string, Partial<typeof usage>, number, number, boolean]>([
  ['below the threshold there is room', {}, 25, 85, true],
  ['above it there is none', {}, 26, 85, false],
  ['the threshold may be another', {}, 26, 90, true],
  ['reserved blocks are no room', { availableBytes: 10 * GIB }, 11, 85, false],
  ['with no requirement something must be left', { usedBytes: 84 * GIB }, 0, 85, true],
  ['with no requirement and nothing left it fails', { usedBytes: 85 * GIB }, 0, 85, false],
  ['an empty file system has no room', { sizeBytes: 0, usedBytes: 0, availableBytes: 0 }, 0, 85, false],
])('%s', (_, given, gib, threshold, fits) => {
  const check = (): void => requireSpace({ ...usage, ...given }, gib * GIB, threshold);
  if (fits) expect(check).not.toThrow();
  else
    expect(check).toThrow(
      expect.objectContaining({ code: 'FLOTILLA_PULLER_NO_SPACE', message: expect.stringMatching(/not enough space.*\/store/) }),
    );
});
