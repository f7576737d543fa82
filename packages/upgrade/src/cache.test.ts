import { ClusterVersion } from '@flotilla/api/config';
import type { Node } from '@flotilla/api/core';
import type { Machine } from '@flotilla/api/machine';
import type { CachedRelease } from '@flotilla/api/managed';
import { expect, test } from 'vitest';
import { cacheObstacle } from './cache.ts';

const NOW = Date.parse('2026-02-01T10:00:00Z');
const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = `registry.test/release@${DIGEST}`;
const node = (name: string, uid: string, spec: object = {}) => ({ metadata: { name, uid }, spec }) as Node;
const note = (uids: readonly string[], { minutes = 1, ...more }: Partial<CachedRelease> & { minutes?: number } = {}): CachedRelease => ({
  image: 'mirror.test/release:v1',
  digest: DIGEST,
  at: new Date(NOW - minutes * 60_000).toISOString(),
  nodes: uids.map((uid) => ({ name: `node-${uid}`, uid })),
  ...more,
});
const clusterVersion = (image: string) =>
  ClusterVersion.schema.parse({
    metadata: { name: 'version' },
    spec: { clusterID: 'x' },
    status: { desired: { version: '4.20.0', image: 'r' }, availableUpdates: [{ version: '4.20.1', image }] },
  });

const byVersion = { kind: 'version', version: '4.20.1', channel: 'stable-4.20' } as const;
function ask(notes: readonly CachedRelease[], parts: { nodes?: Node[]; machines?: Machine[]; image?: string; target?: object } = {}) {
  const { nodes = [node('a', '1'), node('b', '2')], machines = [], image = IMAGE, target = byVersion } = parts;
  const cluster = { clusterVersion: clusterVersion(image), nodes, machines };
  return cacheObstacle({ cluster, target: target as typeof byVersion, notes, maxAge: 60, nowMs: NOW });
}

test('nothing is waited for when every node has the release, by version or image, from wherever it came', () => {
  expect(ask([note(['1', '2'])])).toBeUndefined();
  expect(ask([note(['1', '2'])], { target: { kind: 'image', image: IMAGE, version: '' } })).toBeUndefined();
});

test.each<[string, CachedRelease[], RegExp]>([
  ['no note', [], /^a proof that the nodes have the images of release 4\.20\.1 \(.*\): there is none$/],
  ['a note of another release', [note(['1', '2'], { digest: 'sha256:b' })], /there is none$/],
  ['an old note', [note(['1', '2'], { minutes: 60 })], /the last one is 60 minutes old, of 60 at most$/],
  ['a note of the future', [note(['1', '2'], { minutes: -6 })], /says a time 6 minutes ahead; set the clocks of the nodes$/],
  ['a note without a node', [note(['1'])], /^a proof that 1 of 2 nodes have the images of release 4\.20\.1: b$/],
  ['a note of a node that was replaced', [note(['1', '3'])], /^a proof that 1 of 2 nodes .*: b$/],
  ['a newer note of fewer nodes', [note(['1', '2'], { minutes: 9 }), note(['2'], { minutes: 1 })], /: a$/],
])('%s holds the upgrade', (_, notes, wanted) => {
  expect(ask(notes)).toMatch(wanted);
});

test('a release by tag is the one of that very name', () => {
  const image = 'mirror.test/release:v1';
  expect(ask([note(['1', '2'])], { image })).toBeUndefined();
  expect(ask([note(['1', '2'])], { image: 'mirror.test/release:v2' })).toMatch(/there is none$/);
});

test('cordoned nodes and those of the upgrade itself are not waited for', () => {
  const machine = (of: string, labels: object) =>
    ({ metadata: { name: of, labels }, status: { nodeRef: { name: of } } }) as unknown as Machine;
  const nodes = [node('a', '1'), node('cordoned', '2', { unschedulable: true }), node('extra', '3'), node('own', '4')];
  const machines = [machine('extra', { 'upgrade.managed.openshift.io': 'true' }), machine('own', {})];
  expect(ask([note(['1'])], { nodes, machines })).toMatch(/^a proof that 1 of 2 nodes .*: own$/);
});

test('a version that is not offered has no image to ask for', () => {
  expect(ask([], { target: { ...byVersion, version: '4.20.9' } })).toBe(
    'version 4.20.9 among the available or conditional updates of the ClusterVersion',
  );
});

test('a message names five nodes, and how many more', () => {
  const nodes = Array.from({ length: 30 }, (_, index) => node(`n${String(index).padStart(2, '0')}`, `u${index}`));
  expect(ask([note([])], { nodes })).toMatch(/^a proof that 30 of 30 nodes have .*: n00, n01, n02, n03, n04 and 25 more$/);
});
