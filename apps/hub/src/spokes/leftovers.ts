/** Leftovers: what ended upgrades left on spokes that were away or refused, and what a late step wrote for one that is gone. The upgrade may be gone. */
import { Annotation, type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, type ManagedClusterView } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type UpgradeIdentity, wasCleaned } from '@flotilla/rollout';
import { type EventSubject, eventSubject } from '@flotilla/runtime';
import { BY_UID, type SpokeJobCaches, spokeKey } from '../caches.ts';
import { hubObjectsOf } from '../lookups.ts';
import { keyText, parseSpokeKey, type SpokeKey } from './part.ts';
import { isLeftover, owedDeletions } from './transports/actions/hub-objects.ts';
import { observeActions, readAnswer } from './transports/actions/observe.ts';
import { ActionsEffects } from './transports/actions/plan.ts';
import { createdAt } from './transports/port/ending-work.ts';
import { cleaningOf, type NamedJob, SpokePlan, type SpokeTask } from './transports/port/port.ts';
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

/** Dependencies of `Leftovers`. */
export interface LeftoversDeps {
  readonly caches: SpokeJobCaches;
  readonly job: CleanedJob;
  /** Claims of upgrades to spokes. */
  readonly claims: {
    /** Claims a cluster, or returns the upgrade that holds it. */
    claim(uid: string, cluster: string, purpose: 'leftovers'): unknown;
    /** Releases the claim. */
    release(uid: string, cluster: string, purpose: 'leftovers'): void;
  };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds until a held spoke is tried again, in case the end of its upgrade goes unnoticed. */
export const HELD_AFTER_MS = 30_000;
/**
 * Milliseconds after which a mark on a cluster without a ManagedCluster is nobody's. One that is detached for good mostly takes its namespace
 * along; on a hub that is restored object by object, the mark may be back long before its cluster, with an age that begins anew.
 */
const GONE_MS = 24 * 3_600_000;
/** Milliseconds after which an object of a cleaned upgrade, or of none, is nobody's: watches tell of both in any order. */
const ORPHAN_MS = 10_000;

/** Plan of one spoke, and the way in which it ends. */
export interface CleaningPlan {
  readonly plan: SpokePlan;
  readonly task: SpokeTask;
  /** After these writes the spoke is clean, as far as the upgrade waits for it. */
  readonly isDone?: boolean | undefined;
  /** Nobody waits for it. */
  readonly yields?: boolean | undefined;
}

/** Plans the removal of leftovers. */
export class Leftovers {
  readonly #deps: LeftoversDeps;
  /** Keys of objects of a cleaned upgrade, or of none, with the time of the first look, milliseconds since the epoch. */
  readonly #orphans = new Map<string, number>();
  /** Keys with a mark, as last seen: their cluster is released once, when it goes. */
  readonly #marked = new Set<string>();

  constructor(deps: LeftoversDeps) {
    this.#deps = deps;
  }

  /** Plans a spoke with a mark: waits for its agent and for other upgrades there, deletes, and forgets. Undefined without a mark. */
  planMarked(key: SpokeKey): CleaningPlan | undefined {
    const { caches, job, claims } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const objects = hubObjectsOf(caches, spokeKey(job.work, uid, cluster));
    const mark = objects.views.find(isLeftover);
    if (mark) {
      this.#marked.add(keyText(key));
      return this.#planLeftover(key, mark, objects);
    }
    if (this.#marked.delete(keyText(key))) claims.release(uid, cluster, 'leftovers');
    return undefined;
  }

  /** Marks as left over what a late step wrote for an upgrade that is cleaned or gone: nobody else would remove it. */
  planOrphan(key: SpokeKey): CleaningPlan | undefined {
    const { caches, job, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const objects: KubeObject[] = Object.values(hubObjectsOf(caches, spokeKey(job.work, uid, cluster))).flat();
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
    const goneAt = createdAt(mark) + GONE_MS;
    if (!managed && plan.now < goneAt) plan.requeue(goneAt);
    if ((!managed && plan.now >= goneAt) || this.#isNothingLeft(mark, workload.deletions) || this.#clean(effects, mark, plan))
      effects.drop();
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
    plan.requeue(plan.now + HELD_AFTER_MS);
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
}

/** Upgrade of an object. The label cuts long names, which nothing compares. */
export function labelled(object: KubeObject | undefined): UpgradeIdentity {
  const { labels } = object?.metadata ?? {};
  return {
    namespace: labels?.[Label.upgradeNamespace] ?? '',
    name: labels?.[Label.upgradeName] ?? '',
    uid: labels?.[Label.upgradeUid] ?? '',
  };
}

/** True for an upgrade that was cleaned up at its end, and for one that is gone. */
export const isCleaned = ({ upgrades }: Pick<SpokeJobCaches, 'upgrades'>, uid: string): boolean =>
  upgrades.byIndex(BY_UID, uid).every(wasCleaned);

/** The cluster of a key whose upgrade has no status any more for what fails there; undefined for all other keys. @param text of a key */
export function subjectOfLeftover({ upgrades, clusters }: SpokeJobCaches, text: string): EventSubject | undefined {
  const key = parseSpokeKey(text);
  return key && isCleaned({ upgrades }, key.upgrade) ? eventSubject(ManagedCluster, clusters.get({ name: key.cluster })) : undefined;
}
