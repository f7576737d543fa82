import { expect, test } from 'vitest';
import { snapshotterOf } from './content-way.ts';

test.each([
  ['/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs', 'overlayfs'],
  ['/data/io.containerd.snapshotter.v1.native/', 'native'],
  ['/var/lib/containers/storage/overlay-images', undefined],
  ['', undefined],
])('the snapshotter of %j is %s', (mountpoint, want) => {
  expect(snapshotterOf(mountpoint)).toBe(want);
});
