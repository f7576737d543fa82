/** A step of kind `placements`: makes Placements and PlacementBindings what the stored status says. */

import type { KubeObject } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { PolicyRef } from '@flotilla/rollout';
import { type HubWrite, identityOf, isEnding, keepsObjects, planPlacements, upgradeIndexOf, upgradeIndexValue } from '@flotilla/rollout';
import type { Client, Logger } from '@flotilla/runtime';
import { BY_UID } from '../spokes/port/caches.ts';
import type { StepKey } from '../step-key.ts';
import type { ReadStored } from '../stored-upgrade.ts';
import { applyWrites, type Ownership } from '../writes/apply.ts';
import { BY_UPGRADE_NAME, type PlacementCaches } from './caches.ts';
import type { SpokeCaches } from './spoke/caches.ts';

/** What making the Placements of a batch true needs. */
export interface BatchStepDeps {
  readonly client: Client;
  readonly caches: Pick<SpokeCaches, 'upgrades'> & PlacementCaches;
  readonly logger: Logger;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/**
 * What is left to write for an upgrade's Placements and PlacementBindings, by the caches: empty when all is as its stored status wants
 * it. An upgrade that has ended enforces nothing: what it keeps is emptied, what it does not keep is deleted.
 */
export function placementWrites(upgrade: ClusterGroupUpgrade, caches: PlacementCaches, talmStrict = false): HubWrite[] {
  const { namespace = '', name } = upgrade.metadata;
  const value = upgradeIndexValue({ namespace, name });
  const existing = {
    placements: caches.placements.byIndex(BY_UPGRADE_NAME, value),
    bindings: caches.bindings.byIndex(BY_UPGRADE_NAME, value),
    talmStrict,
  };
  if (isEnding(upgrade) && !keepsObjects(upgrade)) return planPlacements(upgrade, [], existing);
  const writes = planPlacements(upgrade, enforcedPolicies(upgrade), existing);
  return isEnding(upgrade) ? writes.filter(({ verb }) => verb === 'patch') : writes;
}

/** Policies with a Placement: all that the status names for the upgrade, once its names were stored there. */
const enforcedPolicies = ({ status }: ClusterGroupUpgrade): readonly PolicyRef[] =>
  status?.placements ? (status.managedPoliciesForUpgrade ?? []) : [];

function ownerOf(existing: KubeObject): string {
  const fix = 'delete it, or give this upgrade another name suffix';
  const owner = upgradeIndexOf(existing);
  return owner === '/' ? `no ClusterGroupUpgrade; ${fix}` : `ClusterGroupUpgrade ${owner}; ${fix}`;
}

/**
 * Idempotent; a write that is refused because the object has changed since is made anew from the next look. True when it wrote.
 * @param readStored asked before anything is written: a status from before would bring an earlier batch back
 */
export function createBatchStep(
  { client, caches, logger, talmStrict }: BatchStepDeps,
  readStored: ReadStored,
): (key: Pick<StepKey, 'upgrade'>) => Promise<boolean> {
  return async ({ upgrade: uid }) => {
    const [known] = caches.upgrades.byIndex(BY_UID, uid);
    const expected = known ? placementWrites(known, caches, talmStrict) : [];
    if (!known || expected.length === 0) return false;
    const upgrade = await readStored(known);
    if (!upgrade) return false;
    const identity = identityOf(upgrade);
    const judge = (existing: KubeObject): Ownership =>
      upgradeIndexOf(existing) === upgradeIndexValue(identity) ? 'ours' : { takenBy: ownerOf(existing) };
    const writes = upgrade === known ? expected : placementWrites(upgrade, caches, talmStrict);
    const written = [caches.placements, caches.bindings];
    await Promise.all(writes.map((write) => applyWrites([write], { client, judge, caches: written, logger })));
    return writes.length > 0;
  };
}
