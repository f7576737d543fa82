import { type Condition, errorMessage, findCondition, withCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster } from '@flotilla/api/ocm';
import { type Client, type Clock, isConflict, type Logger, patchStatus, pause } from '@flotilla/runtime';

const WRITE_TRIES = 5;

/** Result of a write; `absent`: the hub has no such object. */
type Written = 'written' | 'unchanged' | 'absent';

type ClusterStatus = NonNullable<ManagedCluster['status']>;
/** Makes the next status from the one that is stored. */
export type StatusChange = (status: Partial<ClusterStatus>) => Partial<ClusterStatus>;

/**
 * Changes the status of the agent's own ManagedCluster. The version guards lists, which are written whole, against other writers. A conflict is
 * retried, five tries in all; then the server's error is thrown.
 */
export async function updateClusterStatus(
  { hub, clusterName: name }: { readonly hub: Pick<Client, 'get' | 'patch'>; readonly clusterName: string },
  change: StatusChange,
  signal: AbortSignal,
): Promise<Written> {
  for (let left = WRITE_TRIES; ; left -= 1) {
    const cluster = await hub.get(ManagedCluster, { name }, { signal });
    if (!cluster) return 'absent';
    try {
      return (await patchStatus(hub, ManagedCluster, cluster, change(cluster.status ?? {}), { signal })) ? 'written' : 'unchanged';
    } catch (error) {
      if (!isConflict(error) || left <= 1) throw error;
    }
  }
}

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 4_000;
/** Milliseconds of failing probes before the spoke counts as unavailable (spec/ocm 2.1). */
export const UNAVAILABLE_AFTER_MS = 20_000;
/** Milliseconds between checks of the condition: the hub sets Unknown while it cannot reach the spoke, and the agent resets it. */
const CHECK_EVERY_MS = 60_000;

/** Probed health of the spoke's API server. */
interface SpokeHealth {
  /** Start of the failures; undefined while probes succeed. */
  readonly failingSince: number | undefined;
  readonly error: string | undefined;
}

/** Returns the condition to report; undefined while a failure is too young. */
export function toAvailability(health: SpokeHealth, nowMs: number): Omit<Condition, 'lastTransitionTime'> | undefined {
  if (health.failingSince === undefined) {
    return { type: CLUSTER_AVAILABLE, status: 'True', reason: 'ManagedClusterAvailable', message: 'Managed cluster is available' };
  }
  if (nowMs - health.failingSince < UNAVAILABLE_AFTER_MS) return undefined;
  return {
    type: CLUSTER_AVAILABLE,
    status: 'False',
    reason: 'ManagedClusterKubeAPIServerUnavailable',
    message: `The kube-apiserver is not ok, ${health.error ?? 'no answer'}`,
  };
}

/** Dependencies of `reportAvailability`. */
export interface AvailabilityDeps {
  readonly hub: Pick<Client, 'get' | 'patch'>;
  readonly spoke: Pick<Client, 'getText'>;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Probes the spoke's /livez and keeps the ManagedCluster's condition, until the signal aborts. Writes only changes. */
export async function reportAvailability(deps: AvailabilityDeps, signal: AbortSignal): Promise<void> {
  let health: SpokeHealth = { failingSince: undefined, error: undefined };
  let reported: { readonly status: string; readonly atMs: number } | undefined;
  while (!signal.aborted) {
    health = await probe(deps, health, signal);
    const wanted = toAvailability(health, deps.clock.now());
    const now = deps.clock.now();
    const isReported = reported?.status === wanted?.status && now - (reported?.atMs ?? 0) < CHECK_EVERY_MS;
    if (wanted && !isReported && !signal.aborted) {
      try {
        reported = (await ensureCondition(deps, wanted, signal)) ? { status: wanted.status, atMs: now } : undefined;
      } catch (err) {
        reported = undefined;
        if (!signal.aborted) deps.logger.warn({ err, managedCluster: deps.clusterName }, 'Reporting availability failed');
      }
    }
    await pause(deps.clock, PROBE_EVERY_MS, signal);
  }
}

async function probe({ spoke, clock }: AvailabilityDeps, last: SpokeHealth, signal: AbortSignal): Promise<SpokeHealth> {
  try {
    await spoke.getText('/livez', { timeoutMs: PROBE_TIMEOUT_MS, maxBytes: 64 * 1024, signal });
    return { failingSince: undefined, error: undefined };
  } catch (error) {
    return { failingSince: last.failingSince ?? clock.now(), error: errorMessage(error) };
  }
}

/** Writes the condition if it differs; false without a ManagedCluster. */
async function ensureCondition(
  deps: AvailabilityDeps,
  wanted: Omit<Condition, 'lastTransitionTime'>,
  signal: AbortSignal,
): Promise<boolean> {
  const change: StatusChange = (status) => {
    const old = status.conditions ?? [];
    const current = findCondition(old, wanted.type);
    if (current?.status === wanted.status && current.reason === wanted.reason) return status;
    return { ...status, conditions: withCondition(old, wanted, deps.clock.now()) };
  };
  const written = await updateClusterStatus(deps, change, signal);
  if (written === 'absent')
    deps.logger.debug({ managedCluster: deps.clusterName }, 'The hub has no such ManagedCluster, create it to see the spoke there');
  if (written === 'written') deps.logger.info({ status: wanted.status, reason: wanted.reason }, 'Reported availability');
  return written !== 'absent';
}
