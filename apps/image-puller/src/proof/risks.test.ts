import { expect, test } from 'vitest';
import { findRisks } from './prove.ts';

const stated = { maximumAge: undefined, credentials: undefined };
const disk = (used: number) => ({ path: '/', sizeBytes: 1_000, usedBytes: used, availableBytes: 1_000 - used });

test.each([
  ['a disk below the threshold', { gcThresholdPercent: 85, stated }, 840, []],
  [
    'a disk at the threshold',
    { gcThresholdPercent: 85, stated },
    850,
    ['imageGCHighThresholdPercent: 85 %, and 85 % of the disk are used'],
  ],
  ['an age that is off', { gcThresholdPercent: 85, stated: { ...stated, maximumAge: '0s' } }, 0, []],
  ['an age', { gcThresholdPercent: 85, stated: { ...stated, maximumAge: '30m' } }, 0, ['imageMaximumGCAge: 30m']],
  ['images that are trusted', { gcThresholdPercent: 85, stated: { ...stated, credentials: 'NeverVerifyPreloadedImages' } }, 0, []],
  [
    'images that are verified',
    { gcThresholdPercent: 85, stated: { ...stated, credentials: 'AlwaysVerify' } },
    0,
    ['imagePullCredentialsVerificationPolicy: AlwaysVerify'],
  ],
  ['a kubelet that cannot be read', { gcThresholdPercent: 85, stated: undefined }, 0, ['kubelet configuration: unknown']],
])('%s', (_, care, used, want) => {
  expect(findRisks(care, disk(used)).map(({ name, value }) => `${name}: ${value}`)).toEqual(want);
});
