/** What upgrades left on spokes that were away, or refused, when they ended. Nothing of the upgrade itself has to be there any more. */

import { Annotation, Label } from '@flotilla/api';
import type { ManagedCluster, ManagedClusterView } from '@flotilla/api/ocm';
import type { UpgradeIdentity } from '@flotilla/rollout';
import { isAvailable } from '@flotilla/rollout';
import {
  type Change,
  type Clock,
  type Logger,
  type Metrics,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  watch,
} from '@flotilla/runtime';
import { BY_WORK_AND_CLUSTER, hubObjectsOf, type SpokeJobCaches, spokeKey } from '../port/caches.ts';
import type { EffectDeps, NamedJob } from '../port/port.ts';
import { cleaningOf } from '../port/workload.ts';
import { ActionsRun } from './effects.ts';
import { isLeftover, owedDeletions } from './hub-objects.ts';
import { observeActions, readAnswer } from './observe.ts';

/** What cleaning up after upgrades that ended is made of. */
export interface LeftoverDeps extends EffectDeps {
  readonly caches: SpokeJobCaches;
  /** Who says which upgrade has a spoke. */
  readonly engine: {
    readonly job: NamedJob;
    /** Takes a cluster, or tells who has it. */
    take(uid: string, cluster: string): unknown;
    /** Lets others have it. */
    release(uid: string, cluster: string): void;
  };
}

/** How often it is looked whether the upgrade that has the spoke is done, should its end go unnoticed. */
const HELD_RECHECK_MS = 30_000;
/** Spokes that are cleaned at the same time: a whole fleet may return at once, and a rollout goes first. */
const CONCURRENCY = 2;

/** Removes what one upgrade left on one spoke: waits until its agent answers and no other upgrade works there, then deletes, then forgets. */
class LeftoverReconciler {
  readonly #deps: LeftoverDeps;
  /** By key, uid of a view that was deleted: caches may show it a moment longer than the actions that went before it. */
  readonly #forgotten = new Map<string, string | undefined>();

  constructor(deps: LeftoverDeps) {
    this.#deps = deps;
  }

  /** @param key `upgradeUid/cluster` */
  async reconcile(key: string): Promise<ReconcileResult> {
    const { caches, engine } = this.#deps;
    const [uid = '', cluster = ''] = key.split('/');
    const objects = hubObjectsOf(caches, spokeKey(engine.job.work, uid, cluster));
    const view = objects.views.find(isLeftover);
    if (!view) this.#forgotten.delete(key);
    if (!view || this.#forgotten.get(key) === view.metadata.uid) return {};
    const managed = caches.clusters.get({ name: cluster });
    const spoke = observeActions(engine.job.names, uid, { cluster: managed, ...objects });
    const workload = cleaningOf(owedDeletions(engine.job, view));
    const run = new ActionsRun({ job: engine.job, upgrade: identityOf(view), cluster, workload }, spoke, '', this.#deps);
    const isDone = !managed || this.#isNothingLeft(view, workload.deletions) || (await this.#clean(run, view));
    if (isDone) {
      await run.drop();
      this.#forgotten.set(key, view.metadata.uid);
    }
    return run.wakeAt === undefined ? {} : { requeueAfterMs: Math.max(run.wakeAt - this.#deps.now(), 0) };
  }

  /** Deletes what is there, once its agent answers and nobody else works on the spoke. True when all of it was executed. */
  async #clean(run: ActionsRun, view: ManagedClusterView): Promise<boolean> {
    const { engine, now } = this.#deps;
    const { upgrade, cluster } = run.task;
    if (!run.spoke.available || !view.status?.conditions) {
      if (run.spoke.actions.size === 0) engine.release(upgrade.uid, cluster);
      return false;
    }
    if (!engine.take(upgrade.uid, cluster)) return run.clean();
    run.wake(now() + HELD_RECHECK_MS);
    return false;
  }

  /** The namespace is gone or another upgrade's by now, and so is a binding, which is replaced with it. A binding alone shows nowhere. */
  #isNothingLeft(view: ManagedClusterView, deletions: readonly string[]): boolean {
    const { names } = this.#deps.engine.job;
    const answer = readAnswer(view, names.views.namespace.target);
    if (answer.kind === 'absent') return deletions.every((name) => name === names.actions.deleteNamespace);
    const owner = answer.kind === 'found' ? answer.object.metadata.annotations?.[Annotation.upgradeUid] : undefined;
    return owner !== undefined && owner !== view.metadata.labels?.[Label.upgradeUid];
  }
}

/** Whose a leftover is; names longer than a label are cut, which nobody compares. */
function identityOf({ metadata: { labels } }: ManagedClusterView): UpgradeIdentity {
  return {
    namespace: labels?.[Label.upgradeNamespace] ?? '',
    name: labels?.[Label.upgradeName] ?? '',
    uid: labels?.[Label.upgradeUid] ?? '',
  };
}

/** Key of a leftover: `upgradeUid/cluster`. */
const keyOf = ({ metadata }: ManagedClusterView): string => `${metadata.labels?.[Label.upgradeUid]}/${metadata.namespace}`;

/** Removes what one kind of job left, from now on, until the signal aborts. */
export function startLeftovers(
  deps: LeftoverDeps & { readonly logger: Logger; readonly metrics: Metrics; readonly clock?: Clock },
  signal: AbortSignal,
): Reconciler {
  const { caches, engine, logger, metrics, clock } = deps;
  const { work } = engine.job;
  const leftIn = (cluster: string): string[] =>
    caches.views.byIndex(BY_WORK_AND_CLUSTER, `${work}/${cluster}`).filter(isLeftover).map(keyOf);
  const ofThisJob = {
    select: ({ object }: Change<ManagedClusterView>) => object.metadata.labels?.[Label.work] === work,
    // One that is gone itself is in no index any more.
    enqueue: ({ object }: Change<ManagedClusterView>) =>
      new Set([...leftIn(object.metadata.namespace ?? ''), ...(isLeftover(object) ? [keyOf(object)] : [])]),
  };
  const reconciler = new LeftoverReconciler({ ...deps, signal });
  return startReconciler({
    name: `${work}-leftovers`,
    for: watch(caches.views, ofThisJob),
    watches: [
      watch(caches.actions, ofThisJob),
      watch(caches.clusters, { select: hasAvailabilityChanged, enqueue: ({ object }) => leftIn(object.metadata.name) }),
    ],
    concurrency: CONCURRENCY,
    reconcile: (key) => reconciler.reconcile(key),
    logger,
    signal,
    metrics,
    clock,
  });
}

const hasAvailabilityChanged = ({ type, object, previous }: Change<ManagedCluster>): boolean =>
  type === 'deleted' || isAvailable(object) !== isAvailable(previous);
