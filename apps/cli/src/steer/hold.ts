import { Annotation, FlotillaError } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { type Client, checkOptions } from '@flotilla/runtime';
import { upgradesWith } from '../hub/upgrades.ts';
import type { Run } from '../run.ts';
import { type Change, steer } from './change.ts';
import { ClusterOptions, HoldOptions } from './options.ts';

/** The reason of a hold for which none is given. */
const HELD = 'held';

/** `flotilla hold CLUSTER`. */
export const holdCluster: Run = async ([name = ''], given) => {
  const options = checkOptions(HoldOptions, given);
  await steer(options, ({ client }) => planHold(client, name, options.reason));
};

/** `flotilla unhold CLUSTER`. */
export const unholdCluster: Run = async ([name = ''], given) => {
  await steer(checkOptions(ClusterOptions, given), ({ client }) => planUnhold(client, name));
};

/** The change that holds a cluster. */
export async function planHold(client: Client, name: string, reason = HELD): Promise<Change<ManagedCluster>> {
  const object = await readCluster(client, name);
  const upgrades = await upgradesWith(client, name);
  const inUpgrades = [
    'no upgrade begins anything on it; what runs there ends',
    'others of its batch go on, and the batch waits for it until its time is up',
  ];
  return {
    kind: ManagedCluster,
    object,
    annotations: { [Annotation.hold]: reason },
    clusters: 1,
    says: upgrades?.length === 0 ? ['it is in no upgrade now: those that come begin nothing on it'] : inUpgrades,
    undo: { action: 'unhold' },
  };
}

/** The change that ends the hold of a cluster. */
export async function planUnhold(client: Client, name: string): Promise<Change<ManagedCluster>> {
  const object = await readCluster(client, name);
  const reason = object.metadata.annotations?.[Annotation.hold];
  return {
    kind: ManagedCluster,
    object,
    annotations: { [Annotation.hold]: undefined },
    clusters: 1,
    says: ['upgrades go on with it as their batches come'],
    whenSame: ['it is not held'],
    undo: { action: 'hold', reason },
  };
}

/** @throws FlotillaError `FLOTILLA_NO_CLUSTER` naming the command that lists those that there are */
async function readCluster(client: Client, name: string): Promise<ManagedCluster> {
  const cluster = await client.get(ManagedCluster, { name });
  if (cluster) return cluster;
  const said = `there is no ManagedCluster ${name} on ${client.server}; kubectl get managedclusters lists those that there are`;
  throw new FlotillaError('FLOTILLA_NO_CLUSTER', said);
}
