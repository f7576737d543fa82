import { type KubeObject, Label } from '@flotilla/api';
import { isLeftover } from '../spokes/actions/hub-objects.ts';
import { BY_UID, objectsIn, PINS_WORK, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { isLeftBehind } from '../spokes/reach.ts';

/** An upgrade that claims a spoke. */
export interface Holder {
  readonly uid: string;
  /** `namespace/name`. */
  readonly name: string;
  /** Known by its stored status alone, so it has not ended. */
  readonly isStored: boolean;
}

/** Claims of upgrades to spokes, for one kind of job: never two on a spoke. Only the leader keeps them. */
export class Claims {
  readonly #work: string;
  readonly #caches: SpokeJobCaches;
  readonly #storedOwner: (uid: string, cluster: string) => string | undefined;
  /** Uid of the claiming upgrade, by cluster. */
  readonly #holders = new Map<string, string>();

  /** @param storedOwner finds another upgrade whose job is under way on the cluster by its stored status */
  constructor(work: string, caches: SpokeJobCaches, storedOwner: (uid: string, cluster: string) => string | undefined) {
    this.#work = work;
    this.#caches = caches;
    this.#storedOwner = storedOwner;
  }

  /** Claims a cluster without a check: the upgrade's job has begun there. */
  set(uid: string, cluster: string): void {
    this.#holders.set(cluster, uid);
  }

  /** Claims the cluster for this upgrade, or returns the upgrade that holds it. */
  claim(uid: string, cluster: string): Holder | undefined {
    const known = this.#holders.get(cluster) ?? ownerOfObjects(this.#work, cluster, uid, this.#caches);
    // A new leader may look at this upgrade before the one that has begun.
    const holder = known ?? this.#storedOwner(uid, cluster);
    if (holder === undefined || holder === uid) {
      this.#holders.set(cluster, uid);
      return undefined;
    }
    const upgrade = this.#caches.upgrades.byIndex(BY_UID, holder)[0];
    const isStored = known === undefined;
    return { uid: holder, isStored, name: upgrade ? `${upgrade.metadata.namespace}/${upgrade.metadata.name}` : 'that is being deleted' };
  }

  /** True when the upgrade has claimed the cluster. */
  holds(uid: string, cluster: string): boolean {
    return this.#holders.get(cluster) === uid;
  }

  /** Releases the claim; true when others may claim the cluster now. A cluster without a claim may be held by objects from before this process. */
  release(uid: string, cluster: string): boolean {
    if ((this.#holders.get(cluster) ?? uid) !== uid) return false;
    this.#holders.delete(cluster);
    return true;
  }
}

/**
 * Finds another upgrade whose objects are in the cluster's namespace. The owner lives, or its leftovers are being removed. A leftover mark alone
 * keeps nobody away, because the next upgrade cleans up first.
 */
export function ownerOfObjects(work: string, cluster: string, uid: string, caches: SpokeJobCaches): string | undefined {
  // Pins are removed by a job of the same names on the spoke, maybe after the end of its upgrade.
  const unpinning = work === 'precache' ? objectsIn(caches, PINS_WORK, cluster) : [];
  const objects = [...objectsIn(caches, work, cluster), ...unpinning];
  const ownerOf = ({ metadata }: KubeObject) => metadata.labels?.[Label.upgradeUid];
  const leaving = new Set([...objects.filter(isLeftover), ...unpinning].map(ownerOf));
  return objects
    .filter((object) => !isLeftBehind(object))
    .map(ownerOf)
    .find((owner) => owner !== undefined && owner !== uid && (leaving.has(owner) || caches.upgrades.byIndex(BY_UID, owner).length > 0));
}
