import { Annotation, findCondition, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster, type Policy } from '@flotilla/api/ocm';
import {
  type Client,
  type Clock,
  type EventRecorder,
  eventSubject,
  type Logger,
  type Metrics,
  type ReconcileContext,
  type Reconciler,
  startReconciler,
  troubleEvents,
  type Watch,
  watch,
  whenChanged,
} from '@flotilla/runtime';
import { servesPolicies } from '../upgrades/observe.ts';
import { createUpgrade } from './apply.ts';
import { AUTO_NAMESPACE, type ManagedClusterCaches, observeAfresh, observeCluster } from './observe.ts';
import { planCluster } from './plan.ts';
import { refusalEvent } from './status.ts';

/** Dependencies of `startAutoUpgrades`. */
interface AutoUpgradeDeps {
  readonly client: Client;
  /** Filled. */
  readonly caches: ManagedClusterCaches;
  /** As the reference does: nothing is waited for. */
  readonly talmStrict: boolean;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Milliseconds between looks for a policy that may be yet to come. */
const LOOK_AGAIN_MS = 10_000;

/** Creates the first upgrade of each newly imported cluster (spec/talm 5.2), until the signal aborts. */
export function startAutoUpgrades(deps: AutoUpgradeDeps, signal: AbortSignal): Reconciler {
  const { client, caches, recorder, logger, metrics, clock, talmStrict } = deps;
  /** Last refusal of each cluster, so that each is reported once. */
  const refused = new Map<string, string>();

  async function reconcile(name: string, context: ReconcileContext) {
    const observed = observeCluster(name, caches, { talmStrict, now: clock.now() });
    if (!observed) {
      refused.delete(name);
      return {};
    }
    const first = planCluster(observed);
    const plan = first.kind === 'create' ? planCluster(await observeAfresh(observed, client)) : first;
    const isRefused = plan.kind === 'refuse' || plan.kind === 'wait';
    if (!isRefused) refused.delete(name);
    if (plan.kind === 'create' && (await createUpgrade(plan.upgrade, client)))
      context.logger.info({ managedCluster: name, upgrade: `${AUTO_NAMESPACE}/${name}` }, 'Created the upgrade of a new cluster');
    if (isRefused) {
      const event = refusalEvent(observed.cluster, plan);
      if (refused.get(name) !== event.note) {
        context.logger[plan.kind === 'wait' ? 'info' : 'warn'](
          { managedCluster: name, reason: event.note },
          'No upgrade for a new cluster yet',
        );
        recorder.record(event);
      }
      refused.set(name, event.note);
    }
    return plan.kind === 'wait' ? { requeueAfterMs: LOOK_AGAIN_MS } : {};
  }
  return startReconciler({
    name: 'managed-cluster',
    for: watch(caches.clusters, { select: hasClusterChanged }),
    watches: watchesOf(caches),
    concurrency: 4,
    reconcile,
    onTrouble: troubleEvents(recorder, (name) => eventSubject(ManagedCluster, caches.clusters.get({ name }))),
    logger,
    signal,
    metrics,
    clock,
  });
}

/** Watches of other objects of a cluster. The arrival of the policy framework enqueues all clusters. */
function watchesOf(caches: ManagedClusterCaches): Watch[] {
  const { clusters, upgrades, parents, children, placements } = caches;
  let served = servesPolicies(caches);
  const newlyServed = () => {
    const before = served;
    served = servesPolicies(caches);
    return served && !before ? clusters.list() : [];
  };
  return [
    watch(upgrades, {
      select: ({ type, object }) => type === 'deleted' && object.metadata.namespace === AUTO_NAMESPACE,
      enqueue: ({ object }) => [object.metadata.name],
    }),
    watch(parents, { enqueue: newlyServed }),
    watch(placements, { enqueue: newlyServed }),
    watch(children, {
      enqueue: (change) => [...newlyServed(), ...(hasPolicyChanged(change) ? [change.object.metadata.namespace ?? ''] : [])],
    }),
  ];
}

const hasClusterChanged = whenChanged(({ metadata, status }: ManagedCluster) => [
  metadata.uid,
  findCondition(status?.conditions, CLUSTER_AVAILABLE)?.status,
  metadata.labels?.[Label.ztpDone] === undefined,
]);

/** Compliance changes often and decides nothing here. */
const hasPolicyChanged = whenChanged(({ metadata, spec }: Policy) => [
  metadata.annotations?.[Annotation.deployWave],
  spec?.remediationAction,
]);
