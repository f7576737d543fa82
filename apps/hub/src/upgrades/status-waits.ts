/** The status says of all clusters what `flotilla why` answers from the same status of one. Pure. */
import { conditionTime } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { Inquiry, NOTHING_OF_CLUSTERS, summarizeWaits } from '@flotilla/rollout';
import type { WatchCache } from '@flotilla/runtime';
import { orAbsent } from './status-budget.ts';

/** Facts beside the status. */
interface WaitFacts {
  readonly caches: {
    readonly upgrades: Pick<WatchCache<ClusterGroupUpgrade>, 'get'>;
    readonly clusters: Pick<WatchCache<ManagedCluster>, 'get'>;
  };
  /** Since when clusters do not comply any more, milliseconds since the epoch. */
  readonly fallenSince?: ReadonlyMap<string, number> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Objects of single clusters say who is to blame, not what is waited for. */
const SKIPPED = { kind: 'skipped' } as const;

/** The status with its waits; none once there is a verdict. */
export function withWaits(
  upgrade: ClusterGroupUpgrade,
  status: ClusterGroupUpgradeStatus,
  { caches, fallenSince = new Map(), now }: WaitFacts,
): ClusterGroupUpgradeStatus {
  const inquiry = new Inquiry({
    upgrade: { ...upgrade, status: { ...status, waits: upgrade.status?.waits } },
    now,
    hub: SKIPPED,
    cluster: (name) => ({ kind: 'read', object: caches.clusters.get({ name }) }),
    upgradeAt: (ref) => ({ kind: 'read', object: caches.upgrades.get(ref) }),
    ...NOTHING_OF_CLUSTERS,
  });
  const since = new Map([...fallenSince].map(([cluster, at]) => [cluster, conditionTime(at)]));
  return { ...status, waits: orAbsent(summarizeWaits(inquiry, since)) };
}
