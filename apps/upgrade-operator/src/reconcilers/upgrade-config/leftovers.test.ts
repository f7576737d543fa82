import { ClusterVersion } from '@flotilla/api/config';
import { MachineLabel, MachineSet } from '@flotilla/api/machine';
import { CHANNEL_ANNOTATION } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { Leftovers } from './leftovers.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const { signal } = new AbortController();
const surgeSet = (name: string, metadata: object = {}): MachineSet =>
  MachineSet.schema.parse({ metadata: { name, labels: { [MachineLabel.upgrade]: 'true' }, ...metadata }, spec: {} });
const clusterVersion = (annotations: object = {}, channel = 'stable-4.14'): ClusterVersion =>
  ClusterVersion.schema.parse({ metadata: { name: 'version', annotations }, spec: { clusterID: 'x', channel } });
const nothing = { machineSets: [], machines: [], nodes: [] };
const left = {
  ...nothing,
  machineSets: [surgeSet('workers-upgrade'), surgeSet('going-upgrade', { deletionTimestamp: '2026-02-01T10:00:00Z' })],
};

/** Records the writes and silences of the leftovers; each of them fails while `state.problem` is set. */
function setUp() {
  const done: string[] = [];
  const told: string[] = [];
  const state: { problem?: Error } = {};
  const act = (what: string) => async () => {
    if (state.problem) throw state.problem;
    done.push(what);
  };
  const clock = new ManualClock();
  const leftovers = new Leftovers({
    writes: {
      deleteMachineSet: async ({ metadata }) => act(`delete ${metadata.name}`)(),
      patchClusterVersion: async (before, patch) => {
        await act(JSON.stringify(patch))();
        return before;
      },
    },
    silences: { endControlPlane: act('end control plane'), endWorkers: act('end workers') },
    clock,
    logger,
    tell: (note) => told.push(note),
    retryMs: 60_000,
  });
  return { told, leftovers, done, state, clock };
}

test('a process that has just begun does not know: it ends silences once, whatever the caches show', async () => {
  const { leftovers, done } = setUp();
  expect(await leftovers.takeBack(nothing, undefined, signal)).toEqual({ hasWritten: false });
  expect(await leftovers.takeBack(nothing, clusterVersion(), signal)).toEqual({ hasWritten: false });
  expect(done).toEqual(['end control plane', 'end workers']);
});

test('extra workers and the channel go whenever they are seen', async () => {
  const { leftovers, done } = setUp();
  await leftovers.takeBack(nothing, undefined, signal);
  done.length = 0;
  const changed = clusterVersion({ [CHANNEL_ANNOTATION]: 'stable-4.14 stable-4.15' }, 'stable-4.15');
  expect(leftovers.isSeen(nothing, changed)).toBe(true);
  expect(await leftovers.takeBack(left, changed, signal)).toEqual({ hasWritten: true });
  expect(done).toEqual([
    'delete workers-upgrade',
    `{"metadata":{"annotations":{"${CHANNEL_ANNOTATION}":null}},"spec":{"channel":"stable-4.14"}}`,
  ]);
});

test('what cannot be taken back is tried again, later and later, and until then nobody is asked', async () => {
  const { leftovers, done, state, clock } = setUp();
  state.problem = new Error('connect ECONNREFUSED');
  const { hasWritten, afterMs: first = 0 } = await leftovers.takeBack(left, undefined, signal);
  expect(hasWritten).toBe(false);
  expect(first).toBeGreaterThan(0);
  state.problem = undefined;
  expect((await leftovers.takeBack(left, undefined, signal)).afterMs).toBeCloseTo(first, 3);
  expect(done).toEqual([]);
  await clock.advance(first);
  expect(await leftovers.takeBack(left, undefined, signal)).toEqual({ hasWritten: true });
  expect(done).toEqual(['delete workers-upgrade', 'end control plane', 'end workers']);
});

test('what is owed is tried at once, and is owed until nothing is left', async () => {
  const { leftovers, done, state } = setUp();
  await leftovers.takeBack(nothing, undefined, signal);
  done.length = 0;
  leftovers.owe();
  state.problem = new Error('connect ECONNREFUSED');
  await leftovers.takeBack(nothing, undefined, signal);
  expect(leftovers.isOwed).toBe(true);
  state.problem = undefined;
  leftovers.owe();
  await leftovers.takeBack(nothing, undefined, signal);
  expect(leftovers.isOwed).toBe(false);
  expect(done).toEqual(['end control plane', 'end workers']);
});
