import { type KubeObject, Label, type Ref } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { HubWrite, RolloutProblem, SpokeTarget } from '@flotilla/rollout';
import {
  actionIndexValue,
  isComplete,
  isRunning,
  keepsObjects,
  namedClusters,
  targetsOf,
  templatesOf,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import { type Clock, type Logger, type Metrics, type Reconciler, startReconciler, type Watch, type WatchCache } from '@flotilla/runtime';
import { BY_UPGRADE_NAME } from '../placements/caches.ts';
import { placementWrites } from '../placements/plan.ts';
import { hasClusterChanged } from '../spokes/cluster-change.ts';
import { BY_UID } from '../spokes/port/caches.ts';
import { keyId, parseStepKey, type StepKey } from '../steps/step-key.ts';
import type { StepHandler, StepQueue } from '../steps/step-queue.ts';
import { type StepRequest, StepRequests } from '../steps/step-requests.ts';
import { describeWrites } from '../writes/apply.ts';
import { BY_UPGRADE, type RolloutCaches } from './caches.ts';
import { planRolloutSpoke } from './plan.ts';
import { LastingProblems } from './status.ts';

/** What carrying out rollouts needs. */
interface RolloutsDeps {
  readonly caches: RolloutCaches & { readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID | typeof BY_LABELS> };
  readonly queue: StepQueue;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly signal: AbortSignal;
  /** Applies a late step in this process. */
  readonly apply: StepHandler;
  /** Is called when an error that lasts came, changed or went. */
  readonly onProblem: (upgrade: Ref) => void;
  /** Milliseconds after which what is still not true is late, and enqueued again. Default 15 000. */
  readonly watchdogMs?: number;
  /** Decide as the reference does; default false. */
  readonly talmStrict?: boolean;
}

/** Index of upgrades by what the labels of their hub objects say (`upgradeIndexValue`). */
export const BY_LABELS = 'labels';
/** Indexes that the cache of upgrades needs. */
export const upgradeLabelIndexes = {
  [BY_LABELS]: ({ metadata: { namespace = '', name } }: ClusterGroupUpgrade) => [
    upgradeIndexValue({ namespace, name }),
    actionIndexValue({ namespace, name }),
  ],
};

/** Whoever waits to be upgraded goes before what is left of the batch before. */
const priorities = { prepare: 1, remediate: 1, complete: 2, cleanup: 3 } as const;
/** Stands for the Placements among the clusters of an upgrade; as a key, for all of its spokes too. */
const PLACEMENTS = '';

/**
 * Compares what the stored status of every upgrade says of each spoke, and of the Placements, with the caches, and requests a step where they
 * differ. The leader's part; it keeps nothing that cannot be had again. Keys are those of steps.
 */
export class SpokeRollouts {
  readonly #deps: RolloutsDeps;
  /** By the upgrade's uid. */
  readonly #problems = new Map<string, LastingProblems>();
  readonly #requests: StepRequests;
  #reconciler: Reconciler | undefined;
  readonly #planning: Parameters<typeof planRolloutSpoke>[2];

  constructor(deps: RolloutsDeps) {
    this.#deps = deps;
    const { caches, clock, talmStrict } = deps;
    this.#planning = { caches, now: () => clock.now(), talmStrict };
    this.#requests = new StepRequests({ ...deps, name: 'rollout', onApplied: (...applied) => this.#onApplied(...applied) });
  }

  /** Begins to reconcile, until the signal aborts. */
  start(): Pick<Reconciler, 'stopped'> {
    const { clock, logger, metrics, signal } = this.#deps;
    const reconciler = startReconciler({
      name: 'spoke-rollouts',
      watches: [this.#changes()],
      reconcile: async (text) => {
        const key = parseStepKey(text);
        const requeueAfterMs = key && this.#reconcile(key);
        return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
      },
      onTrouble: async (text, { message }) => {
        const key = parseStepKey(text);
        if (key) this.#onApplied(key, new Error(message));
      },
      clock,
      logger,
      ...(metrics && { metrics }),
      signal,
    });
    this.#reconciler = reconciler;
    return { stopped: Promise.all([reconciler.stopped, this.#requests.stopped]).then(() => {}) };
  }

  /**
   * True when nothing of a rollout is left on the hub that the upgrade's end has to wait for.
   * @param leavingCounts what is being deleted and only waits for its cluster's agent to let it go is left too
   */
  isClean(upgrade: ClusterGroupUpgrade, { leavingCounts }: { readonly leavingCounts: boolean }): boolean {
    const isPlaced = this.#placementWrites(upgrade).length > 0 || this.#hasPlacements(upgrade);
    const named = namedClusters(upgrade);
    return !isPlaced && ![...this.#leftovers(upgrade, leavingCounts)].some((cluster) => named.has(cluster));
  }

  /** The error that lasts of a cluster's steps, or of the Placements for no cluster. */
  problem({ metadata: { uid = '' } }: ClusterGroupUpgrade, cluster: string | undefined): RolloutProblem | undefined {
    return this.#problems.get(uid)?.of(cluster ?? PLACEMENTS);
  }

  /** All errors that last, by cluster. */
  problems({ metadata: { uid = '' } }: ClusterGroupUpgrade): ReadonlyMap<string, RolloutProblem> {
    return this.#problems.get(uid)?.all ?? new Map();
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

  /** Clusters with anything of the upgrade that should not be there. */
  #leftovers(upgrade: ClusterGroupUpgrade, leavingCounts = true): Set<string> {
    const { works, rolloutViews, rolloutActions } = this.#deps.caches;
    const { namespace = '', name, uid = '' } = upgrade.metadata;
    const clustersIn = (cache: { byIndex(index: string, value: string): readonly KubeObject[] }) =>
      [uid, upgradeIndexValue({ namespace, name }), actionIndexValue({ namespace, name })]
        .flatMap((value) => cache.byIndex(BY_UPGRADE, value))
        .filter(({ metadata }) => leavingCounts || metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.namespace ?? '');
    const targets = targetsOf(upgrade);
    const approved = clustersIn(rolloutActions).filter((cluster) => !this.#deps.talmStrict || !isComplete(upgrade, cluster));
    const found = [...clustersIn(rolloutViews), ...approved];
    const kept = keepsObjects(upgrade) ? [] : clustersIn(works);
    return new Set([...found, ...kept].filter((cluster) => !targets.has(cluster)));
  }

  /** @returns milliseconds until the next time; undefined: when something happens */
  #reconcile(key: StepKey): number | undefined {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, key.upgrade);
    if (!upgrade) {
      this.#forget(key.upgrade);
      return undefined;
    }
    this.#remember(upgrade);
    const placing = this.#placementWrites(upgrade);
    if (key.cluster !== PLACEMENTS) return this.#planSpoke(upgrade, key, placing.length === 0);
    const requeueMs = this.#report(key, placing.length > 0 ? { plan: describeWrites(placing), priority: 0 } : undefined);
    // All spokes of an upgrade in one go: most of them have nothing to write.
    const clusters = new Set([...targetsOf(upgrade).keys(), ...this.#leftovers(upgrade), ...this.#requests.open(key.upgrade)]);
    clusters.delete(PLACEMENTS);
    for (const cluster of clusters) {
      const spoke = keyOf(key.upgrade, cluster);
      const afterMs = this.#planSpoke(upgrade, spoke, placing.length === 0);
      if (afterMs !== undefined) this.#reconciler?.enqueue(keyId(spoke), { afterMs });
    }
    return requeueMs;
  }

  /** @param isPlaced the Placements are as the upgrade wants them */
  #planSpoke(upgrade: ClusterGroupUpgrade, key: StepKey, isPlaced: boolean): number | undefined {
    const { target, writes, wakeAt } = planRolloutSpoke(upgrade, key.cluster, this.#planning);
    // A view made before its object is there is blind for an interval: the policy is enforced first.
    const isEnforced = isPlaced || target.phase !== 'remediate' || target.mode !== 'policy';
    const isRequested = writes.length > 0 && isEnforced;
    const requeueMs = this.#report(key, isRequested ? requestOf(target, writes) : undefined);
    const wakeMs = wakeAt === undefined ? undefined : Math.max(wakeAt - this.#deps.clock.now(), 0);
    return requeueMs === undefined || wakeMs === undefined ? (requeueMs ?? wakeMs) : Math.min(requeueMs, wakeMs);
  }

  /** @param request absent: it is as it should be */
  #report(key: StepKey, request: StepRequest | undefined): number | undefined {
    if (request) return this.#requests.request(key, request);
    this.#problems.get(key.upgrade)?.settle(key.cluster);
    this.#requests.done(key);
    return undefined;
  }

  /** An error of a step is told as long as it lasts. */
  #onApplied({ upgrade: uid, cluster }: StepKey, error: unknown): void {
    if (error === undefined) this.#problems.get(uid)?.settle(cluster);
    else this.#problems.get(uid)?.note(cluster, error);
  }

  #remember({ metadata: { namespace, name, uid = '' } }: ClusterGroupUpgrade): void {
    if (!this.#problems.has(uid)) this.#problems.set(uid, new LastingProblems(() => this.#deps.onProblem({ namespace, name })));
  }

  #forget(uid: string): void {
    this.#requests.forget(uid);
    this.#problems.delete(uid);
  }

  /** What concerns which keys. */
  #changes(): Watch {
    const { upgrades, clusters, works, rolloutViews, rolloutActions, templates, placements, bindings } = this.#deps.caches;
    return {
      attach: (enqueue) => {
        const add = (uid: string, cluster: string) => enqueue(keyId(keyOf(uid, cluster)));
        const addAll = ({ metadata }: ClusterGroupUpgrade) => add(metadata.uid ?? '', PLACEMENTS);
        const onHubObject = ({ object: { metadata } }: { readonly object: KubeObject }) => {
          const uid = metadata.labels?.[Label.upgradeUid] ?? '';
          if (upgrades.byIndex(BY_UID, uid).length > 0) add(uid, metadata.namespace ?? '');
        };
        // Steps wait until their policy is enforced.
        const onPlacement = ({ object }: { readonly object: KubeObject }) =>
          upgrades.byIndex(BY_LABELS, upgradeIndexOf(object)).forEach(addAll);
        const detach = [
          upgrades.subscribe(({ type, object }) => (type === 'deleted' ? this.#forget(object.metadata.uid ?? '') : addAll(object))),
          clusters.subscribe((change) => {
            if (!hasClusterChanged(change)) return;
            const { name } = change.object.metadata;
            for (const upgrade of upgrades.list())
              if (isRunning(upgrade) && targetsOf(upgrade).has(name)) add(upgrade.metadata.uid ?? '', name);
          }),
          ...[works, rolloutViews, rolloutActions].map((cache) => cache.subscribe(onHubObject)),
          ...[placements, bindings].map((cache) => cache.subscribe(onPlacement)),
          templates.subscribe(({ object: { metadata } }) => {
            for (const upgrade of upgrades.list())
              if (upgrade.metadata.namespace === metadata.namespace && templatesOf(upgrade).includes(metadata.name)) addAll(upgrade);
          }),
        ];
        for (const upgrade of upgrades.list()) addAll(upgrade);
        return () => {
          for (const each of detach) each();
        };
      },
      start: async () => {},
      stopped: async () => {},
    };
  }
}

const keyOf = (upgrade: string, cluster: string): StepKey => ({
  kind: cluster === PLACEMENTS ? 'placements' : 'rollout',
  upgrade,
  cluster,
});

const requestOf = (target: SpokeTarget, writes: readonly HubWrite[]): StepRequest => ({
  plan: `${describe(target)}: ${describeWrites(writes)}`,
  priority: priorities[target.phase],
});

/** Differs for targets that differ. */
function describe(target: SpokeTarget): string {
  if (target.phase !== 'remediate') return target.phase;
  return target.mode === 'policy' ? `remediate ${target.policy}` : `remediate ${target.template}`;
}
