import { describe, expect, test } from 'vitest';
import { precacheSpecData } from './pre-caching-config.ts';

describe('ConfigMap pre-cache-spec', () => {
  const keys = [
    'additionalImages',
    'excludePrecachePatterns',
    'operators.indexes',
    'operators.packagesAndChannels',
    'platform.image',
    'spaceRequired',
  ];

  test('all keys are present for an empty spec', () =>
    expect(precacheSpecData({})).toEqual(Object.fromEntries(keys.map((key) => [key, '']))));

  test('lists are joined by newlines without a final one', () => {
    expect(
      precacheSpecData({
        platformImage: 'p',
        operatorsIndexes: ['i1', 'i2'],
        operatorsPackagesAndChannels: ['a:1', 'b:2'],
        excludePrecachePatterns: ['x', 'y'],
        additionalImages: ['z'],
        spaceRequired: '35',
      }),
    ).toEqual({
      'platform.image': 'p',
      'operators.indexes': 'i1\ni2',
      'operators.packagesAndChannels': 'a:1\nb:2',
      excludePrecachePatterns: 'x\ny',
      additionalImages: 'z',
      spaceRequired: '35',
    });
  });
});
