import type { KubeObject, Resource } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { BackupName } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { RolloutWorld } from '../rollout/world.ts';
import { eachAttempt } from '../world.ts';
import { backupJobs, backupOf, RECOVERY, readBackup, untilBackup, untilCleaned, upgradeWithBackup } from './backups.ts';

let world: RolloutWorld;
let stop = new AbortController();
/** `Kind name` of what was created in a cluster's namespace, in order. */
const created = new Map<string, string[]>();

eachAttempt(
  async () => {
    stop = new AbortController();
    created.clear();
    world = await RolloutWorld.start({ spokes: ['plain', 'left'], hubArgs: ['--talm-strict', '--backup-image', RECOVERY] });
    for (const kind of [ManagedClusterAction, ManagedClusterView]) record(kind);
  },
  async () => {
    stop.abort();
    await world?.stop();
  },
);

function record<T extends KubeObject>(kind: Resource<T>): void {
  const cache = new WatchCache(world.client, kind, {});
  cache.subscribe(({ type, object, previous }) => {
    const { namespace = '', name } = object.metadata;
    if (type === 'set' && !previous) created.set(namespace, [...(created.get(namespace) ?? []), `${kind.kind} ${name}`]);
  });
  cache.start(stop.signal);
}

test('deletions are made without a look, the state is Starting at once, and nothing else is done before they were executed', async () => {
  const earlier = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: BackupName.namespace } };
  world.spokes.store('left').set(earlier);
  const before = readBackup(world, 'left', 'Namespace', BackupName.namespace)?.metadata.uid;
  for (const cluster of ['plain', 'left']) world.spokes.disconnect(cluster);
  await upgradeWithBackup(world, 'strict', ['plain', 'left']);
  await untilBackup(world, 'strict', { plain: 'Starting', left: 'Starting' });
  const asked = [
    'ManagedClusterAction backup-crb-delete',
    'ManagedClusterAction backup-ns-delete',
    'ManagedClusterView view-backup-namespace',
  ];
  for (const cluster of ['plain', 'left'])
    await eventually(() => (created.get(cluster) ?? []).toSorted().join() === asked.join(), `what is asked of ${cluster}`);

  for (const cluster of ['plain', 'left']) world.spokes.reconnect(cluster);
  await world.untilCompleted('strict', 120_000);
  expect((await backupOf(world, 'strict'))?.status).toEqual({ plain: 'Succeeded', left: 'Succeeded' });
  for (const cluster of ['plain', 'left']) expect(backupJobs(world, cluster)).toHaveLength(1);
  expect(before).toBeDefined();
  await untilCleaned(world, ['plain', 'left']);
});
