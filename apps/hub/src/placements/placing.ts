import { errorMessage, type KubeObject, refKey, WaitingError } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import {
  type HubWrite,
  identityOf,
  isEnding,
  keepsObjects,
  type PolicyRef,
  planPlacements,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import { type Client, isConflict, type Logger } from '@flotilla/runtime';
import { BY_NAME_LABEL, BY_UPGRADE_NAME, type RolloutCaches } from '../caches.ts';
import { decidedBy } from '../lookups.ts';
import { applyWrites, describeWrites, type Ownership } from '../writes/apply.ts';
import { Attempts } from '../writes/attempts.ts';

/** Caches that the Placements of an upgrade are planned from. */
type PlanCaches = Pick<RolloutCaches, 'placements' | 'bindings' | 'decisions' | 'clusters'>;

/**
 * Plans the missing writes of an upgrade's Placements and PlacementBindings. An ended upgrade enforces nothing: kept objects are emptied, others are
 * deleted.
 */
export function placementWrites(upgrade: ClusterGroupUpgrade, caches: PlanCaches, talmStrict = false): HubWrite[] {
  const { namespace = '', name } = upgrade.metadata;
  // Kinds that are not served just now are not known to be gone: to unbind what runs would leave clusters in the middle.
  if (!caches.placements.present || !caches.bindings.present) return [];
  const value = upgradeIndexValue({ namespace, name });
  const existing = {
    placements: caches.placements.byIndex(BY_UPGRADE_NAME, value),
    bindings: caches.bindings.byIndex(BY_UPGRADE_NAME, value),
    decided: decidedBy(caches),
    hasNamesake: (cluster: string) => caches.clusters.byIndex(BY_NAME_LABEL, cluster).some(({ metadata }) => metadata.name !== cluster),
    talmStrict,
  };
  if (isEnding(upgrade) && !keepsObjects(upgrade)) return planPlacements(upgrade, [], existing);
  const writes = planPlacements(upgrade, enforcedPolicies(upgrade), existing);
  return isEnding(upgrade) ? writes.filter(({ verb }) => verb === 'patch') : writes;
}

/** True when the binding of a policy is there: its Placement enforces it. */
export const isBound = ({ metadata }: ClusterGroupUpgrade, policy: string, { bindings }: Pick<RolloutCaches, 'bindings'>): boolean =>
  bindings
    .byIndex(BY_UPGRADE_NAME, upgradeIndexValue({ namespace: metadata.namespace ?? '', name: metadata.name }))
    .some(({ metadata: { deletionTimestamp }, subjects }) => !deletionTimestamp && subjects?.some(({ name }) => name === policy));

/** Policies with a Placement: all that the status names for the upgrade, once their names are stored there. */
const enforcedPolicies = ({ status }: ClusterGroupUpgrade): readonly PolicyRef[] =>
  status?.placements ? (status.managedPoliciesForUpgrade ?? []) : [];

/** Dependencies of `Placing`. */
interface PlacingDeps {
  readonly client: Client;
  readonly caches: PlanCaches;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Receives the error of each attempt; undefined: nothing is missing. */
  readonly onPlaced: (upgrade: ClusterGroupUpgrade, error: unknown) => void;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/** Milliseconds until a conflict is planned anew: the caches have its cause by then. */
const CONFLICT_MS = 200;

/** Leaves each upgrade the Placements and PlacementBindings of its stored status. What it remembers can be forgotten. */
export class Placing {
  readonly #deps: PlacingDeps;
  readonly #attempts: Attempts;

  constructor(deps: PlacingDeps) {
    this.#deps = deps;
    this.#attempts = new Attempts(deps.now);
  }

  /**
   * Makes the missing writes. Never rejects.
   * @param upgrade as stored: a status from before would bring an earlier batch back
   * @returns milliseconds until the next attempt; undefined: only a change brings it
   */
  async apply(upgrade: ClusterGroupUpgrade): Promise<number | undefined> {
    const { caches, logger, talmStrict, now, onPlaced } = this.#deps;
    const { uid = '' } = upgrade.metadata;
    const writes = placementWrites(upgrade, caches, talmStrict);
    if (writes.length === 0) {
      this.#attempts.done(uid, '');
      onPlaced(upgrade, undefined);
      return undefined;
    }
    const until = this.#attempts.begin(uid, '', describeWrites(writes));
    if (until !== undefined) return until - now();
    try {
      await this.#write(upgrade, writes);
      onPlaced(upgrade, undefined);
      return undefined;
    } catch (error) {
      if (isConflict(error)) return CONFLICT_MS;
      const level = error instanceof WaitingError ? 'debug' : 'warn';
      logger[level]({ upgrade: refKey(upgrade.metadata), reason: errorMessage(error) }, 'Writing Placements failed');
      onPlaced(upgrade, error);
      return this.#attempts.failed(uid, '', error) - now();
    }
  }

  forget(uid: string): void {
    this.#attempts.forget(uid);
  }

  async #write(upgrade: ClusterGroupUpgrade, writes: readonly HubWrite[]): Promise<void> {
    const { client, caches, logger, signal } = this.#deps;
    const value = upgradeIndexValue(identityOf(upgrade));
    const decideOwner = (existing: KubeObject): Ownership => (upgradeIndexOf(existing) === value ? 'ours' : { takenBy: ownerOf(existing) });
    const written = [caches.placements, caches.bindings];
    await Promise.all(writes.map((write) => applyWrites([write], { client, decideOwner, caches: written, signal, logger })));
  }
}

function ownerOf(existing: KubeObject): string {
  const fix = 'delete it, or give this upgrade another name suffix';
  const owner = upgradeIndexOf(existing);
  return owner === '/' ? `no ClusterGroupUpgrade; ${fix}` : `ClusterGroupUpgrade ${owner}; ${fix}`;
}
