import { type KubeObject, Label } from '@flotilla/api';
import { BY_UID, PINS_WORK, type SpokeJobCaches } from '../../caches.ts';
import { objectsIn } from '../../lookups.ts';
import { isLeftover } from '../transports/actions/hub-objects.ts';
import { isLeftBehind } from '../transports/reach.ts';

/** Purpose of a claim: a job, or the removal of what an ended upgrade left. Each is released by itself. */
export type Purpose = 'job' | 'pins' | 'leftovers';

/** An upgrade that claims a spoke. */
export interface Holder {
  readonly uid: string;
  /** `namespace/name`. */
  readonly name: string;
  /** Claimed in this process, so perhaps not stored yet. */
  readonly isFresh: boolean;
}

/** Claims of upgrades to spokes, for one kind of job: never two on a spoke. Only the leader keeps them. */
export class Claims {
  readonly #work: string;
  readonly #caches: SpokeJobCaches;
  readonly #storedOwner: (uid: string, cluster: string) => string | undefined;
  /** Claims by cluster. */
  readonly #claims = new Map<string, { readonly uid: string; readonly purpose: Purpose }>();

  /** @param storedOwner finds another upgrade whose job is under way on the cluster by its stored status */
  constructor(work: string, caches: SpokeJobCaches, storedOwner: (uid: string, cluster: string) => string | undefined) {
    this.#work = work;
    this.#caches = caches;
    this.#storedOwner = storedOwner;
  }

  /** Claims the cluster for this upgrade, or returns the upgrade that holds it. */
  claim(uid: string, cluster: string, purpose: Purpose = 'job'): Holder | undefined {
    const claimed = this.#claims.get(cluster);
    if (claimed?.uid === uid && claimed.purpose === purpose) return undefined;
    // A new leader may look at this upgrade before the one that has begun.
    const holder = claimed?.uid ?? ownerOfObjects(this.#work, cluster, uid, this.#caches) ?? this.#storedOwner(uid, cluster);
    if (holder === undefined) {
      this.#claims.set(cluster, { uid, purpose });
      return undefined;
    }
    const upgrade = this.#caches.upgrades.byIndex(BY_UID, holder)[0];
    const isFresh = claimed !== undefined;
    return { uid: holder, isFresh, name: upgrade ? `${upgrade.metadata.namespace}/${upgrade.metadata.name}` : 'that is being deleted' };
  }

  /** Uid of the upgrade that has claimed the cluster in this process. */
  ownerOf(cluster: string): string | undefined {
    return this.#claims.get(cluster)?.uid;
  }

  /** Clusters that the upgrade has claimed for its job in this process. */
  of(uid: string): string[] {
    return [...this.#claims].flatMap(([cluster, claimed]) => (claimed.uid === uid && claimed.purpose === 'job' ? [cluster] : []));
  }

  /** Releases the claim; true when others may claim the cluster now. A cluster without a claim may be held by objects from before this process. */
  release(uid: string, cluster: string, purpose: Purpose = 'job'): boolean {
    const claimed = this.#claims.get(cluster);
    if (claimed && (claimed.uid !== uid || claimed.purpose !== purpose)) return false;
    this.#claims.delete(cluster);
    return true;
  }
}

const ownerOfObjects = (work: string, cluster: string, uid: string, caches: SpokeJobCaches): string | undefined =>
  ownersOfObjects(work, cluster, uid, caches)[0];

/**
 * Finds other upgrades whose objects are in the cluster's namespace, by uid. An owner lives, or its leftovers are being removed. A leftover mark alone
 * keeps nobody away, because the next upgrade cleans up first.
 */
export function ownersOfObjects(work: string, cluster: string, uid: string, caches: SpokeJobCaches): string[] {
  // Pins are removed by a job of the same names on the spoke, maybe after the end of its upgrade.
  const unpinning = work === 'precache' ? objectsIn(caches, PINS_WORK, cluster) : [];
  const objects = [...objectsIn(caches, work, cluster), ...unpinning];
  const ownerOf = ({ metadata }: KubeObject) => metadata.labels?.[Label.upgradeUid];
  const leaving = new Set([...objects.filter(isLeftover), ...unpinning].map(ownerOf));
  return objects
    .filter((object) => !isLeftBehind(object))
    .map(ownerOf)
    .filter((owner) => owner !== undefined)
    .filter((owner) => owner !== uid && (leaving.has(owner) || caches.upgrades.byIndex(BY_UID, owner).length > 0));
}
