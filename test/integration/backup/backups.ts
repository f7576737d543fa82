/** What the stories of this folder ask of a world whose upgrades back their clusters up. */
import { BackupName, type BackupState } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import type { RolloutWorld } from '../rollout/world.ts';

/** Image that takes backups here. */
export const RECOVERY = 'registry.test/recovery:1';

/** Creates an upgrade that backs its clusters up, with a policy of its own name that none of them complies with. */
export async function upgradeWithBackup(
  world: RolloutWorld,
  name: string,
  clusters: readonly string[],
  spec: Record<string, unknown> = {},
): Promise<void> {
  await world.policies(clusters, { [name]: {} });
  await world.upgrade(name, clusters, [name], { backup: true, ...spec });
}

/** `status.backup` of an upgrade. */
export const backupOf = async (world: RolloutWorld, name: string) => (await world.get(name))?.status?.backup;

/** Waits until these clusters are in these states. */
export async function untilBackup(world: RolloutWorld, name: string, want: Readonly<Record<string, BackupState>>): Promise<void> {
  let last: Readonly<Record<string, BackupState>> = {};
  const ask = async () => {
    last = (await backupOf(world, name))?.status ?? {};
    return Object.entries(want).every(([cluster, state]) => last[cluster] === state);
  };
  await eventually(ask, () => `${name}: wanted ${JSON.stringify(want)}, got ${JSON.stringify(last)}`, 60_000);
}

/** Jobs of backups that were created on a spoke. */
export const backupJobs = (world: RolloutWorld, cluster: string) =>
  world.spokes.jobsCreated(cluster).filter(({ name }) => name === BackupName.job);

/** An object that a backup puts on a spoke. */
export function readBackup(world: RolloutWorld, cluster: string, wanted: 'Namespace' | 'ClusterRoleBinding' | 'Job', name: string) {
  const store = world.spokes.store(cluster);
  const kind = store.kinds.find((served) => served.kind === wanted);
  return kind && store.read(kind, kind.namespaced ? BackupName.namespace : undefined, name);
}

/** Waits until nothing of a backup is left on hub and spokes. */
export async function untilCleaned(world: RolloutWorld, clusters: readonly string[]): Promise<void> {
  await world.untilClean(clusters);
  for (const cluster of clusters) {
    const isClean = () =>
      !readBackup(world, cluster, 'Namespace', BackupName.namespace) &&
      !readBackup(world, cluster, 'ClusterRoleBinding', BackupName.clusterRoleBinding);
    await eventually(isClean, `${cluster} to be clean`);
  }
}
