import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { type HubWrite, type ObservedSpoke, planSpoke, type SpokeTarget, targetOf } from '@flotilla/rollout';
import { BY_CLUSTER, type SpokeCaches } from '../../caches.ts';
import { decidingLabelsOf } from '../../lookups.ts';
import { findDenial } from '../transports/cluster.ts';

/** Dependencies of `planRolloutSpoke`. */
export interface PlanDeps {
  readonly caches: SpokeCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Seconds between an agent's polls of a Subscription or InstallPlan; default 10. */
  readonly viewSeconds?: number | undefined;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean | undefined;
}

/** Target of a spoke, and its missing writes. */
export interface RolloutSpokePlan {
  readonly target: SpokeTarget;
  readonly writes: readonly HubWrite[];
  /** Time of the next plan even without events, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

const DEFAULT_VIEW_SECONDS = 10;

/**
 * Plans the writes that a spoke's target is missing. It plans none for a reached target, or while the spoke waits for a change of `works`,
 * `views`, `actions`, `templates` or `clusters`.
 * @param upgrade as stored
 */
export function planRolloutSpoke(upgrade: ClusterGroupUpgrade, cluster: string, deps: PlanDeps): RolloutSpokePlan {
  const { viewSeconds = DEFAULT_VIEW_SECONDS, talmStrict = false } = deps;
  const settings = { now: deps.now(), viewSeconds, talmStrict };
  const observed = observeRolloutSpoke(upgrade, cluster, deps.caches);
  const target = targetOf(upgrade, cluster);
  const { writes, wakeAt: at } = planSpoke(target, observed, settings);
  const plan = { target, writes, at };
  if (talmStrict || findDenial(observed.managed) === undefined) return plan;
  // A denied cluster has no agent and may have no namespace.
  return { ...plan, writes: plan.writes.filter((write) => write.verb !== 'create' || write.object.metadata.namespace !== cluster) };
}

/** Gathers the facts about one spoke. */
function observeRolloutSpoke(upgrade: ClusterGroupUpgrade, cluster: string, caches: SpokeCaches): ObservedSpoke {
  const managed = caches.clusters.get({ name: cluster });
  return {
    upgrade,
    cluster,
    managed: managed?.metadata.deletionTimestamp === undefined ? managed : undefined,
    template: (name) => caches.templates.get({ namespace: upgrade.metadata.namespace, name }),
    works: caches.works.byIndex(BY_CLUSTER, cluster),
    views: caches.views.byIndex(BY_CLUSTER, cluster),
    actions: caches.actions.byIndex(BY_CLUSTER, cluster),
    decidingLabels: decidingLabelsOf(caches),
  };
}
