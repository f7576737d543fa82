import { expect, test } from 'vitest';
import { readCachedReleases } from './cached-release.ts';

const good = { image: 'r:1', digest: 'sha256:a', at: '2026-02-01T10:00:00Z', nodes: [{ name: 'a', uid: '1' }] };

test('notes that can be read are read, and others are none', () => {
  const data = {
    good: JSON.stringify(good),
    half: '{"image"',
    number: '7',
    timeless: JSON.stringify({ ...good, at: 'soon' }),
    huge: JSON.stringify({ ...good, nodes: Array.from({ length: 701 }, () => good.nodes[0]) }),
    nameless: JSON.stringify({ ...good, nodes: [{ uid: '1' }] }),
  };
  expect([...readCachedReleases(data)]).toEqual([['good', good]]);
  expect(readCachedReleases().size).toBe(0);
});
