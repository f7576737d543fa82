import { expect, test } from 'vitest';
import { requireSpace } from './space.ts';

const GIB = 2 ** 30;
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
