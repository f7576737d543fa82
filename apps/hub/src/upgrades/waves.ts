/** Order of the clusters that have not begun, by what a pass sees of them: those that are ready fill batches, others go behind. Writes nothing. */
import { findCondition } from '@flotilla/api';
import {
  type ClusterGroupUpgrade,
  ClusterGroupUpgradeCondition,
  type ClusterGroupUpgradeStatus,
  type PrecacheState,
} from '@flotilla/api/ran';
import { earliest } from '@flotilla/pace';
import {
  deferClusters,
  findClosedHours,
  formWave,
  isAvailable,
  isFirstReady,
  isPutOff,
  latePulls,
  type Proofs,
  proofsOf,
  type Refusal,
  readWaves,
  type Sightings,
  type UpgradePlan,
  type Waves,
} from '@flotilla/rollout';
import type { RolloutCaches } from '../caches.ts';
import { tenancyOf } from '../lookups.ts';
import { stateOfPull } from './cache-proofs.ts';
import { findBar } from './observe.ts';
import type { PrecachingReport } from './status-jobs.ts';

/** Surroundings of a wave. */
interface WaveDeps {
  readonly caches: Parameters<typeof tenancyOf>[1] & Pick<RolloutCaches, 'clusters'>;
  readonly talmStrict: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly sightings: Pick<Sightings, 'since'>;
}

/** Rules by which batches are filled; undefined where they are those of the list. */
export const wavesOf = (upgrade: ClusterGroupUpgrade, talmStrict: boolean): Waves | undefined =>
  talmStrict ? undefined : readWaves(upgrade).waves;

/** The first batch before the start: whether it is there, and when it may be without any event (milliseconds since the epoch). Undefined where no pull is waited for. */
export function judgeFirstWave(
  upgrade: ClusterGroupUpgrade,
  plan: UpgradePlan,
  { precaching, ...deps }: WaveDeps & { readonly precaching: PrecachingReport | undefined },
): { readonly isReady: boolean; readonly at: number | undefined } | undefined {
  const { talmStrict, now, sightings } = deps;
  const waves = wavesOf(upgrade, talmStrict);
  if (!waves || !precaching || precaching.rollUp.finished || plan.stopped !== undefined) return undefined;
  const states = Object.fromEntries([...precaching.spokes].map(([cluster, { state }]) => [cluster, state]));
  const readiness = readinessIn(upgrade, deps, { states, proofs: precaching.proofs });
  const lost = new Set(precaching.rollUp.failed);
  // The status says since when images are pulled, so another leader goes on with the patience.
  const pulls = findCondition(upgrade.status?.conditions, ClusterGroupUpgradeCondition.precachingSucceeded);
  const since = pulls?.status === 'False' ? Date.parse(pulls.lastTransitionTime) : sightings.since('wave 0');
  const isReady = isFirstReady({
    planned: plan.batches.flat().filter((cluster) => !lost.has(cluster)),
    canaries: upgrade.spec?.remediationStrategy.canaries ?? [],
    waves,
    isReady: readiness.isReady,
    size: plan.computedMaxConcurrency,
    since,
    now,
  });
  // Past the patience only events, and hours that begin, change the answer.
  const patience = since + waves.patienceMs;
  return { isReady, at: isReady ? undefined : earliest(patience > now ? patience : undefined, readiness.opensAt()) };
}

/** A rollout with the batch that comes next, where it is filled. */
interface NextWave {
  readonly status: ClusterGroupUpgradeStatus;
  /** Why a batch (from 1) is not begun by this pass; absent where batches are those of the list. */
  readonly refuse?: (batch: number) => Refusal | undefined;
  /** When it may be filled without any event, milliseconds since the epoch. */
  readonly at?: number | undefined;
}

/** Fills the batch that comes next. @param upgrade with the status that the pass goes by */
export function formNextWave(upgrade: ClusterGroupUpgrade, { isOpen, ...deps }: WaveDeps & { readonly isOpen: boolean }): NextWave {
  const { talmStrict, now, sightings } = deps;
  const { spec, status = { status: {} } } = upgrade;
  const waves = wavesOf(upgrade, talmStrict);
  if (!waves) return { status };
  const { status: states = {}, proofs } = status.precaching ?? {};
  const { isReady, opensAt } = readinessIn(upgrade, deps, { states, proofs });
  const since = (batch: number) => sightings.since(`wave ${batch}`);
  const formed = formWave(status, { waves, isReady, canaries: spec?.remediationStrategy.canaries, since, isOpen, now });
  return { ...formed, at: opensAt() };
}

/** States of the pulls, and the proofs of what was pulled. */
interface Pulls {
  readonly states: Readonly<Record<string, PrecacheState>>;
  readonly proofs: Parameters<typeof proofsOf>[0];
}

/** Tells of a cluster whether its part could begin now; `opensAt` is when the hours of the first that was asked about begin, milliseconds since the epoch. */
function readinessIn({ metadata, spec }: ClusterGroupUpgrade, { caches, talmStrict, now }: WaveDeps, { states, proofs }: Pulls) {
  const { namespace = '' } = metadata;
  const tenancy = tenancyOf(namespace, caches);
  const byCluster = proofsOf(proofs);
  let opens: number | undefined;
  const isReady = (name: string): boolean => {
    const cluster = caches.clusters.get({ name });
    const bar = findBar(cluster, { talmStrict, tenancy, namespace, now });
    opens = earliest(opens, bar?.until);
    const isCached = !spec?.preCaching || stateOfPull(states[name] ?? 'NotStarted', byCluster.get(name)) === 'Succeeded';
    return bar === undefined && isCached && isAvailable(cluster);
  };
  return { isReady, opensAt: () => opens };
}

/** Facts by which clusters are put off. */
interface UnreadyFacts {
  readonly caches: Pick<RolloutCaches, 'clusters'>;
  readonly talmStrict: boolean;
  readonly proofs: Proofs | undefined;
  /** Clusters that came after the start. */
  readonly fresh: ReadonlySet<string>;
  readonly now: number;
}

/**
 * The status with the clusters behind the others that cannot begin yet: they pull, their last proof is too old, or their own hours are over.
 * @param upgrade as stored
 * @param status of the rollout as it is now
 */
export function putOffUnready(
  upgrade: ClusterGroupUpgrade,
  status: ClusterGroupUpgradeStatus,
  { caches, talmStrict, proofs, fresh, now }: UnreadyFacts,
): ClusterGroupUpgradeStatus {
  const stored = upgrade.status ?? { status: {} };
  const states = stored.precaching?.status ?? {};
  const isPulling = new Set(latePulls(stored).filter((cluster) => fresh.has(cluster)));
  const isClosed = (name: string): boolean => !talmStrict && findClosedHours(caches.clusters.get({ name }), now) !== undefined;
  const isUnready = (cluster: string): boolean =>
    proofs?.byCluster.has(cluster) ? isPutOff(proofs.byCluster.get(cluster), states[cluster]) : isPulling.has(cluster);
  const isLater = (cluster: string): boolean => isUnready(cluster) || isClosed(cluster);
  const isAbsent = (name: string): boolean => !caches.clusters.get({ name });
  return deferClusters(status, { isLater, isAbsent, canaries: upgrade.spec?.remediationStrategy.canaries });
}
