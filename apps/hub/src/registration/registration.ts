import { FIELD_MANAGER, type KubeObject } from '@flotilla/api';
import { AGENT_LEASE, ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import {
  type Client,
  type Clock,
  type Logger,
  type Metrics,
  patchStatus,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  systemClock,
  type WatchCache,
  watch,
} from '@flotilla/runtime';
import { BY_CLUSTER } from '../indexes.ts';
import { isAnswered, releaseWork } from '../spokes/port/ending-work.ts';
import { clusterAccess, clusterLease, clusterNamespace } from './access.ts';
import { clusterOf, createRegistrationCaches, isInOrder, type RegistrationCaches } from './caches.ts';
import { judgeRegistration } from './judge.ts';

/** What the registration works with. */
export interface RegistrationDeps {
  readonly client: Client;
  readonly clusters: WatchCache<ManagedCluster>;
  /** Namespace of the hub itself: no cluster may have its name. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
}

/**
 * For a hub without RHACM: lets agents of accepted ManagedClusters in, each into its own namespace, and notices those that stop
 * renewing their lease; what belongs to a ManagedCluster that is denied or gone is removed, the namespace stays (spec/ocm 2.1).
 * Runs until the signal aborts.
 */
export function startRegistration(deps: RegistrationDeps, signal: AbortSignal): Reconciler {
  const { client, clusters, namespace, logger, metrics, clock = systemClock } = deps;
  const caches = createRegistrationCaches(client, { logger, metrics, clock });
  const shared = { client, clusters, namespace, caches, clock };
  return startReconciler({
    name: 'registration',
    for: watch(clusters),
    watches: [
      watch(caches.namespaces, { select: ({ type, object }) => type === 'deleted' || !isInOrder(object) }),
      ...Array.from(caches.access.values(), (cache) =>
        watch(cache, {
          // What belongs to a cluster that went while no hub ran is in order, and has to go.
          select: ({ type, object }) => type === 'deleted' || !isInOrder(object) || !clusters.get({ name: clusterOf(object) }),
          enqueue: ({ object }) => [clusterOf(object)],
        }),
      ),
      watch(caches.leases, {
        // A renewal only moves the end, which the timer looks up; the first one says that the spoke has joined.
        select: ({ type, previous }) => type === 'deleted' || previous?.spec?.renewTime === undefined,
        enqueue: ({ object }) => [object.metadata.namespace ?? ''],
      }),
    ],
    concurrency: 8,
    reconcile: (name, context) => reconcileRegistration(name, shared, context),
    logger,
    signal,
    metrics,
    clock,
  });
}

interface Deps extends Pick<RegistrationDeps, 'client' | 'clusters' | 'namespace'> {
  readonly caches: RegistrationCaches;
  readonly clock: Clock;
}

async function reconcileRegistration(name: string, deps: Deps, { logger }: ReconcileContext): Promise<ReconcileResult> {
  const { client, clusters, caches, clock } = deps;
  const cluster = clusters.get({ name });
  if (!cluster || cluster.metadata.deletionTimestamp) {
    if (await revokeAccess(name, deps)) logger.info({ managedCluster: name }, 'Revoked the access of a deleted cluster');
    return {};
  }
  const renewTime = caches.leases.get({ namespace: name, name: AGENT_LEASE })?.spec?.renewTime ?? undefined;
  const verdict = judgeRegistration({ cluster, renewTime, hubNamespace: deps.namespace, now: clock.now() });
  if (verdict.isAccepted) {
    if (await ensureAccess(name, deps)) logger.info({ managedCluster: name }, 'Let a cluster in');
  } else if (await revokeAccess(name, deps)) logger.info({ managedCluster: name }, 'Revoked the access of a denied cluster');
  // Labels, taints and conditions are read, changed and written whole: the version guards what others wrote meanwhile.
  const { edits, conditions } = verdict;
  const patch = edits && { ...edits, metadata: { ...edits.metadata, resourceVersion: cluster.metadata.resourceVersion } };
  const edited = patch ? await client.patch(ManagedCluster, { name }, patch, { type: 'merge' }) : cluster;
  if (conditions) await patchStatus(client, ManagedCluster, edited, { ...edited.status, conditions });
  return verdict.leaseEndsAt === undefined ? {} : { requeueAfterMs: Math.max(0, verdict.leaseEndsAt - clock.now()) };
}

/** True when something was missing. Server-side apply: creates what is not there, mends what somebody changed. */
async function ensureAccess(cluster: string, { client, caches }: Deps): Promise<boolean> {
  const missing = [
    ...(isInOrder(caches.namespaces.get({ name: cluster })) ? [] : [clusterNamespace(cluster)]),
    ...(caches.leases.get({ namespace: cluster, name: AGENT_LEASE }) ? [] : [clusterLease(cluster)]),
    ...clusterAccess(cluster).filter(({ kind, object }) => !isInOrder(caches.access.get(kind.plural)?.get(object.metadata))),
  ];
  for (const { kind, object } of missing) await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: true });
  return missing.length > 0;
}

/**
 * True when something was there. Without its ServiceAccount a token is worth nothing, so that goes first; then what was still to be done
 * on the cluster, for whoever is let in next under that name would do it. The rest goes last, so that a hub that dies in between does
 * the same again.
 */
async function revokeAccess(cluster: string, { client, caches }: Deps): Promise<boolean> {
  const [account, ...rest] = accessOf(cluster, caches);
  if (!account) return false;
  const remove = ({ kind, cached: { metadata } }: typeof account): Promise<boolean> => {
    const { name, namespace, uid } = metadata;
    return client.delete(kind, { name, ...(namespace !== undefined && { namespace }) }, { uid });
  };
  let found = await remove(account);
  const works = await client.list(ManifestWork, { namespace: cluster });
  for (const work of works.items) if (!isAnswered(work)) await releaseWork(client, work);
  for (const kind of ORDERS) {
    const { items } = await client.list(kind, { namespace: cluster });
    for (const { metadata } of items) await client.delete(kind, { namespace: cluster, name: metadata.name }, { uid: metadata.uid });
  }
  for (const one of rest) found = (await remove(one)) || found;
  return found;
}

/** What an agent carries out. A work's deletion waits for an agent; one that has not applied it has nothing to take back. */
const ORDERS = [ManagedClusterAction, ManagedClusterView, ManifestWork] as const;

function accessOf(cluster: string, { access }: RegistrationCaches) {
  return clusterAccess(cluster)
    .toReversed()
    .flatMap(({ kind }) => (access.get(kind.plural)?.byIndex(BY_CLUSTER, cluster) ?? []).map((cached: KubeObject) => ({ kind, cached })));
}
