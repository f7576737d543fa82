/** Reads upgrades from the server. */
import { refKey } from '@flotilla/api';
import { ClusterGroupUpgrade, unpackStatus } from '@flotilla/api/ran';
import { Coalescer } from '@flotilla/pace';
import type { Client } from '@flotilla/runtime';

/** Unpacks an upgrade's status, the form in which all readers expect it. */
export const withWholeStatus = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade =>
  upgrade.status?.packed ? { ...upgrade, status: unpackStatus(upgrade.status) } : upgrade;

/** Reads the stored upgrade; undefined when it is gone or replaced by another one of its name. */
export type ReadStored = (upgrade: ClusterGroupUpgrade) => Promise<ClusterGroupUpgrade | undefined>;

/** Reads the upgrade from the server, because a step by a stale watch would repeat finished work. Requests during a read share the next read. */
export function createReadStored(client: Client): ReadStored {
  const reads = new Coalescer(async (upgrades: readonly ClusterGroupUpgrade[]) => {
    const refs = new Map(upgrades.map(({ metadata }) => [refKey(metadata), metadata]));
    const found = await Promise.all([...refs.values()].map(({ namespace, name }) => client.get(ClusterGroupUpgrade, { namespace, name })));
    return new Map(found.flatMap((upgrade) => (upgrade ? [[upgrade.metadata.uid, withWholeStatus(upgrade)]] : [])));
  });
  return async (upgrade) => (await reads.submit(upgrade)).get(upgrade.metadata.uid);
}
