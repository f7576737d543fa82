import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readSourceGraph } from '../../tools/src/source-graph.ts';
import { incompleteRooms } from './reconciler-rooms.ts';

/** Folders that start a reconciler and do not have its five files yet, and why. */
const EXCUSED = new Map([
  ['apps/hub/src', 'starts the reconciler of ClusterGroupUpgrade, whose room has its files'],
  ['apps/hub/src/registration', 'observes in its reconciler; its status is the ManagedCluster that it applies'],
  ['apps/hub/src/leftovers', 'observes and plans by spokes/actions'],
  ['apps/hub/src/steps', 'late steps and those of a queue are reconciled by the rooms that request them'],
  ['apps/spoke-agent/src', 'starts three reconcilers; packages/agent observes, plans and applies for them'],
  ['apps/upgrade-operator/src/reconcilers/node', 'a drain is one call of drain/'],
  ['apps/upgrade-operator/src/reconcilers/other-upgrade-config', 'writes one condition'],
  ['apps/version-operator/src', 'mends drift through apply/ and cluster/'],
  ['apps/version-operator/src/payload', 'fetches releases ahead and writes nothing'],
  ['apps/version-operator/src/updates', 'keeps the answers of the update service in memory'],
]);

const { modules } = await readSourceGraph(resolve(import.meta.dirname, '../..'));

test('a folder that starts a reconciler has its five files, and no excuse is needless', () => {
  const texts = new Map([...modules].map(([file, { text }]) => [file, text]));
  expect(incompleteRooms(texts, EXCUSED)).toEqual([]);
});

test('a missing file is found, and an excuse of a folder that is complete or gone', () => {
  const room = (name: string, files: readonly string[]) =>
    files.map((file): [string, string] => [`apps/a/src/${name}/${file}.ts`, file === 'reconciler' ? 'return startReconciler({});' : '']);
  const five = ['reconciler', 'observe', 'plan', 'apply', 'status'];
  const texts = new Map([
    ...room('whole', five),
    ...room('lacking', ['reconciler', 'observe', 'plan']),
    ...room('excused', ['reconciler']),
    ['apps/a/src/whole/other.test.ts', 'startReconciler({});'],
    ['packages/runtime/src/reconciler.ts', 'startReconciler({});'],
  ]);
  const excused = new Map(['whole', 'excused', 'gone'].map((name) => [`apps/a/src/${name}`, 'for the test']));
  expect(incompleteRooms(texts, excused)).toEqual([
    'apps/a/src/lacking: apply, status',
    'apps/a/src/whole: needs no excuse',
    'apps/a/src/gone: needs no excuse',
  ]);
});
