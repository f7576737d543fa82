import type { ReconcilerOptions } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { type Excuse, incompleteRooms, silentReconcilers, strangeFiles } from './reconciler-rooms.ts';
import { texts } from './repository.ts';

const ALL = 'reconciler, observe, plan, apply, status';
const ALL_BUT_RECONCILER = 'observe, plan, apply, status';
/** Folders that start a reconciler and lack some of its five files, and why. */
const EXCUSED = new Map<string, Excuse>([
  ['apps/hub/src', [ALL, 'starts the reconciler of ClusterGroupUpgrade, whose room has its files']],
  ['apps/hub/src/spokes', [ALL_BUT_RECONCILER, 'its parts plan and apply: jobs/, rollout/, cleaning']],
  ['apps/hub/src/workers', [ALL, 'takes the steps that spokes/ hands over']],
  ['apps/spoke-agent/src', [ALL, 'starts three reconcilers; packages/agent observes, plans and applies for them']],
  ['apps/upgrade-operator/src/reconcilers/node', [ALL_BUT_RECONCILER, 'a drain is one call of drain/']],
  ['apps/upgrade-operator/src/reconcilers/other-upgrade-config', [ALL_BUT_RECONCILER, 'writes one condition']],
  ['apps/version-operator/src', [ALL, 'mends drift through apply/ and cluster/']],
  ['apps/version-operator/src/payload', [ALL, 'fetches releases ahead and writes nothing']],
  ['apps/version-operator/src/updates', [ALL_BUT_RECONCILER, 'keeps the answers of the update service in memory']],
]);
/** Sources whose reconciler leaves trouble to the log, and why. */
const SILENT = new Map([
  ['apps/hub/src/workers/hand-over.ts', 'the leader takes a step that stays undone, and tells its error'],
  ['apps/spoke-agent/src/agent.ts', 'the status of action, view and work has the error, and the hub tells of it'],
]);

test('a folder that starts a reconciler has its five files, and no excuse is needless', () => {
  expect(incompleteRooms(texts, EXCUSED)).toEqual([]);
});

test('a missing file is found, and an excuse of a folder that is complete, gone, or lacks something else', () => {
  const room = (name: string, files: readonly string[]) =>
    files.map((file): [string, string] => [`apps/a/src/${name}/${file}.ts`, file === 'reconciler' ? 'return startReconciler({});' : '']);
  const five = ALL.split(', ');
  const sources = new Map([
    ...room('whole', five),
    ...room('lacking', ['reconciler', 'observe', 'plan']),
    ...room('excused', ['reconciler']),
    ...room('other', ['reconciler', 'observe']),
    ['apps/a/src/whole/other.test.ts', 'startReconciler({});'],
    ['packages/runtime/src/reconciler.ts', 'startReconciler({});'],
  ]);
  const excused = new Map(
    ['whole', 'excused', 'other', 'gone'].map((name): [string, Excuse] => [`apps/a/src/${name}`, [ALL_BUT_RECONCILER, 'for the test']]),
  );
  expect(incompleteRooms(sources, excused)).toEqual([
    'apps/a/src/lacking: apply, status',
    'apps/a/src/other: plan, apply, status',
    'apps/a/src/whole: needs no excuse',
    'apps/a/src/gone: needs no excuse',
  ]);
});

test('a reconciler has to say what becomes of a thrown error, and tells it', () => {
  // @ts-expect-error: options without onTrouble do not compile.
  void ({ name: 'a' } as Omit<ReconcilerOptions, 'onTrouble'> satisfies ReconcilerOptions);
  expect(silentReconcilers(texts, SILENT)).toEqual([]);
});

test('a reconciler that keeps trouble to itself is found, and a needless excuse', () => {
  const starting = (options: string) => `return startReconciler({ ${options}, reconcile });`;
  const sources = new Map([
    ['apps/a/src/told.ts', starting('onTrouble: troubleEvents(recorder, subjectOf)')],
    ['apps/a/src/handled.ts', starting('onTrouble: async (key) => requests.forget(key)')],
    ['apps/a/src/none.ts', starting('name')],
    ['apps/a/src/empty.ts', starting('onTrouble: async () => {}')],
    ['apps/a/src/nothing.ts', starting('onTrouble: (_key, trouble) => undefined')],
    ['apps/a/src/logged.ts', starting('onTrouble: logOnly')],
    ['apps/a/src/excused.ts', starting('onTrouble: logOnly')],
  ]);
  const excused = new Map(['excused', 'told'].map((name) => [`apps/a/src/${name}.ts`, 'for the test']));
  expect(silentReconcilers(sources, excused)).toEqual([
    'apps/a/src/none.ts',
    'apps/a/src/empty.ts',
    'apps/a/src/nothing.ts',
    'apps/a/src/logged.ts',
    'apps/a/src/told.ts: needs no excuse',
  ]);
});

/** Nouns of the field that a room may have beside its five files. A new one is entered here, and explained in the README of its app. */
const NOUNS = new Set(
  `access admission alerts caches change choice claims cleaning cluster delay events fields job jobs key kind leftovers messages mounts part passes
  phases pins problems proofs prometheus reach request retries revocation service silence templates timers trim updates wakes walk watches waves windows withdrawal`.split(
    /\s+/,
  ),
);

test('beside the five files of a room lie nouns of the field', () => {
  expect(strangeFiles([...texts.keys()], NOUNS)).toEqual([]);
});

test('a helper, a verb and an unknown noun beside the five are found, and nothing else', () => {
  const files = ['reconciler', 'observe-fleet', 'claims', 'spoke-claims', 'helpers', 'revoke', 'engine'].map(
    (name) => `apps/a/src/room/${name}.ts`,
  );
  const elsewhere = [
    'apps/a/src/other/helpers.ts',
    'apps/a/src/room/helpers.test.ts',
    'packages/b/src/reconciler.ts',
    'packages/b/src/helpers.ts',
  ];
  expect(strangeFiles([...files, ...elsewhere], new Set(['claims']))).toEqual(
    ['helpers', 'revoke', 'engine'].map((name) => `apps/a/src/room/${name}.ts`),
  );
});

test('a leader of the hub starts five reconcilers at most', () => {
  const starts = [...texts]
    .filter(([path]) => path.startsWith('apps/hub/src/') && !path.endsWith('.test.ts'))
    .flatMap(([path, text]) => [...text.matchAll(/\bstartReconciler\(/g)].map(() => path));
  expect(starts.toSorted()).toEqual(
    ['auto-upgrades/reconciler', 'hub', 'registration/reconciler', 'spokes/reconciler', 'workers/hand-over'].map(
      (name) => `apps/hub/src/${name}.ts`,
    ),
  );
});
