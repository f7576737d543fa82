import { FIELD_MANAGER } from '@flotilla/api';
import { AGENT_LEASE, ManagedCluster } from '@flotilla/api/ocm';
import {
  type Client,
  type Clock,
  type EventRecorder,
  eventSubject,
  isConflict,
  type Logger,
  type Metrics,
  patchStatus,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  systemClock,
  troubleEvents,
  type WatchCache,
  watch,
} from '@flotilla/runtime';
import { clusterAccess, clusterLease, clusterNamespace } from './apply.ts';
import { clusterOf, createRegistrationCaches, isInOrder, type RegistrationCaches } from './caches.ts';
import { decideRegistration, type RegistrationVerdict } from './plan.ts';
import { revokeAccess } from './revoke.ts';
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
  const caches = createRegistrationCaches(client, { logger, metrics, clock });
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

interface Deps extends Pick<RegistrationDeps, 'client' | 'clusters' | 'namespace'> {
  readonly caches: RegistrationCaches;
  readonly clock: Clock;
  /** Consecutive conflicts by cluster. */
  readonly contended: Map<string, number>;
}

async function reconcileRegistration(name: string, deps: Deps, { logger }: ReconcileContext): Promise<ReconcileResult> {
  const { client, clusters, caches, clock, contended } = deps;
  const known = clusters.get({ name });
  if (!known || known.metadata.deletionTimestamp) {
    contended.delete(name);
    if (await revokeAccess(name, client, caches)) logger.info({ managedCluster: name }, 'Revoked the access of a deleted cluster');
    return {};
  }
  const renewTime = caches.leases.get({ namespace: name, name: AGENT_LEASE })?.spec?.renewTime ?? undefined;
  const decide = (cluster: ManagedCluster) => decideRegistration({ cluster, renewTime, hubNamespace: deps.namespace, now: clock.now() });
  const { isAccepted } = decide(known);
  if (isAccepted) {
    if (await ensureAccess(name, deps)) logger.info({ managedCluster: name }, 'Let a cluster in');
  } else if (await revokeAccess(name, client, caches)) logger.info({ managedCluster: name }, 'Revoked the access of a denied cluster');
  const trim = planTrim(known, isAccepted);
  const cluster = trim ? await trimCluster(client, known, trim) : known;
  if (isAccepted && cluster.metadata.resourceVersion !== known.metadata.resourceVersion)
    logger.warn({ managedCluster: name }, 'Trimmed what a cluster reports beyond its bounds');
  const verdict = decide(cluster);
  await writeVerdict(cluster, verdict, deps);
  return verdict.leaseEndsAt === undefined ? {} : { requeueAfterMs: Math.max(0, verdict.leaseEndsAt - clock.now()) };
}

/** Conflicts after which the hub writes without a version: a spoke that writes its status all the time must not block the hub. */
const MAX_CONFLICTS = 3;

/** The version guards labels, taints and conditions, which are written whole, against other writers. */
async function writeVerdict(
  cluster: ManagedCluster,
  { edits, conditions }: RegistrationVerdict,
  { client, contended }: Deps,
): Promise<void> {
  const { name } = cluster.metadata;
  const conflicts = contended.get(name) ?? 0;
  const isGuarded = conflicts < MAX_CONFLICTS;
  const resourceVersion = isGuarded ? cluster.metadata.resourceVersion : undefined;
  try {
    const patch = edits && { ...edits, metadata: { ...edits.metadata, resourceVersion } };
    const edited = patch ? await client.patch(ManagedCluster, { name }, patch, { type: 'merge' }) : cluster;
    const { uid } = edited.metadata;
    const current = isGuarded ? edited : { ...edited, metadata: { name, uid } };
    if (conditions) await patchStatus(client, ManagedCluster, current, { ...edited.status, conditions });
    contended.delete(name);
  } catch (error) {
    if (isConflict(error)) contended.set(name, conflicts + 1);
    throw error;
  }
}

/** Applies missing or changed access objects by server-side apply. True when there were any. */
async function ensureAccess(cluster: string, { client, caches }: Deps): Promise<boolean> {
  const missing = [
    ...(isInOrder(caches.namespaces.get({ name: cluster })) ? [] : [clusterNamespace(cluster)]),
    ...(caches.leases.get({ namespace: cluster, name: AGENT_LEASE }) ? [] : [clusterLease(cluster)]),
    ...clusterAccess(cluster).filter(({ kind, object }) => !isInOrder(caches.access.get(kind.plural)?.get(object.metadata))),
  ];
  for (const { kind, object } of missing) await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: true });
  return missing.length > 0;
}
