import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { planSpoke, targetOf } from '@flotilla/rollout';
import { findDenial } from '../spokes/denied-cluster.ts';
import type { SpokeCaches } from './caches.ts';
import { observeRolloutSpoke } from './observe.ts';

/** What planning the step of one spoke in a rollout needs. */
export interface PlanDeps {
  readonly caches: SpokeCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Seconds between an agent's polls of a Subscription or InstallPlan; default 10. */
  readonly viewSeconds?: number;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean | undefined;
}

const DEFAULT_VIEW_SECONDS = 10;

/**
 * Plans what is left to write for one spoke: nothing when its target is true, and nothing while it waits for what a change of `works`,
 * `rolloutViews`, `rolloutActions`, `templates` or `clusters` will tell.
 * @param upgrade as stored
 */
export function planRolloutSpoke(upgrade: ClusterGroupUpgrade, cluster: string, deps: PlanDeps) {
  const { viewSeconds = DEFAULT_VIEW_SECONDS, talmStrict = false } = deps;
  const settings = { now: deps.now(), viewSeconds, talmStrict };
  const observed = observeRolloutSpoke(upgrade, cluster, deps.caches);
  const plan = planSpoke(targetOf(upgrade, cluster), observed, settings);
  if (talmStrict || findDenial(observed.managed) === undefined) return plan;
  // It may have no namespace, and has no agent.
  return { ...plan, writes: plan.writes.filter((write) => write.verb !== 'create' || write.object.metadata.namespace !== cluster) };
}
