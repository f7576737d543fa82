/** Removes what no stored upgrade wants any more: the job of an upgrade that ends, and leftovers. */
import { type KubeObject, Label } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { identityOf, isAvailable, isEnding, keepsObjects, namedClusters, stateOf, wasCleaned } from '@flotilla/rollout';
import { type Change, isNotFound, watch } from '@flotilla/runtime';
import { BY_UID, BY_WORK_AND_CLUSTER, type SpokeJobCaches } from '../caches.ts';
import { objectsIn, objectsOf } from '../lookups.ts';
import { describeWrites } from '../writes/apply.ts';
import { type CleaningPlan, isCleaned, Leftovers, type LeftoversDeps } from './leftovers.ts';
import { keyOf, keyText, type PartPlan, type SpokeKey, type SpokePart } from './part.ts';
import { isLeftover } from './transports/actions/hub-objects.ts';
import { cleaningOf, SpokePlan } from './transports/port/port.ts';
import { type ApplyPlanDeps, applySpokePlan, isLeftBehind, reachSpoke } from './transports/reach.ts';

/** Dependencies of `Cleaning`. */
interface CleaningDeps extends LeftoversDeps, Omit<ApplyPlanDeps, 'signal'> {
  readonly caches: SpokeJobCaches;
  /** Has the spoke of a key reconciled. */
  readonly enqueue: (key: string) => void;
  /** Receives the uid of an ending upgrade of which a spoke is clean. */
  readonly onClean: (upgradeUid: string) => void;
}

/** Progress of one ending upgrade. A new process asks clean spokes once more. */
interface Ending {
  /** Absent spokes are marked instead of waited for. */
  isForced: boolean;
  readonly done: Set<string>;
  /** Spokes that had a work: a spoke is clean once its work is gone. */
  readonly byWork: Set<string>;
}

/** Cleaning after one kind of job (spec/talm 2.14, 3.7). */
export class Cleaning implements SpokePart {
  readonly name: SpokePart['name'];
  readonly watches: SpokePart['watches'];
  readonly #deps: CleaningDeps;
  readonly #endings = new Map<string, Ending>();
  readonly #leftovers: Leftovers;

  constructor(deps: CleaningDeps) {
    this.#deps = deps;
    this.#leftovers = new Leftovers(deps);
    this.name = `${deps.job.work}-cleaning`;
    this.watches = this.#watches();
  }

  /**
   * True when nothing of the job delays the end of the upgrade.
   * @param isForced mark absent spokes from now on instead of waiting for them
   */
  isClean(upgrade: ClusterGroupUpgrade, isForced: boolean): boolean {
    if (!isTornDown(upgrade)) return true;
    const ending = this.#endingOf(upgrade);
    const pending = this.#spokesOf(upgrade).filter((cluster) => !ending.done.has(cluster));
    if (isForced && !ending.isForced) {
      ending.isForced = true;
      for (const cluster of pending) this.#deps.enqueue(keyText({ upgrade: upgrade.metadata.uid ?? '', cluster }));
    }
    return pending.length === 0;
  }

  /** Plans what is left to remove for a spoke. */
  plan(key: SpokeKey): PartPlan {
    const found = this.#plan(key);
    if (!found) return { writes: '' };
    const { plan, isDone, yields } = found;
    if (isDone && plan.writes.length === 0) this.#done(key);
    return { writes: describeWrites(plan.writes), at: plan.at, yields, apply: (signal) => this.#apply(key, found, signal) };
  }

  async #apply(key: SpokeKey, { plan, task, isDone }: CleaningPlan, signal: AbortSignal): Promise<void> {
    const { client, caches } = this.#deps;
    try {
      await applySpokePlan(plan, task, { client, caches, signal });
    } catch (error) {
      // A cluster without a namespace, as one that was never accepted, and a hub without the kind have nothing of ours.
      if (!this.#isHarmless(key, error)) throw error;
      return this.#done(key);
    }
    if (isDone) this.#done(key);
  }

  #isHarmless({ upgrade: uid, cluster }: SpokeKey, error: unknown): boolean {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    if (!upgrade || !isTornDown(upgrade)) return false;
    // Objects with our labels in other namespaces are not ours: they are removed if possible, and never waited for.
    return isNotFound(error) || !this.#isNamed(upgrade, cluster);
  }

  #done({ upgrade: uid, cluster }: SpokeKey): void {
    const ending = this.#endings.get(uid);
    if (!ending || ending.done.has(cluster)) return;
    ending.done.add(cluster);
    this.#deps.onClean(uid);
  }

  #plan(key: SpokeKey): CleaningPlan | undefined {
    const { caches } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    const leftover = this.#leftovers.planMarked(key);
    if (leftover) return leftover;
    if (upgrade && isTornDown(upgrade)) return this.#planEnd(upgrade, cluster);
    this.#endings.delete(uid);
    return this.#leftovers.planOrphan(key);
  }

  #endingOf({ metadata: { uid = '' } }: ClusterGroupUpgrade): Ending {
    const known = this.#endings.get(uid);
    if (known) return known;
    const ending: Ending = { isForced: false, done: new Set(), byWork: new Set() };
    this.#endings.set(uid, ending);
    return ending;
  }

  /** Spokes that were cleaned at the end may have another upgrade's failed job by now, which is kept for its users. */
  #statesOf(upgrade: ClusterGroupUpgrade): Readonly<Record<string, string>> {
    return wasCleaned(upgrade) ? {} : (this.#deps.job.statesIn(upgrade.status) ?? {});
  }

  #isNamed = (upgrade: ClusterGroupUpgrade, cluster: string): boolean =>
    namedClusters(upgrade).has(cluster) || Object.hasOwn(this.#statesOf(upgrade), cluster);

  /** Spokes with objects of ours on the hub, and unsuccessful ones, which still have the job. Leftovers delay nobody. */
  #spokesOf(upgrade: ClusterGroupUpgrade): string[] {
    const { caches, job } = this.#deps;
    const objects = objectsOf(caches, job.work, upgrade.metadata.uid ?? '').filter((object) => !isLeftover(object));
    const unclean = Object.entries(this.#statesOf(upgrade)).flatMap(([cluster, state]) => (this.#isUnclean(state) ? [cluster] : []));
    return [...new Set([...objects.map(({ metadata }) => metadata.namespace ?? ''), ...unclean])];
  }

  /** True when a spoke in this state may have objects of the job. */
  #isUnclean(state: string): boolean {
    return state !== this.#deps.job.initial && state !== 'Succeeded';
  }

  /** Plans the end of a spoke. An absent one gets a leftover mark instead of actions: these would run on its return, maybe during another upgrade. */
  #planEnd(upgrade: ClusterGroupUpgrade, cluster: string): CleaningPlan | undefined {
    const { caches, job, now } = this.#deps;
    const ending = this.#endingOf(upgrade);
    if (ending.done.has(cluster)) return undefined;
    const { uid } = identityOf(upgrade);
    const isNamed = this.#isNamed(upgrade, cluster);
    const state = isNamed ? this.#statesOf(upgrade)[cluster] : undefined;
    // A spoke that the job never touched is asked nothing.
    const hasObjects = objectsIn(caches, job.work, cluster).some(({ metadata }) => metadata.labels?.[Label.upgradeUid] === uid);
    if (!hasObjects && (state === undefined || !this.#isUnclean(state))) return undefined;
    const { by, spoke, effects: effectsOf } = reachSpoke(caches, { job, upgradeUid: uid, cluster, now: now() });
    const task = { job, upgrade: identityOf(upgrade), cluster, workload: cleaningOf(job.deletions) };
    const plan = new SpokePlan(now());
    if (by === 'work') ending.byWork.add(cluster);
    else if (ending.byWork.has(cluster) && !spoke.hasObjects) return { plan, task, isDone: true };
    const effects = effectsOf(task, state ?? '', plan);
    // A job that a pause has stopped is in its first state and may be left on the spoke.
    const isStopped = state === 'NotStarted' && spoke.hasObjects;
    const isWanted = !this.#isAnothers(uid, cluster);
    let isDone = true;
    if (isWanted && spoke.available && isNamed && !ending.isForced) {
      isDone = effects.clean();
      if (isDone) effects.drop();
    } else if (isWanted && (state !== job.initial || isStopped)) effects.remember();
    else effects.drop();
    return { plan, task, isDone };
  }

  /** True when another upgrade works on the spoke: its start has removed our objects. */
  #isAnothers(uid: string, cluster: string): boolean {
    const objects = objectsIn(this.#deps.caches, this.#deps.job.work, cluster);
    return objects.some((object) => !isLeftBehind(object) && object.metadata.labels?.[Label.upgradeUid] !== uid);
  }

  #watches(): SpokePart['watches'] {
    const { caches, job } = this.#deps;
    const leftIn = (cluster: string): string[] =>
      caches.views.byIndex(BY_WORK_AND_CLUSTER, `${job.work}/${cluster}`).filter(isLeftover).map(keyOf);
    const isConcerned = ({ metadata: { labels } }: KubeObject): boolean => {
      const uid = labels?.[Label.upgradeUid];
      return uid !== undefined && (isCleaned(caches, uid) || caches.upgrades.byIndex(BY_UID, uid).some(isTornDown));
    };
    const ofThisJob = {
      select: ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === job.work,
      // A deleted view is in no index any more.
      enqueue: ({ object }: Change<KubeObject>) =>
        new Set([...leftIn(object.metadata.namespace ?? ''), ...(isLeftover(object) || isConcerned(object) ? [keyOf(object)] : [])]),
    };
    const endingIn = (cluster: string): string[] =>
      caches.upgrades.list().flatMap((upgrade) => {
        const { uid = '' } = upgrade.metadata;
        const isWaitedFor = isTornDown(upgrade) && !this.#endings.get(uid)?.done.has(cluster) && this.#isNamed(upgrade, cluster);
        return isWaitedFor ? [keyText({ upgrade: uid, cluster })] : [];
      });
    return [
      watch(caches.views, ofThisJob),
      watch(caches.actions, ofThisJob),
      watch(caches.works, ofThisJob),
      watch(caches.upgrades, {
        enqueue: ({ type, object, previous }) => {
          const { uid = '' } = object.metadata;
          if (type === 'deleted' || (wasCleaned(object) && !(previous && wasCleaned(previous))))
            return new Set(objectsOf(caches, job.work, uid).map(keyOf));
          const isNews = isTornDown(object) && !(previous && isTornDown(previous));
          return isNews ? this.#spokesOf(object).map((cluster) => keyText({ upgrade: uid, cluster })) : [];
        },
      }),
      watch(caches.clusters, {
        select: ({ type, object, previous }) => type === 'deleted' || isAvailable(object) !== isAvailable(previous),
        enqueue: ({ object: { metadata } }) => [...leftIn(metadata.name), ...endingIn(metadata.name)],
      }),
    ];
  }
}

/** True for an upgrade at whose end its jobs are removed, and wait to be. */
const isTornDown = (upgrade: ClusterGroupUpgrade): boolean => isEnding(upgrade) && stateOf(upgrade) === 'ended' && !keepsObjects(upgrade);
