/** A step of kind `placements`: applies the Placements and PlacementBindings of the stored status. */

import type { KubeObject } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { identityOf, upgradeIndexOf, upgradeIndexValue } from '@flotilla/rollout';
import type { Client, Logger, WatchCache } from '@flotilla/runtime';
import { BY_UID } from '../spokes/port/caches.ts';
import type { StepKey } from '../steps/step-key.ts';
import type { ReadStored } from '../stored-upgrade.ts';
import { applyWrites, type Ownership } from '../writes/apply.ts';
import { type PlanCaches, placementWrites } from './plan.ts';

/** Dependencies of `createBatchStep`. */
export interface BatchStepDeps {
  readonly client: Client;
  readonly caches: PlanCaches & { readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID> };
  readonly logger: Logger;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

function ownerOf(existing: KubeObject): string {
  const fix = 'delete it, or give this upgrade another name suffix';
  const owner = upgradeIndexOf(existing);
  return owner === '/' ? `no ClusterGroupUpgrade; ${fix}` : `ClusterGroupUpgrade ${owner}; ${fix}`;
}

/**
 * Creates the idempotent step. A conflict fails it, so that the next run plans anew. True when it wrote.
 * @param readStored reads the status before any write: a stale one would bring an earlier batch back
 */
export function createBatchStep(
  { client, caches, logger, talmStrict }: BatchStepDeps,
  readStored: ReadStored,
): (key: Pick<StepKey, 'upgrade'>, signal: AbortSignal) => Promise<boolean> {
  return async ({ upgrade: uid }, signal) => {
    const [known] = caches.upgrades.byIndex(BY_UID, uid);
    const expected = known ? placementWrites(known, caches, talmStrict) : [];
    if (!known || expected.length === 0) return false;
    const upgrade = await readStored(known);
    if (!upgrade) return false;
    const identity = identityOf(upgrade);
    const decideOwner = (existing: KubeObject): Ownership =>
      upgradeIndexOf(existing) === upgradeIndexValue(identity) ? 'ours' : { takenBy: ownerOf(existing) };
    const writes = upgrade === known ? expected : placementWrites(upgrade, caches, talmStrict);
    const written = [caches.placements, caches.bindings];
    await Promise.all(writes.map((write) => applyWrites([write], { client, decideOwner, caches: written, signal, logger })));
    return writes.length > 0;
  };
}
