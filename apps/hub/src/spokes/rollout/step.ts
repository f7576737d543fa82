import { type KubeObject, Label, refKey, WaitingError } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import {
  type HubWrite,
  identityOf,
  isAttributed,
  isOurs,
  isReferencesAction,
  type ObservedSpoke,
  planSpoke,
  type SpokeTarget,
  targetOf,
} from '@flotilla/rollout';
import type { Client, Logger } from '@flotilla/runtime';
import { BY_CLUSTER, BY_UID, type SpokeCaches } from '../../caches.ts';
import { createReadStored, decidingLabelsOf, type ReadStored } from '../../lookups.ts';
import { applyWrites, type Ownership } from '../../writes/apply.ts';
import type { SpokeStep } from '../part.ts';
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

/** Dependencies of `createRolloutStep`. */
interface RolloutStepDeps extends PlanDeps {
  readonly client: Client;
  readonly logger: Logger;
}

/**
 * Creates the step that applies an upgrade's stored status to one spoke.
 * @param isShared other processes take steps too, and this process's watch of upgrades may lag behind their writes
 */
export function createRolloutStep(deps: RolloutStepDeps, isShared: boolean): SpokeStep<RolloutSpokePlan> {
  // A stale status would bring the work of a finished template back. A process that takes all steps has read each status its writes were made for, and watches never go back.
  const readStored: ReadStored = isShared ? createReadStored(deps.client) : async (known) => known;
  return async ({ upgrade: uid, cluster }, signal, planned) => {
    const [known] = deps.caches.upgrades.byIndex(BY_UID, uid);
    if (!known) return false;
    const expected = planned ?? planRolloutSpoke(known, cluster, deps);
    const upgrade = expected.writes.length > 0 ? await readStored(known) : known;
    if (!upgrade) return false;
    const { writes, at } = upgrade === known ? expected : planRolloutSpoke(upgrade, cluster, deps);
    const decide = (existing: KubeObject) => decideOwner(existing, upgrade, deps);
    const { works, views, actions, clusters } = deps.caches;
    const caches = [works, views, actions, clusters];
    await applyWrites(writes, { client: deps.client, decideOwner: decide, caches, signal, logger: deps.logger });
    if (writes.length === 0 && at !== undefined)
      throw new WaitingError('FLOTILLA_WAITING_FOR_RETRY', 'the spoke refused; trying again after a pause', Math.max(at - deps.now(), 0));
    return writes.length > 0;
  };
}

/** Decides the owner of an object that has a name the plan needs. */
async function decideOwner(existing: KubeObject, upgrade: ClusterGroupUpgrade, deps: RolloutStepDeps): Promise<Ownership> {
  const identity = identityOf(upgrade);
  if (isOurs(existing, identity)) return 'ours';
  if (isReferencesAction(existing, identity)) return 'leftover';
  const owner = existing.metadata.labels?.[Label.upgradeUid];
  if (owner === undefined && !isAttributed(existing, identity)) return { takenBy: 'no ClusterGroupUpgrade; delete or rename it' };
  const living = owner === undefined ? undefined : await findOwner(owner, existing, deps);
  return living
    ? { takenBy: `ClusterGroupUpgrade ${refKey(living.metadata)}, which is still there; it is replaced when that upgrade has ended` }
    : 'leftover';
}

/** Finds the upgrade of a uid. The API server is asked too, because an upgrade that is too new for the cache is not dead. */
async function findOwner(
  uid: string,
  { metadata }: KubeObject,
  { client, caches }: RolloutStepDeps,
): Promise<ClusterGroupUpgrade | undefined> {
  const cached = caches.upgrades.list().find((upgrade) => upgrade.metadata.uid === uid);
  const [namespace, name] = [metadata.labels?.[Label.upgradeNamespace], metadata.labels?.[Label.upgradeName]];
  if (cached || !namespace || !name) return cached;
  const found = await client.get(ClusterGroupUpgrade, { namespace, name });
  return found?.metadata.uid === uid ? found : undefined;
}
