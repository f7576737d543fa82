/**
 * Removes what no stored upgrade wants any more: the job of an upgrade that ends, leftovers on spokes that were away at its end, and what a late step
 * wrote for one that is gone.
 */
import { Annotation, type KubeObject, Label } from '@flotilla/api';
import type { ManagedClusterView } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import {
  identityOf,
  isAvailable,
  isEnding,
  keepsObjects,
  namedClusters,
  stateOf,
  type UpgradeIdentity,
  wasCleaned,
} from '@flotilla/rollout';
import { type Change, isNotFound, watch } from '@flotilla/runtime';
import { describeWrites } from '../writes/apply.ts';
import type { PartPlan, SpokePart } from './part.ts';
import { keyText, type SpokeKey } from './spoke-key.ts';
import { isLeftover, owedDeletions } from './transports/actions/hub-objects.ts';
import { observeActions, readAnswer } from './transports/actions/observe.ts';
import { ActionsEffects } from './transports/actions/plan.ts';
import { type ApplyPlanDeps, applySpokePlan } from './transports/port/apply.ts';
import {
  BY_UID,
  BY_WORK_AND_CLUSTER,
  hubObjectsOf,
  objectsIn,
  objectsOf,
  type SpokeJobCaches,
  spokeKey,
} from './transports/port/caches.ts';
import type { NamedJob, SpokeTask } from './transports/port/port.ts';
import { SpokePlan } from './transports/port/spoke-plan.ts';
import { cleaningOf } from './transports/port/workload.ts';
import { isLeftBehind, reachSpoke } from './transports/reach.ts';

/** Part of a kind of job that its cleaning uses. */
export interface CleanedJob extends NamedJob {
  readonly work: 'precache' | 'backup';
  /** Actions whose execution leaves the spoke clean. */
  readonly deletions: readonly string[];
  /** State in which a spoke has no objects yet. */
  readonly initial: string;
  readonly statesIn: (status: ClusterGroupUpgrade['status']) => Readonly<Record<string, string>> | undefined;
}

/** Dependencies of `Cleaning`. */
interface CleaningDeps extends Omit<ApplyPlanDeps, 'signal'> {
  readonly caches: SpokeJobCaches;
  readonly job: CleanedJob;
  /** Claims of upgrades to spokes. */
  readonly claims: {
    /** Claims a cluster, or returns the upgrade that holds it. */
    claim(uid: string, cluster: string, purpose: 'leftovers'): unknown;
    /** Releases the claim. */
    release(uid: string, cluster: string, purpose: 'leftovers'): void;
  };
  /** Has the spoke of a key reconciled. */
  readonly enqueue: (key: string) => void;
  /** Receives the uid of an ending upgrade of which a spoke is clean. */
  readonly onClean: (upgradeUid: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds until a held spoke is tried again, in case the end of its upgrade goes unnoticed. */
const HELD_RECHECK_MS = 30_000;
/** Milliseconds after which an object of a cleaned upgrade, or of none, is nobody's: watches tell of both in any order. */
const ORPHAN_MS = 10_000;

/** Progress of one ending upgrade. A new process asks clean spokes once more. */
interface Ending {
  /** Absent spokes are marked instead of waited for. */
  isForced: boolean;
  readonly done: Set<string>;
  /** Spokes that had a work: a spoke is clean once its work is gone. */
  readonly byWork: Set<string>;
}

/** Plan of one spoke, and the way in which it ends. */
interface CleaningPlan {
  readonly plan: SpokePlan;
  readonly task: SpokeTask;
  /** After these writes the spoke is clean, as far as the upgrade waits for it. */
  readonly isDone?: boolean | undefined;
  /** Nobody waits for it. */
  readonly yields?: boolean | undefined;
}

/** Cleaning after one kind of job (spec/talm 2.14, 3.7). */
export class Cleaning implements SpokePart {
  readonly name: SpokePart['name'];
  readonly watches: SpokePart['watches'];
  readonly leaderAlone = true;
  readonly #deps: CleaningDeps;
  readonly #endings = new Map<string, Ending>();
  /** Keys of objects of a cleaned upgrade, or of none, with the time of the first look, milliseconds since the epoch. */
  readonly #orphans = new Map<string, number>();

  constructor(deps: CleaningDeps) {
    this.#deps = deps;
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
    const { plan, task, isDone, yields } = this.#plan(key) ?? {};
    if (!plan || !task) return { writes: '' };
    if (isDone && plan.writes.length === 0) this.#done(key);
    return { writes: describeWrites(plan.writes), at: plan.requeueAt, yields };
  }

  readonly step: SpokePart['step'] = async (key, signal) => {
    const { client, caches } = this.#deps;
    const found = this.#plan(key);
    if (!found) return false;
    const { plan, task, isDone } = found;
    try {
      await applySpokePlan(plan, task, { client, caches, signal });
    } catch (error) {
      // A cluster without a namespace, as one that was never accepted, and a hub without the kind have nothing of ours.
      if (!this.#isHarmless(key, error)) throw error;
      this.#done(key);
      return true;
    }
    if (isDone) this.#done(key);
    return plan.writes.length > 0;
  };

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
    const { caches, job, claims } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const objects = hubObjectsOf(caches, spokeKey(job.work, uid, cluster));
    const [upgrade] = caches.upgrades.byIndex(BY_UID, uid);
    const mark = objects.views.find(isLeftover);
    if (mark) return this.#planLeftover(key, mark, objects);
    claims.release(uid, cluster, 'leftovers');
    if (upgrade && isTornDown(upgrade)) return this.#planEnd(upgrade, cluster);
    this.#endings.delete(uid);
    return this.#planOrphan(key, Object.values(objects).flat());
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
    const managed = caches.clusters.get({ name: cluster });
    const { by, spoke, effects: effectsOf } = reachSpoke(caches, { job, upgradeUid: uid, cluster, now: now() });
    const task = { job, upgrade: identityOf(upgrade), cluster, workload: cleaningOf(job.deletions) };
    const plan = new SpokePlan(now());
    if (by === 'work') ending.byWork.add(cluster);
    else if (ending.byWork.has(cluster) && !spoke.isHeld) return { plan, task, isDone: true };
    const effects = effectsOf(task, state ?? '', plan);
    // A job that a pause has stopped is in its first state and may be left on the spoke.
    const isStopped = state === 'NotStarted' && spoke.isHeld;
    const isWanted = managed !== undefined && !this.#isAnothers(uid, cluster);
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

  #planLeftover(key: SpokeKey, mark: ManagedClusterView, objects: ReturnType<typeof hubObjectsOf>): CleaningPlan {
    const { caches, job, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    this.#orphans.delete(keyText(key));
    const managed = caches.clusters.get({ name: cluster });
    const spoke = observeActions(job.names, uid, { cluster: managed, ...objects });
    const workload = cleaningOf(owedDeletions(job, mark));
    const task = { job, upgrade: labelled(mark), cluster, workload };
    const plan = new SpokePlan(now());
    const effects = new ActionsEffects(task, spoke, '', plan);
    if (!managed || this.#isNothingLeft(mark, workload.deletions) || this.#clean(effects, mark, plan)) effects.drop();
    return { plan, task, yields: true };
  }

  /** Marks as left over what a late step wrote for an upgrade that is cleaned or gone: nobody else would remove it. */
  #planOrphan(key: SpokeKey, objects: readonly KubeObject[]): CleaningPlan | undefined {
    const { caches, job, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const id = keyText(key);
    const orphan = objects.find((object) => !isLeftBehind(object) && object.metadata.deletionTimestamp === undefined);
    if (!orphan || !isCleaned(caches, uid)) {
      this.#orphans.delete(id);
      return undefined;
    }
    const since = Math.min(this.#orphans.get(id) ?? now(), now());
    this.#orphans.set(id, since);
    const task = { job, upgrade: labelled(orphan), cluster, workload: cleaningOf(job.deletions) };
    const plan = new SpokePlan(now());
    if (now() < since + ORPHAN_MS) plan.requeue(since + ORPHAN_MS);
    else reachSpoke(caches, { job, upgradeUid: uid, cluster, now: now() }).effects(task, '', plan).remember();
    return { plan, task, yields: true };
  }

  /** Deletes the leftovers once the agent answers and no other upgrade works on the spoke. True when all deletions were executed. */
  #clean(effects: ActionsEffects, mark: ManagedClusterView, plan: SpokePlan): boolean {
    const { claims } = this.#deps;
    const { task, spoke } = effects;
    const { upgrade, cluster } = task;
    if (!spoke.available || !mark.status?.conditions) {
      if (spoke.actions.size === 0) claims.release(upgrade.uid, cluster, 'leftovers');
      return false;
    }
    if (!claims.claim(upgrade.uid, cluster, 'leftovers')) return effects.clean();
    plan.requeue(plan.now + HELD_RECHECK_MS);
    return false;
  }

  /** True when the namespace is gone or another upgrade's by now, which replaced the binding too. No view shows a binding alone. */
  #isNothingLeft(view: ManagedClusterView, deletions: readonly string[]): boolean {
    const { names } = this.#deps.job;
    const answer = readAnswer(view, names.views.namespace.target);
    if (answer.kind === 'absent') return deletions.every((name) => name === names.actions.deleteNamespace);
    const owner = answer.kind === 'found' ? answer.object.metadata.annotations?.[Annotation.upgradeUid] : undefined;
    return owner !== undefined && owner !== view.metadata.labels?.[Label.upgradeUid];
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

/** Upgrade of an object. The label cuts long names, which nothing compares. */
function labelled({ metadata: { labels } }: KubeObject): UpgradeIdentity {
  return {
    namespace: labels?.[Label.upgradeNamespace] ?? '',
    name: labels?.[Label.upgradeName] ?? '',
    uid: labels?.[Label.upgradeUid] ?? '',
  };
}

/** True for an upgrade that was cleaned up at its end, and for one that is gone. */
const isCleaned = ({ upgrades }: SpokeJobCaches, uid: string): boolean => upgrades.byIndex(BY_UID, uid).every(wasCleaned);

const keyOf = ({ metadata: { labels, namespace = '' } }: KubeObject): string =>
  keyText({ upgrade: labels?.[Label.upgradeUid] ?? '', cluster: namespace });
