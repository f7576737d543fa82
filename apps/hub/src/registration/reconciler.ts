import { ManagedCluster } from '@flotilla/api/ocm';
import {
  type Client,
  type Clock,
  type EventRecorder,
  eventSubject,
  type Logger,
  type Metrics,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  systemClock,
  troubleEvents,
  type WatchCache,
  watch,
} from '@flotilla/runtime';
import { clusterOf, createRegistrationCaches } from '../caches.ts';
import { isInOrder } from '../trims.ts';
import { accessRule } from './access.ts';
import { applyAccess, applyVerdict, revokeAccess } from './apply.ts';
import { type ObserveDeps, observeSpoke } from './observe.ts';
import { decideRegistration, planAccess } from './plan.ts';
import { planTrim, trimCluster } from './trim.ts';

/** Dependencies of `startRegistration`. */
interface RegistrationDeps {
  readonly client: Client;
  readonly clusters: WatchCache<ManagedCluster>;
  /** Namespace of the hub itself: no cluster may have its name. */
  readonly namespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
}

/**
 * Registers spokes on a hub without RHACM: lets agents of accepted ManagedClusters into their own namespaces, and notices expired leases. Objects of
 * a denied or deleted ManagedCluster are removed, but its namespace stays (spec/ocm 2.1). Runs until the signal aborts.
 */
export function startRegistration(deps: RegistrationDeps, signal: AbortSignal): Reconciler {
  const { client, clusters, namespace, recorder, logger, metrics, clock = systemClock } = deps;
  const caches = createRegistrationCaches(client, { logger, metrics, clock }, accessRule);
  const shared = { client, clusters, namespace, caches, clock, contended: new Map<string, number>() };
  return startReconciler({
    name: 'registration',
    for: watch(clusters),
    watches: [
      watch(caches.namespaces, { select: ({ type, object }) => type === 'deleted' || !isInOrder(object) }),
      ...Array.from(caches.access.values(), (cache) =>
        watch(cache, {
          // Correct objects must go too when their cluster was deleted while no hub ran.
          select: ({ type, object }) => type === 'deleted' || !isInOrder(object) || !clusters.get({ name: clusterOf(object) }),
          enqueue: ({ object }) => [clusterOf(object)],
        }),
      ),
      watch(caches.leases, {
        // A renewal only moves the expiry, which the timer reads; the first renewal marks the spoke as joined.
        select: ({ type, previous }) => type === 'deleted' || previous?.spec?.renewTime === undefined,
        enqueue: ({ object }) => [object.metadata.namespace ?? ''],
      }),
    ],
    concurrency: 8,
    reconcile: (name, context) => reconcileRegistration(name, shared, context),
    onTrouble: troubleEvents(recorder, (name) => eventSubject(ManagedCluster, clusters.get({ name }))),
    logger,
    signal,
    metrics,
    clock,
  });
}

interface Deps extends ObserveDeps, Pick<RegistrationDeps, 'client' | 'namespace'> {
  readonly clock: Clock;
  /** Consecutive conflicts by cluster. */
  readonly contended: Map<string, number>;
}

async function reconcileRegistration(name: string, deps: Deps, { logger }: ReconcileContext): Promise<ReconcileResult> {
  const { client, caches, clock, contended } = deps;
  const { cluster: known, renewTime, isInOrder: isThere } = observeSpoke(name, deps);
  if (!known) {
    contended.delete(name);
    if (await revokeAccess(name, client, caches)) logger.info({ managedCluster: name }, 'Revoked the access of a deleted cluster');
    return {};
  }
  const decide = (cluster: ManagedCluster) => decideRegistration({ cluster, renewTime, hubNamespace: deps.namespace, now: clock.now() });
  const { isAccepted } = decide(known);
  if (isAccepted) {
    if (await applyAccess(client, planAccess(name, isThere))) logger.info({ managedCluster: name }, 'Let a cluster in');
  } else if (await revokeAccess(name, client, caches)) logger.info({ managedCluster: name }, 'Revoked the access of a denied cluster');
  const trim = planTrim(known, isAccepted);
  const cluster = trim ? await trimCluster(client, known, trim) : known;
  if (isAccepted && cluster.metadata.resourceVersion !== known.metadata.resourceVersion)
    logger.warn({ managedCluster: name }, 'Trimmed what a cluster reports beyond its bounds');
  const verdict = decide(cluster);
  await applyVerdict(cluster, verdict, deps);
  return verdict.leaseEndsAt === undefined ? {} : { requeueAfterMs: Math.max(0, verdict.leaseEndsAt - clock.now()) };
}
