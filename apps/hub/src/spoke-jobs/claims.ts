import { type KubeObject, Label } from '@flotilla/api';
import { isLeftover } from '../spokes/actions/hub-objects.ts';
import { BY_UID, objectsIn, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { isLeftBehind } from '../spokes/reach.ts';

/** An upgrade that has a spoke. */
export interface Holder {
  readonly uid: string;
  /** `namespace/name`. */
  readonly name: string;
}

/** Which upgrade has a spoke, for one kind of job: never two at a time. Kept by the leader alone. */
export class Claims {
  readonly #work: string;
  readonly #caches: SpokeJobCaches;
  /** Upgrade uid that works on a cluster now. */
  readonly #holders = new Map<string, string>();

  constructor(work: string, caches: SpokeJobCaches) {
    this.#work = work;
    this.#caches = caches;
  }

  /** Takes a cluster over without asking: its job has begun. */
  set(uid: string, cluster: string): void {
    this.#holders.set(cluster, uid);
  }

  /** Takes the cluster for this upgrade, or tells who has it. */
  take(uid: string, cluster: string): Holder | undefined {
    const holder = this.#holders.get(cluster) ?? ownerOfObjects(this.#work, cluster, uid, this.#caches);
    if (holder === undefined || holder === uid) {
      this.#holders.set(cluster, uid);
      return undefined;
    }
    const upgrade = this.#caches.upgrades.byIndex(BY_UID, holder)[0];
    return { uid: holder, name: upgrade ? `${upgrade.metadata.namespace}/${upgrade.metadata.name}` : 'that is being deleted' };
  }

  /** Gives the cluster up; true when others may have it now. One without a claim may have held it by its objects alone: it was there before this process. */
  release(uid: string, cluster: string): boolean {
    if ((this.#holders.get(cluster) ?? uid) !== uid) return false;
    this.#holders.delete(cluster);
    return true;
  }
}

/**
 * Another upgrade whose objects are in the cluster's namespace. It lives, or what it left is being removed; the mere memory of that keeps
 * nobody away, for whoever begins cleans up first.
 */
export function ownerOfObjects(work: string, cluster: string, uid: string, caches: SpokeJobCaches): string | undefined {
  const objects = objectsIn(caches, work, cluster);
  const ownerOf = ({ metadata }: KubeObject) => metadata.labels?.[Label.upgradeUid];
  const leaving = new Set(objects.filter(isLeftover).map(ownerOf));
  return objects
    .filter((object) => !isLeftBehind(object))
    .map(ownerOf)
    .find((owner) => owner !== undefined && owner !== uid && (leaving.has(owner) || caches.upgrades.byIndex(BY_UID, owner).length > 0));
}
