import { type Condition, errorMessage, findCondition, withCondition } from '@flotilla/api';
import { CLUSTER_AVAILABLE } from '@flotilla/api/ocm';
import { type Client, type Clock, type Logger, pause } from '@flotilla/runtime';
import { updateClusterStatus } from './own-status.ts';

const PROBE_EVERY_MS = 5_000;
const PROBE_TIMEOUT_MS = 4_000;
/** The spoke's API server may fail this long before the spoke counts as unavailable (spec/ocm 2.1). */
export const UNAVAILABLE_AFTER_MS = 20_000;
/** The condition is looked at so often: the hub turns it Unknown while the spoke is out of reach, and the agent turns it back. */
const CHECK_EVERY_MS = 60_000;

/** What the agent knows of its spoke's API server. */
interface SpokeHealth {
  /** When probes began to fail; undefined while they do not. */
  readonly failingSince: number | undefined;
  readonly error: string | undefined;
}

/** The condition to report, or undefined while a failure is too young to judge. */
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

/** What the reporting works with. */
export interface AvailabilityDeps {
  readonly hub: Pick<Client, 'get' | 'patch'>;
  readonly spoke: Pick<Client, 'getText'>;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Probes the spoke's /livez and keeps the ManagedCluster's condition, until the signal aborts. Writes only what changes. */
export async function reportAvailability(deps: AvailabilityDeps, signal: AbortSignal): Promise<void> {
  let health: SpokeHealth = { failingSince: undefined, error: undefined };
  let settled: { readonly status: string; readonly atMs: number } | undefined;
  while (!signal.aborted) {
    health = await probe(deps, health, signal);
    const wanted = toAvailability(health, deps.clock.now());
    const now = deps.clock.now();
    const isSettled = settled?.status === wanted?.status && now - (settled?.atMs ?? 0) < CHECK_EVERY_MS;
    if (wanted && !isSettled && !signal.aborted) {
      try {
        settled = (await ensureCondition(deps, wanted)) ? { status: wanted.status, atMs: now } : undefined;
      } catch (err) {
        settled = undefined;
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

/** False when there is no ManagedCluster to report to. */
async function ensureCondition(deps: AvailabilityDeps, wanted: Omit<Condition, 'lastTransitionTime'>): Promise<boolean> {
  const written = await updateClusterStatus(deps, (status) => {
    const old = status.conditions ?? [];
    const current = findCondition(old, wanted.type);
    if (current?.status === wanted.status && current.reason === wanted.reason) return status;
    return { ...status, conditions: withCondition(old, wanted, deps.clock.now()) };
  });
  if (written === 'absent')
    deps.logger.debug({ managedCluster: deps.clusterName }, 'The hub has no such ManagedCluster, create it to see the spoke there');
  if (written === 'written') deps.logger.info({ status: wanted.status, reason: wanted.reason }, 'Reported availability');
  return written !== 'absent';
}
