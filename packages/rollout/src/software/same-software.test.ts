import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeStatus, type PrecachingSpec } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { findOtherSoftware } from './same-software.ts';

const images: PrecachingSpec = { platformImage: 'r@sha256:1', operatorsIndexes: ['i:1', 'i:2'] };
const first = (spec: PrecachingSpec) => ({
  metadata: { namespace: 'ran', name: 'first' },
  status: ClusterGroupUpgradeStatus.parse({ precaching: { spec } }),
});
const again = (of?: string) => ({
  metadata: { namespace: 'ran', name: 'again', ...(of !== undefined && { annotations: { [Annotation.retryOf]: of } }) },
});
const find = (spec: PrecachingSpec) => (ref: { namespace: string; name: string }) => (ref.name === 'first' ? first(spec) : undefined);

test.each([
  { name: 'the same', of: 'ran/first', wanted: images },
  { name: 'the same in another order', of: 'ran/first', wanted: { ...images, operatorsIndexes: ['i:2', 'i:1'] } },
  { name: 'no retry', of: undefined, wanted: {} },
  { name: 'one that is gone', of: 'ran/gone', wanted: {} },
  { name: 'one of another namespace', of: 'other/first', wanted: {} },
])('$name passes', ({ of, wanted }) => expect(findOtherSoftware(again(of), wanted, find(images))).toBeUndefined());

test('other images are refused, with both values and the way out', () => {
  const release = findOtherSoftware(again('ran/first'), { ...images, platformImage: 'r@sha256:2' }, find(images));
  expect(release).toMatchObject({ reason: 'RetryDiffers', transient: false });
  expect(release?.message).toContain('platformImage is "r@sha256:2", and was "r@sha256:1" in ran/first, which it tries again');
  expect(release?.message).toContain('remove the annotation flotilla.io/retry-of');
  expect(findOtherSoftware(again('ran/first'), { ...images, additionalImages: ['x'] }, find(images))?.message).toContain(
    'additionalImages is 1 entry, and was nothing',
  );
});
