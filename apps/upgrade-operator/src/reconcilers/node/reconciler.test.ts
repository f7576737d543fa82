import { ClusterVersion } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { MachineConfigPool } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { ManualClock } from '@flotilla/pace/testing';
import { type Client, createLogger, createMetrics } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { MemoryWorld } from '../../../testing/memory-world.ts';
import { createCaches } from '../../caches.ts';
import { type DrainContext, DrainFailures, type DrainState } from '../../drain/node-drains.ts';
import { startNodeKeeper } from './reconciler.ts';

type Fields = Record<string, unknown>;
const cordoned = {
  unschedulable: true,
  taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' }],
};
const node = (name: string, state: string, spec: Fields = cordoned, labels: Fields = {}): Fields => ({
  metadata: { name, uid: name, resourceVersion: '1', labels, annotations: { 'machineconfiguration.openshift.io/state': state } },
  spec,
});

interface Given {
  readonly nodes: readonly Fields[];
  readonly phase?: string;
  readonly updated?: number;
  readonly drain?: DrainState;
}

const asItIs = <T>(object: T): T => object;
const ended = (signal: AbortSignal | undefined): Promise<IteratorReturnResult<undefined>> =>
  new Promise((resolve) => signal?.addEventListener('abort', () => resolve({ done: true, value: undefined }), { once: true }));

/** Runs the keeper over a cluster that stands still; what it drained, and what it measured. */
async function keep({ nodes, phase = 'Upgrading', updated = 0, drain = { isLate: false } }: Given) {
  const objects: Record<string, readonly Fields[]> = {
    [Node.plural]: nodes,
    [MachineConfigPool.plural]: [
      { metadata: { name: 'worker', uid: 'w', resourceVersion: '1' }, status: { machineCount: 2, updatedMachineCount: updated } },
    ],
    [ClusterVersion.plural]: [],
    [UpgradeConfig.plural]: [
      {
        metadata: { name: 'managed-upgrade-config', namespace: 'o', uid: 'u', resourceVersion: '1' },
        spec: { type: 'OSD', upgradeAt: '', PDBForceDrainTimeout: 0, desired: { version: '4.14.12' } },
        status: { history: [{ version: '4.14.12', phase }] },
      },
    ],
  };
  const client: Pick<Client, 'list' | 'watch'> = {
    list: async (kind, { transform = asItIs } = {}) => ({
      items: (objects[kind.plural] ?? []).map((object) => transform(kind.schema.parse(object))),
      resourceVersion: '1',
    }),
    // Nothing happens until it ends.
    watch: (_, { signal }) => ({ [Symbol.asyncIterator]: () => ({ next: () => ended(signal) }) }),
  };
  const world = new MemoryWorld();
  const clock = new ManualClock();
  const logger = createLogger({ name: 'node', level: 'silent' });
  const drained: [string, DrainContext['watchOnly']][] = [];
  const stopping = new AbortController();
  const keeper = startNodeKeeper(
    {
      caches: createCaches(client as Client, 'o', { clock }),
      ports: world.ports,
      drains: {
        async force({ metadata }, { watchOnly }) {
          drained.push([metadata.name, watchOnly]);
          return drain;
        },
      },
      onForcedDrain: () => undefined,
      drainFailures: new DrainFailures(() => undefined),
      namespace: 'o',
      logger,
      metrics: createMetrics({ process: false }),
      clock,
    },
    stopping.signal,
  );
  for (let turns = 0; turns < 50 && !keeper.hasSynced; turns += 1) await clock.advance(0);
  await clock.advance(100);
  stopping.abort();
  await keeper.stopped;
  return { drained: drained.map(([name]) => name), watchOnly: drained.map(([, only]) => only), metrics: Object.fromEntries(world.metrics) };
}

/** A node between two configurations: its daemon has not begun, or says nothing of it. */
const between = (name: string, state: string): Fields => {
  const { metadata, ...rest } = node(name, state);
  const configs = { 'machineconfiguration.openshift.io/currentConfig': 'a', 'machineconfiguration.openshift.io/desiredConfig': 'b' };
  return { ...rest, metadata: { ...(metadata as Fields), annotations: { ...((metadata as Fields).annotations as Fields), ...configs } } };
};

test.each([
  { name: 'has given its drain up', given: node('n', 'Degraded') },
  { name: 'cannot apply what it shall', given: node('n', 'Unreconcilable') },
  { name: 'has not begun', given: between('n', 'Done') },
])('keeps the drain going of a node whose daemon $name, and measures it', async ({ given }) => {
  expect(await keep({ nodes: [given], drain: { isLate: true } })).toEqual({
    drained: ['n'],
    watchOnly: [false],
    metrics: { 'drainTimeout n': true },
  });
});

test('keeps the drain of workers going whose configuration is changed, and of no other cordoned node', async () => {
  const nodes = [
    node('changed', 'Working'),
    node('by-hand', 'Done'),
    node('free', 'Done', {}),
    node('control', 'Working', cordoned, { 'node-role.kubernetes.io/control-plane': '' }),
    node('old-control', 'Working', cordoned, { 'node-role.kubernetes.io/master': '' }),
  ];
  expect(await keep({ nodes })).toEqual({
    drained: ['changed'],
    watchOnly: [false],
    metrics: { 'drainTimeout changed': false, 'drainTimeout free': false },
  });
});

test.each([
  { name: 'before the upgrade', given: { phase: 'Pending' } },
  { name: 'after it', given: { phase: 'Upgraded' } },
  { name: 'while no worker is changed', given: { updated: 2 } },
])('leaves every node alone $name', async ({ given }) => {
  expect(await keep({ nodes: [node('changed', 'Working')], ...given })).toEqual({ drained: [], watchOnly: [], metrics: {} });
});

test('measures a drain that is late, but not that of a node that goes', async () => {
  const late = { isLate: true };
  expect((await keep({ nodes: [node('changed', 'Working')], drain: late })).metrics).toEqual({ 'drainTimeout changed': true });
  const going = node('changed', 'Working');
  const nodes = [{ ...going, metadata: { ...(going.metadata as Fields), deletionTimestamp: '2026-01-01T00:00:00Z' } }];
  expect((await keep({ nodes, drain: late })).metrics).toEqual({ 'drainTimeout changed': false });
});
