import { expect, test } from 'vitest';
import { estimatePull, groupPulls, type PullFacts } from './pulls.ts';

const facts: PullFacts = {
  cluster: 'spoke-1',
  architecture: 'arm64',
  runtime: 'containerd 2.1',
  list: { images: 5, bytes: 1_000 },
  source: { kind: 'inspected', nodes: 1 },
  needs: { missingImages: 2, missingBytes: 300 },
  required: 750,
  free: 800,
  rate: { bytesPerSecond: 100, why: 'the rate that was given' },
};

test.each<{ name: string; given: Partial<PullFacts>; bytes: object; missing: object; seconds: object; fits: boolean | undefined }>([
  {
    name: 'an inspected one is exact',
    given: {},
    bytes: { certainty: 'exact', value: 300 },
    missing: { certainty: 'exact', value: 2 },
    seconds: { certainty: 'forecast', value: 3 },
    fits: true,
  },
  {
    name: 'one whose store was not seen whole is at most so',
    given: { source: { kind: 'inspected', nodes: 1, unsure: 'the folder is not mounted' } },
    bytes: { certainty: 'at-most', value: 300, why: 'the folder is not mounted' },
    missing: { certainty: 'at-most', value: 2 },
    seconds: { certainty: 'at-most', value: 3 },
    fits: true,
  },
  {
    name: 'one of several nodes is a forecast',
    given: { source: { kind: 'inspected', nodes: 3 } },
    bytes: { certainty: 'forecast', value: 300, why: 'one of 3 nodes was asked' },
    missing: { certainty: 'forecast' },
    seconds: { certainty: 'forecast' },
    fits: true,
  },
  {
    name: 'what a puller left is a forecast',
    given: { source: { kind: 'reported', by: 'ran/other' }, free: undefined },
    bytes: { certainty: 'forecast', value: 300 },
    missing: { certainty: 'forecast' },
    seconds: { certainty: 'forecast' },
    fits: undefined,
  },
  {
    name: 'one that nobody looked at pulls at most all',
    given: { source: { kind: 'unknown', why: 'not looked at' }, needs: undefined, free: undefined, rate: undefined },
    bytes: { certainty: 'at-most', value: 1_000 },
    missing: { certainty: 'at-most', value: 5 },
    seconds: { certainty: 'unknown' },
    fits: undefined,
  },
  {
    name: 'one with an image that nobody could read is unknown, though its node was asked',
    given: { unread: '2 of 5 images could not be read' },
    bytes: { certainty: 'unknown', why: '2 of 5 images could not be read' },
    missing: { certainty: 'unknown', why: '2 of 5 images could not be read' },
    seconds: { certainty: 'unknown' },
    fits: undefined,
  },
  {
    name: 'one that has no room for the images that could be read has none for all',
    given: { unread: '2 of 5 images could not be read', free: 749 },
    bytes: { certainty: 'unknown' },
    missing: { certainty: 'unknown' },
    seconds: { certainty: 'unknown' },
    fits: false,
  },
  {
    name: 'one that this upgrade has pulled on lacks nothing, though an image cannot be read from here',
    given: {
      source: { kind: 'done' },
      needs: { missingImages: 0, missingBytes: 0 },
      required: 0,
      unread: '1 of 5 images could not be read',
    },
    bytes: { certainty: 'exact', value: 0 },
    missing: { certainty: 'exact', value: 0 },
    seconds: { certainty: 'exact', value: 0 },
    fits: true,
  },
  {
    name: 'what does not fit is said',
    given: { free: 749 },
    bytes: { value: 300 },
    missing: { value: 2 },
    seconds: { value: 3 },
    fits: false,
  },
  {
    name: 'a full disk is enough for nothing',
    given: { free: -5, required: 0, needs: { missingImages: 0, missingBytes: 0 } },
    bytes: { certainty: 'exact', value: 0 },
    missing: { value: 0 },
    seconds: { certainty: 'exact', value: 0 },
    fits: true,
  },
])('$name', ({ given, bytes, missing, seconds, fits }) => {
  const pull = estimatePull({ ...facts, ...given });
  expect(pull).toMatchObject({ bytes, seconds, images: { missing, of: 5 } });
  expect(pull.fits).toBe(fits);
});

test('alike ones are together, the tightest as the example, the largest group first', () => {
  const pulls = [
    estimatePull({ ...facts, cluster: 'other', architecture: 'amd64' }),
    estimatePull({ ...facts, cluster: 'roomy', free: 9_000 }),
    estimatePull({ ...facts, cluster: 'tight', rate: { bytesPerSecond: 10, why: 'its bandwidth' } }),
  ];
  expect(groupPulls(pulls)).toMatchObject([
    { clusters: 2, example: 'tight', architecture: 'arm64', free: { value: 800 }, seconds: { value: 30 } },
    { clusters: 1, example: 'other', architecture: 'amd64' },
  ]);
  expect(groupPulls([])).toEqual([]);
});
