import { type KubeObject, Label, type Ref } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { HubWrite, RolloutProblem, SpokeTarget } from '@flotilla/rollout';
import {
  actionIndexValue,
  isComplete,
  isRunning,
  keepsObjects,
  namedClusters,
  placementOf,
  targetsOf,
  templatesOf,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import {
  type Change,
  type Clock,
  type Logger,
  type Metrics,
  type Reconciler,
  startReconciler,
  type Watch,
  type WatchCache,
  watch,
} from '@flotilla/runtime';
import { BY_UPGRADE_NAME } from '../placements/caches.ts';
import { isBound, placementWrites } from '../placements/plan.ts';
import { hasClusterChanged } from '../spokes/cluster-change.ts';
import { BY_UID, BY_UPGRADE, isOfJob } from '../spokes/port/caches.ts';
import type { StepKey } from '../steps/step-key.ts';
import type { StepHandler, StepQueue } from '../steps/step-queue.ts';
import { type StepRequest, StepRequests } from '../steps/step-requests.ts';
import { describeWrites } from '../writes/apply.ts';
import type { RolloutCaches } from './caches.ts';
import { planRolloutSpoke } from './plan.ts';
import { LastingProblems } from './status.ts';

/** Dependencies of `SpokeRollouts`. */
interface RolloutsDeps {
  readonly caches: RolloutCaches & { readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID | typeof BY_LABELS> };
  readonly queue: StepQueue;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly signal: AbortSignal;
  /** Applies a late step in this process. */
  readonly apply: StepHandler;
  /** Receives an upgrade when a lasting error of it appears, changes or goes. */
  readonly onProblem: (upgrade: Ref) => void;
  /** Milliseconds after which missing writes are late and enqueued again. Default 15 000. */
  readonly watchdogMs?: number;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/** Index of upgrades by the labels of their hub objects (`upgradeIndexValue`). */
export const BY_LABELS = 'labels';
/** Indexes that the cache of upgrades needs. */
export const upgradeLabelIndexes = {
  [BY_LABELS]: ({ metadata: { namespace = '', name } }: ClusterGroupUpgrade) => [
    upgradeIndexValue({ namespace, name }),
    actionIndexValue({ namespace, name }),
  ],
};

/** Clusters to upgrade go before clean-up after an earlier batch. */
const priorities = { prepare: 1, remediate: 1, complete: 2, cleanup: 3 } as const;
/** Stands for all spokes of an upgrade among its clusters, and for its Placements among its problems. */
const ALL = '';

/**
 * Compares the stored status of every upgrade with the caches, per spoke, and requests steps for the differences. Only the leader has one, and it can
 * rebuild everything in it. Its keys are `uid/cluster`, and `uid/` for all spokes of an upgrade.
 */
export class SpokeRollouts {
  readonly #deps: RolloutsDeps;
  readonly #problems: LastingProblems;
  readonly #requests: StepRequests;
  #reconciler: Reconciler | undefined;
  readonly #planning: Parameters<typeof planRolloutSpoke>[2];

  constructor(deps: RolloutsDeps) {
    this.#deps = deps;
    const { caches, clock, talmStrict } = deps;
    this.#planning = { caches, now: () => clock.now(), talmStrict };
    this.#requests = new StepRequests({ ...deps, name: 'rollout', onApplied: (key, error) => this.#note(key, error) });
    this.#problems = new LastingProblems((uid) => {
      for (const { metadata } of caches.upgrades.byIndex(BY_UID, uid)) deps.onProblem(metadata);
    });
  }

  /** Starts reconciling, until the signal aborts. */
  start(): Pick<Reconciler, 'stopped'> {
    const { clock, logger, metrics, signal } = this.#deps;
    const reconciler = startReconciler({
      name: 'spoke-rollouts',
      watches: watchesOf(this.#deps.caches),
      reconcile: async (text) => {
        const requeueAfterMs = this.#reconcile(spokeOf(text));
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
      onTrouble: async (text, { message }) => this.#note(spokeOf(text), new Error(message)),
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
    this.#reconciler = reconciler;
    return { stopped: Promise.all([reconciler.stopped, this.#requests.stopped]).then(() => {}) };
  }

  /**
   * True when no object of a rollout on the hub delays the upgrade's end.
   * @param leavingCounts objects that only wait for their cluster's agent to remove a finalizer count too
   */
  isClean(upgrade: ClusterGroupUpgrade, { leavingCounts }: { readonly leavingCounts: boolean }): boolean {
    const isPlaced = this.#placementWrites(upgrade).length > 0 || this.#hasPlacements(upgrade);
    const named = namedClusters(upgrade);
    return !isPlaced && ![...this.#leftovers(upgrade, leavingCounts)].some((cluster) => named.has(cluster));
  }

  /** Returns the lasting errors of an upgrade's steps by cluster, or `''` for the Placements. */
  problems({ metadata: { uid = '' } }: ClusterGroupUpgrade): ReadonlyMap<string, RolloutProblem> {
    return this.#problems.of(uid);
  }

  /** Takes over how the Placements of an upgrade were written; undefined: nothing is missing. */
  placed({ metadata: { uid = '' } }: ClusterGroupUpgrade, error: unknown): void {
    this.#note({ upgrade: uid, cluster: ALL }, error);
  }

  #placementWrites(upgrade: ClusterGroupUpgrade) {
    return placementWrites(upgrade, this.#deps.caches, this.#deps.talmStrict);
  }

  #hasPlacements(upgrade: ClusterGroupUpgrade): boolean {
    if (keepsObjects(upgrade)) return false;
    const { namespace = '', name } = upgrade.metadata;
    const value = upgradeIndexValue({ namespace, name });
    const { placements, bindings } = this.#deps.caches;
    return placements.byIndex(BY_UPGRADE_NAME, value).length + bindings.byIndex(BY_UPGRADE_NAME, value).length > 0;
  }

  /** Clusters with objects of the upgrade and no target. */
  #leftovers(upgrade: ClusterGroupUpgrade, leavingCounts = true): Set<string> {
    const { works, views, actions } = this.#deps.caches;
    const { namespace = '', name, uid = '' } = upgrade.metadata;
    const clustersIn = (cache: { byIndex(index: string, value: string): readonly KubeObject[] }) =>
      [uid, upgradeIndexValue({ namespace, name }), actionIndexValue({ namespace, name })]
        .flatMap((value) => cache.byIndex(BY_UPGRADE, value))
        .filter(({ metadata }) => leavingCounts || metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.namespace ?? '');
    const targets = targetsOf(upgrade);
    const approved = clustersIn(actions).filter((cluster) => !this.#deps.talmStrict || !isComplete(upgrade, cluster));
    const found = [...clustersIn(views), ...approved];
    const kept = keepsObjects(upgrade) ? [] : clustersIn(works);
    return new Set([...found, ...kept].filter((cluster) => !targets.has(cluster)));
  }

  /**
   * Plans a key.
   * @returns milliseconds until the next reconcile; undefined: only an event brings the next one
   */
  #reconcile(key: Spoke): number | undefined {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, key.upgrade);
    if (!upgrade) {
      this.#requests.forget(key.upgrade);
      this.#problems.forget(key.upgrade);
      return undefined;
    }
    if (key.cluster !== ALL) return this.#planSpoke(upgrade, key);
    const placing = this.#placementWrites(upgrade);
    // All spokes of an upgrade share a reconcile: most of them have nothing to write.
    const clusters = new Set([...targetsOf(upgrade).keys(), ...this.#leftovers(upgrade), ...this.#requests.open(key.upgrade)]);
    for (const cluster of clusters) {
      const spoke = { upgrade: key.upgrade, cluster };
      const afterMs = this.#planSpoke(upgrade, spoke, placing);
      if (afterMs !== undefined) this.#reconciler?.enqueue(textOf(spoke), { afterMs });
    }
    return undefined;
  }

  /**
   * Plans one spoke and requests its step.
   * @param placing missing writes of the Placements; default: planned where they matter, since that takes longer than the spoke
   */
  #planSpoke(upgrade: ClusterGroupUpgrade, key: Spoke, placing?: readonly HubWrite[]): number | undefined {
    const { target, writes, wakeAt } = planRolloutSpoke(upgrade, key.cluster, this.#planning);
    // A view made before its object stays blind for an interval, so the policy is enforced first.
    const waitsForPolicy = (): boolean =>
      target.phase === 'remediate' &&
      target.mode === 'policy' &&
      (!isBound(upgrade, target.policy, this.#deps.caches) || (placing ?? this.#placementWrites(upgrade)).length > 0);
    const isRequested = writes.length > 0 && !waitsForPolicy();
    const requeueMs = this.#report(key, isRequested ? requestOf(target, writes) : undefined);
    const wakeMs = wakeAt === undefined ? undefined : Math.max(wakeAt - this.#deps.clock.now(), 0);
    return requeueMs === undefined || wakeMs === undefined ? (requeueMs ?? wakeMs) : Math.min(requeueMs, wakeMs);
  }

  /**
   * Requests a step, or records that none is needed.
   * @param request absent: nothing to write
   */
  #report(spoke: Spoke, request: StepRequest | undefined): number | undefined {
    const key = { kind: 'rollout', ...spoke } as const;
    if (request) return this.#requests.request(key, request);
    this.#note(key, undefined);
    this.#requests.done(key);
    return undefined;
  }

  /** An error of a step is reported as long as it lasts. */
  #note(key: Spoke, error: unknown): void {
    if (this.#deps.caches.upgrades.byIndex(BY_UID, key.upgrade).length > 0) this.#problems.note(key, error);
  }
}

/** Maps changes to keys. The first reconcile of each upgrade plans its spokes, so what else is there at the start enqueues nothing. */
function watchesOf({ upgrades, clusters, templates, ...objects }: RolloutsDeps['caches']): Watch[] {
  const keyIn = ({ metadata: { uid = '' } }: ClusterGroupUpgrade, cluster: string) => textOf({ upgrade: uid, cluster });
  const wholeOf = (found: readonly ClusterGroupUpgrade[]) => found.map((upgrade) => keyIn(upgrade, ALL));
  const isInitial = false;
  const ofSpoke = ({ object: { metadata } }: Change<KubeObject>) =>
    upgrades.byIndex(BY_UID, metadata.labels?.[Label.upgradeUid] ?? '').map((upgrade) => keyIn(upgrade, metadata.namespace ?? ''));
  const isTarget = (upgrade: ClusterGroupUpgrade, cluster: string) => isRunning(upgrade) && targetsOf(upgrade).has(cluster);
  const usesTemplate =
    ({ metadata: { namespace, name } }: KubeObject) =>
    (upgrade: ClusterGroupUpgrade) =>
      upgrade.metadata.namespace === namespace && templatesOf(upgrade).includes(name);
  return [
    watch(upgrades, { enqueue: ({ object }) => wholeOf([object]) }),
    watch(clusters, {
      select: hasClusterChanged,
      enqueue: ({ object: { metadata } }) =>
        upgrades.list().flatMap((upgrade) => (isTarget(upgrade, metadata.name) ? [keyIn(upgrade, metadata.name)] : [])),
      isInitial,
    }),
    ...[objects.works, objects.views, objects.actions].map((cache) =>
      watch(cache, { select: ({ object }: Change<KubeObject>) => !isOfJob(object), enqueue: ofSpoke, isInitial }),
    ),
    // Steps wait until their policy is enforced.
    ...[objects.placements, objects.bindings].map((cache) =>
      watch(cache, { enqueue: ({ object }) => wholeOf(upgrades.byIndex(BY_LABELS, upgradeIndexOf(object))), isInitial }),
    ),
    // A binding is made when they are exactly the members, and goes when they are more.
    watch(objects.decisions, {
      enqueue: ({ object }) => {
        const placement = objects.placements.get(placementOf(object));
        return placement ? wholeOf(upgrades.byIndex(BY_LABELS, upgradeIndexOf(placement))) : [];
      },
      isInitial,
    }),
    watch(templates, { enqueue: ({ object }) => wholeOf(upgrades.list().filter(usesTemplate(object))), isInitial }),
  ];
}

type Spoke = Pick<StepKey, 'upgrade' | 'cluster'>;
const textOf = ({ upgrade, cluster }: Spoke): string => `${upgrade}/${cluster}`;
const spokeOf = (text: string): Spoke => {
  const [upgrade = '', cluster = ALL] = text.split('/');
  return { upgrade, cluster };
};

const requestOf = (target: SpokeTarget, writes: readonly HubWrite[]): StepRequest => ({
  plan: `${describe(target)}: ${describeWrites(writes)}`,
  priority: priorities[target.phase],
});

/** Describes a target; descriptions of different targets differ. */
function describe(target: SpokeTarget): string {
  if (target.phase !== 'remediate') return target.phase;
  return target.mode === 'policy' ? `remediate ${target.policy}` : `remediate ${target.template}`;
}
