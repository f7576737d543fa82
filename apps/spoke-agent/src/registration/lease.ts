import { FlotillaError } from '@flotilla/api';
import { Lease } from '@flotilla/api/core';
import { AGENT_LEASE, leaseSecondsOf, ManagedCluster } from '@flotilla/api/ocm';
import { type Client, type Clock, isNotFound, type Logger, pause } from '@flotilla/runtime';

/** Spreads the fleet's renewals: each is up to a quarter later. */
const JITTER = 0.25;

interface LeaseDeps {
  readonly hub: Client;
  readonly clusterName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
}

/** Renews the lease, which the hub creates, until the signal aborts. The hub declares the spoke unreachable five durations after the last renewal. */
export async function keepLease(deps: LeaseDeps, signal: AbortSignal): Promise<void> {
  let seconds = leaseSecondsOf({});
  while (!signal.aborted) {
    try {
      seconds = await leaseSeconds(deps, signal);
      await renew(deps, seconds, signal);
    } catch (err) {
      if (!signal.aborted) deps.logger.warn({ err, lease: `${deps.clusterName}/${AGENT_LEASE}` }, 'Renewing the lease failed');
    }
    await pause(deps.clock, seconds * 1000 * (1 + JITTER * (deps.random ?? Math.random)()), signal);
  }
}

async function leaseSeconds({ hub, clusterName }: LeaseDeps, signal: AbortSignal): Promise<number> {
  const cluster = await hub.get(ManagedCluster, { name: clusterName }, { signal });
  return leaseSecondsOf(cluster ?? {});
}

async function renew({ hub, clusterName, clock }: LeaseDeps, leaseDurationSeconds: number, signal: AbortSignal): Promise<void> {
  const ref = { namespace: clusterName, name: AGENT_LEASE };
  const spec = { leaseDurationSeconds, holderIdentity: AGENT_LEASE, renewTime: microTime(clock.now()) };
  try {
    await hub.patch(Lease, ref, { spec }, { type: 'merge', signal });
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new FlotillaError(
      'FLOTILLA_AGENT_NO_LEASE',
      `there is no Lease ${AGENT_LEASE} in namespace ${clusterName} of the hub: a hub with standalone makes it, else name the cluster in agents.clusters of the hub's chart`,
      { cause },
    );
  }
}

/** Formats a metav1.MicroTime. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
