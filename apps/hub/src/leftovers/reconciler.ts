/** Removes objects that ended upgrades left on absent or refusing spokes, and what a late step wrote. The upgrade itself may be gone. */

import { Annotation, type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster, type ManagedClusterView } from '@flotilla/api/ocm';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { isAvailable, wasCleaned } from '@flotilla/rollout';
import {
  type Change,
  type Clock,
  type EventRecorder,
  eventSubject,
  type Logger,
  type Metrics,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  troubleEvents,
  watch,
} from '@flotilla/runtime';
import { isLeftover, owedDeletions } from '../spokes/actions/hub-objects.ts';
import { observeActions, readAnswer } from '../spokes/actions/observe.ts';
import { ActionsEffects } from '../spokes/actions/plan.ts';
import { type ApplyPlanDeps, applySpokePlan } from '../spokes/port/apply.ts';
import { BY_UID, BY_WORK_AND_CLUSTER, hubObjectsOf, objectsOf, type SpokeJobCaches, spokeKey } from '../spokes/port/caches.ts';
import type { NamedJob } from '../spokes/port/port.ts';
import { SpokePlan } from '../spokes/port/spoke-plan.ts';
import { cleaningOf } from '../spokes/port/workload.ts';
import { isLeftBehind, reachSpoke } from '../spokes/reach.ts';

/** Dependencies of `LeftoverReconciler`. */
interface LeftoverDeps extends ApplyPlanDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly caches: SpokeJobCaches;
  /** Claims of upgrades to spokes. */
  readonly jobs: {
    readonly job: NamedJob;
    /** Claims a cluster, or returns the upgrade that holds it. */
    claim(uid: string, cluster: string, purpose: 'leftovers'): unknown;
    /** Releases the claim. */
    release(uid: string, cluster: string, purpose: 'leftovers'): void;
  };
  /** Actions whose execution leaves a spoke clean. */
  readonly deletions: readonly string[];
}

/** Milliseconds until a held spoke is tried again, in case the end of its upgrade goes unnoticed. */
const HELD_RECHECK_MS = 30_000;
/** Milliseconds after which an object of a cleaned upgrade, or of none, is nobody's: watches tell of both in any order. */
const ORPHAN_MS = 10_000;
/** Spokes that are cleaned at the same time: a whole fleet may return at once, and rollouts go first. */
const CONCURRENCY = 2;

/** Removes the leftovers of one upgrade on one spoke: waits for its agent and for other upgrades there, deletes, and forgets. */
class LeftoverReconciler {
  readonly #deps: LeftoverDeps;
  /** Keys of objects of a cleaned upgrade, or of none, with the time of the first look, milliseconds since the epoch. */
  readonly #orphans = new Map<string, number>();

  constructor(deps: LeftoverDeps) {
    this.#deps = deps;
  }

  /** @param key `upgradeUid/cluster` */
  async reconcile(key: string): Promise<ReconcileResult> {
    const { caches, jobs } = this.#deps;
    const [uid = '', cluster = ''] = key.split('/');
    const objects = hubObjectsOf(caches, spokeKey(jobs.job.work, uid, cluster));
    const mark = objects.views.find(isLeftover);
    if (!mark) {
      jobs.release(uid, cluster, 'leftovers');
      return this.#adopt(key, Object.values(objects).flat());
    }
    this.#orphans.delete(key);
    const managed = caches.clusters.get({ name: cluster });
    const spoke = observeActions(jobs.job.names, uid, { cluster: managed, ...objects });
    const workload = cleaningOf(owedDeletions(jobs.job, mark));
    const task = { job: jobs.job, upgrade: identityOf(mark), cluster, workload };
    const plan = new SpokePlan(this.#deps.now());
    const effects = new ActionsEffects(task, spoke, '', plan);
    const isDone = !managed || this.#isNothingLeft(mark, workload.deletions) || this.#clean(effects, mark, plan);
    if (isDone) effects.drop();
    await applySpokePlan(plan, task, this.#deps);
    if (isDone) jobs.release(uid, cluster, 'leftovers');
    return plan.requeueAt === undefined ? {} : { requeueAfterMs: Math.max(plan.requeueAt - this.#deps.now(), 0) };
  }

  /** Marks as left over what a late step wrote for an upgrade that is cleaned or gone: nobody else would remove it. */
  async #adopt(key: string, objects: readonly KubeObject[]): Promise<ReconcileResult> {
    const { caches, jobs, deletions, now } = this.#deps;
    const [uid = '', cluster = ''] = key.split('/');
    const orphan = objects.find((object) => !isLeftBehind(object) && object.metadata.deletionTimestamp === undefined);
    if (!orphan || !isCleaned(caches, uid)) {
      this.#orphans.delete(key);
      return {};
    }
    const since = Math.min(this.#orphans.get(key) ?? now(), now());
    this.#orphans.set(key, since);
    if (now() < since + ORPHAN_MS) return { requeueAfterMs: since + ORPHAN_MS - now() };
    const task = { job: jobs.job, upgrade: identityOf(orphan), cluster, workload: cleaningOf(deletions) };
    const plan = new SpokePlan(now());
    reachSpoke(caches, { job: jobs.job, upgradeUid: uid, cluster, now: now() }).effects(task, '', plan).remember();
    await applySpokePlan(plan, task, this.#deps);
    return {};
  }

  /** Deletes the leftovers once the agent answers and no other upgrade works on the spoke. True when all deletions were executed. */
  #clean(effects: ActionsEffects, mark: ManagedClusterView, plan: SpokePlan): boolean {
    const { jobs } = this.#deps;
    const { task, spoke } = effects;
    const { upgrade, cluster } = task;
    if (!spoke.available || !mark.status?.conditions) {
      if (spoke.actions.size === 0) jobs.release(upgrade.uid, cluster, 'leftovers');
      return false;
    }
    if (!jobs.claim(upgrade.uid, cluster, 'leftovers')) return effects.clean();
    plan.requeue(plan.now + HELD_RECHECK_MS);
    return false;
  }

  /** True when the namespace is gone or another upgrade's by now, which replaced the binding too. No view shows a binding alone. */
  #isNothingLeft(view: ManagedClusterView, deletions: readonly string[]): boolean {
    const { names } = this.#deps.jobs.job;
    const answer = readAnswer(view, names.views.namespace.target);
    if (answer.kind === 'absent') return deletions.every((name) => name === names.actions.deleteNamespace);
    const owner = answer.kind === 'found' ? answer.object.metadata.annotations?.[Annotation.upgradeUid] : undefined;
    return owner !== undefined && owner !== view.metadata.labels?.[Label.upgradeUid];
  }
}

/** Upgrade of a leftover. The label cuts long names, which nothing compares. */
function identityOf({ metadata: { labels } }: KubeObject): UpgradeIdentity {
  return {
    namespace: labels?.[Label.upgradeNamespace] ?? '',
    name: labels?.[Label.upgradeName] ?? '',
    uid: labels?.[Label.upgradeUid] ?? '',
  };
}

/** True for an upgrade that was cleaned up at its end, and for one that is gone. */
const isCleaned = ({ upgrades }: SpokeJobCaches, uid: string): boolean => upgrades.byIndex(BY_UID, uid).every(wasCleaned);

const keyOf = ({ metadata }: KubeObject): string => `${metadata.labels?.[Label.upgradeUid]}/${metadata.namespace}`;

/** Removes leftovers of one kind of job until the signal aborts. */
export function startLeftovers(
  deps: Omit<LeftoverDeps, 'signal'> & {
    readonly recorder: Pick<EventRecorder, 'record'>;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly clock?: Clock;
  },
  signal: AbortSignal,
): Reconciler {
  const { caches, jobs, recorder, logger, metrics, clock } = deps;
  const { work } = jobs.job;
  const leftIn = (cluster: string): string[] =>
    caches.views.byIndex(BY_WORK_AND_CLUSTER, `${work}/${cluster}`).filter(isLeftover).map(keyOf);
  const isOrphan = ({ metadata: { labels } }: KubeObject): boolean => {
    const uid = labels?.[Label.upgradeUid];
    return uid !== undefined && isCleaned(caches, uid);
  };
  const ofThisJob = {
    select: ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === work,
    // A deleted view is in no index any more.
    enqueue: ({ object }: Change<KubeObject>) =>
      new Set([...leftIn(object.metadata.namespace ?? ''), ...(isLeftover(object) || isOrphan(object) ? [keyOf(object)] : [])]),
  };
  const reconciler = new LeftoverReconciler({ ...deps, signal });
  return startReconciler({
    name: `${work}-leftovers`,
    for: watch(caches.views, ofThisJob),
    watches: [
      watch(caches.actions, ofThisJob),
      watch(caches.works, ofThisJob),
      watch(caches.upgrades, {
        select: ({ type, object, previous }) => type === 'deleted' || (wasCleaned(object) && !(previous && wasCleaned(previous))),
        enqueue: ({ object }) => new Set(objectsOf(caches, work, object.metadata.uid ?? '').map(keyOf)),
      }),
      watch(caches.clusters, { select: hasAvailabilityChanged, enqueue: ({ object }) => leftIn(object.metadata.name) }),
    ],
    concurrency: CONCURRENCY,
    reconcile: (key) => reconciler.reconcile(key),
    onTrouble: troubleEvents(recorder, (key) => eventSubject(ManagedCluster, caches.clusters.get({ name: key.split('/')[1] ?? '' }))),
    logger,
    signal,
    metrics,
    clock,
  });
}

const hasAvailabilityChanged = ({ type, object, previous }: Change<ManagedCluster>): boolean =>
  type === 'deleted' || isAvailable(object) !== isAvailable(previous);
