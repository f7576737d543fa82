/** Upgrades as the server has them. */
import { refKey } from '@flotilla/api';
import { ClusterGroupUpgrade, unpackStatus } from '@flotilla/api/ran';
import { Coalescer } from '@flotilla/pace';
import type { Client } from '@flotilla/runtime';

/** An upgrade as everything here reads it: its status in full, however the server has it. */
export const withWholeStatus = (upgrade: ClusterGroupUpgrade): ClusterGroupUpgrade =>
  upgrade.status?.packed ? { ...upgrade, status: unpackStatus(upgrade.status) } : upgrade;

/** An upgrade as it is stored now; undefined when it is gone, another one of its name included. */
export type ReadStored = (upgrade: ClusterGroupUpgrade) => Promise<ClusterGroupUpgrade | undefined>;

/**
 * Asks the server itself: whoever goes by a watch that is behind would do again what was done and cleaned since. An upgrade has the answer
 * of one read for all that ask while the read before is on its way.
 */
export function createReadStored(client: Client): ReadStored {
  const reads = new Coalescer(async (upgrades: readonly ClusterGroupUpgrade[]) => {
    const refs = new Map(upgrades.map(({ metadata }) => [refKey(metadata), metadata]));
    const found = await Promise.all([...refs.values()].map(({ namespace, name }) => client.get(ClusterGroupUpgrade, { namespace, name })));
    return new Map(found.flatMap((upgrade) => (upgrade ? [[upgrade.metadata.uid, withWholeStatus(upgrade)]] : [])));
  });
  return async (upgrade) => (await reads.submit(upgrade)).get(upgrade.metadata.uid);
}
