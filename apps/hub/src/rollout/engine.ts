import { type KubeObject, Label, type Ref, refKey, refOfKey } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { RolloutProblem, SpokeTarget } from '@flotilla/rollout';
import {
  actionIndexValue,
  isComplete,
  isRunning,
  keepsObjects,
  namedClusters,
  targetOf,
  targetsOf,
  templatesOf,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import type { Clock, Logger, WatchCache } from '@flotilla/runtime';
import { type Due, DueSteps } from '../due-steps.ts';
import { BY_UID } from '../spokes/port/caches.ts';
import type { StepKey } from '../step-key.ts';
import type { StepQueue } from '../step-queue.ts';
import { placementWrites } from './batch-step.ts';
import { BY_UPGRADE_NAME, type RolloutCaches } from './caches.ts';
import { LastingProblems } from './lasting-problems.ts';
import { hasClusterChanged } from './observe.ts';
import { BY_UPGRADE } from './spoke/caches.ts';
import { spokeNeed } from './spoke/spoke-step.ts';

/** What the rollout engine needs. */
export interface RolloutEngineDeps {
  readonly caches: RolloutCaches & { readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID | typeof BY_LABELS> };
  readonly queue: Pick<StepQueue, 'enqueue' | 'holds'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Carries out here what is late, so that its error is known; the queue is asked all the same. */
  readonly step: (key: StepKey) => Promise<unknown>;
  /** Told when an error that lasts came, changed or went. */
  readonly onProblem: (upgrade: Ref) => void;
  /** Milliseconds after which what is still not true is late, and added again. Default 15 000. */
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

/** What one look has to go through. */
interface Look {
  all: boolean;
  /** Spokes something happened on: asked for even if they were a moment ago. */
  readonly spokes: Set<string>;
  /** Spokes that were asked for and not seen to be true since. */
  readonly again: Set<string>;
  placements: boolean;
}

interface Memory {
  readonly uid: string;
  /** What is not true yet, by cluster, or `''` for the Placements. */
  readonly due: Set<string>;
  /** By the same names. */
  readonly problems: LastingProblems;
}

/** Whoever waits to be upgraded goes before what is left of the batch before. */
const priorities = { prepare: 1, remediate: 1, complete: 2, cleanup: 3 } as const;
/** Stands for the Placements among the spokes that were asked for. */
const PLACEMENTS = '';

/**
 * Wakes what is not true yet: compares what the stored status of every upgrade wants with the caches, on every change of either, and
 * adds a step for each spoke, and a batch for the Placements, that differs. Keeps nothing that cannot be had again.
 */
export class RolloutEngine {
  readonly #deps: RolloutEngineDeps;
  readonly #memory = new Map<string, Memory>();
  readonly #looks = new Map<string, Look>();
  readonly #steps: DueSteps;
  readonly #planning: Parameters<typeof spokeNeed>[2];
  #flush: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(deps: RolloutEngineDeps) {
    this.#deps = deps;
    const { caches, queue, clock, step, watchdogMs, talmStrict } = deps;
    this.#planning = { caches, now: () => clock.now(), talmStrict };
    this.#steps = new DueSteps({
      queue,
      clock,
      step,
      watchdogMs,
      look: (key) => this.#onWatchdog(key),
      onLate: (...late) => this.#onLate(...late),
    });
  }

  /** Begins to wake, until the signal aborts. */
  start(signal: AbortSignal): void {
    const { upgrades, clusters, works, rolloutViews, rolloutActions, templates, placements, bindings } = this.#deps.caches;
    upgrades.subscribe(({ type, object }) => (type === 'deleted' ? this.#forget(refKey(object.metadata)) : this.#lookAt(object)));
    clusters.subscribe((change) => {
      if (hasClusterChanged(change)) this.#onCluster(change.object.metadata.name);
    });
    for (const cache of [works, rolloutViews, rolloutActions]) cache.subscribe(({ object }) => this.#onHubObject(object));
    for (const cache of [placements, bindings]) cache.subscribe(({ object }) => this.#onPlacement(object));
    templates.subscribe(({ object: { metadata } }) => {
      for (const upgrade of upgrades.list())
        if (upgrade.metadata.namespace === metadata.namespace && templatesOf(upgrade).includes(metadata.name)) this.#lookAt(upgrade);
    });
    for (const upgrade of upgrades.list()) this.#lookAt(upgrade);
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
  }

  /**
   * True when nothing of a rollout is left on the hub that the upgrade's end has to wait for.
   * @param leavingCounts what is being deleted and only waits for its cluster's agent to let it go is left too
   */
  isClean(upgrade: ClusterGroupUpgrade, { leavingCounts }: { readonly leavingCounts: boolean }): boolean {
    const isPlaced = placementWrites(upgrade, this.#deps.caches, this.#deps.talmStrict).length > 0 || this.#hasPlacements(upgrade);
    const named = namedClusters(upgrade);
    return !isPlaced && ![...this.#leftovers(upgrade, leavingCounts)].some((cluster) => named.has(cluster));
  }

  #hasPlacements(upgrade: ClusterGroupUpgrade): boolean {
    if (keepsObjects(upgrade)) return false;
    const { namespace = '', name } = upgrade.metadata;
    const value = upgradeIndexValue({ namespace, name });
    const { placements, bindings } = this.#deps.caches;
    return placements.byIndex(BY_UPGRADE_NAME, value).length + bindings.byIndex(BY_UPGRADE_NAME, value).length > 0;
  }

  /** The error that lasts of a cluster's steps, or of the Placements for no cluster. */
  problem(upgrade: ClusterGroupUpgrade, cluster: string | undefined): RolloutProblem | undefined {
    return this.#memory.get(refKey(upgrade.metadata))?.problems.of(cluster ?? PLACEMENTS);
  }

  /** All errors that last, by cluster. */
  problems(upgrade: ClusterGroupUpgrade): ReadonlyMap<string, RolloutProblem> {
    return this.#memory.get(refKey(upgrade.metadata))?.problems.all ?? new Map();
  }

  /** Clusters with anything of the upgrade that should not be there. */
  #leftovers(upgrade: ClusterGroupUpgrade, leavingCounts = true): Set<string> {
    const { works, rolloutViews, rolloutActions } = this.#deps.caches;
    const { namespace = '', name, uid = '' } = upgrade.metadata;
    const clustersIn = (cache: { byIndex(index: string, value: string): readonly KubeObject[] }) =>
      [uid, upgradeIndexValue({ namespace, name }), actionIndexValue({ namespace, name })]
        .flatMap((value) => cache.byIndex(BY_UPGRADE, value))
        .filter(({ metadata }) => leavingCounts || metadata.deletionTimestamp === undefined)
        .map(namespaceOf);
    const targets = targetsOf(upgrade);
    const approved = clustersIn(rolloutActions).filter((cluster) => !this.#deps.talmStrict || !isComplete(upgrade, cluster));
    const found = [...clustersIn(rolloutViews), ...approved];
    const kept = keepsObjects(upgrade) ? [] : clustersIn(works);
    return new Set([...found, ...kept].filter((cluster) => !targets.has(cluster)));
  }

  #onCluster(cluster: string): void {
    for (const upgrade of this.#deps.caches.upgrades.list())
      if (isRunning(upgrade) && targetsOf(upgrade).has(cluster)) this.#schedule(upgrade).spokes.add(cluster);
  }

  #onHubObject({ metadata }: KubeObject): void {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, metadata.labels?.[Label.upgradeUid] ?? '');
    if (upgrade) this.#schedule(upgrade).spokes.add(metadata.namespace ?? '');
  }

  #onWatchdog({ upgrade: uid, cluster }: StepKey): void {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    if (upgrade) this.#schedule(upgrade).again.add(cluster);
  }

  /** What keeps a step from being done is told as long as it lasts. */
  #onLate({ upgrade: uid, cluster }: StepKey, error: unknown): void {
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    const problems = upgrade && this.#memory.get(refKey(upgrade.metadata))?.problems;
    if (error === undefined) problems?.settle(cluster);
    else problems?.note(cluster, error);
  }

  #onPlacement(object: KubeObject): void {
    for (const upgrade of this.#deps.caches.upgrades.byIndex(BY_LABELS, upgradeIndexOf(object))) {
      const look = this.#schedule(upgrade);
      look.placements = true;
      // Steps wait until their policy is enforced.
      look.all = true;
    }
  }

  #lookAt(upgrade: ClusterGroupUpgrade): void {
    this.#schedule(upgrade).all = true;
  }

  /** Everything that happens in one turn of the event loop is one look. */
  #schedule({ metadata }: ClusterGroupUpgrade): Look {
    const key = refKey(metadata);
    const look = this.#looks.get(key) ?? { all: false, spokes: new Set(), again: new Set(), placements: false };
    this.#looks.set(key, look);
    if (!this.#stopped) this.#flush ??= setImmediate(() => this.#runLooks());
    return look;
  }

  #runLooks(): void {
    this.#flush = undefined;
    const looks = [...this.#looks];
    this.#looks.clear();
    for (const [key, look] of looks) {
      try {
        this.#look(key, look);
      } catch (err) {
        this.#deps.logger.error({ upgrade: key, err }, 'Looking at a rollout failed');
      }
    }
  }

  #look(key: string, look: Look): void {
    const upgrade = this.#deps.caches.upgrades.get(refOfKey(key));
    if (!upgrade) return this.#forget(key);
    const { uid = '' } = upgrade.metadata;
    const memory = this.#remember(key, uid);
    const all = look.all ? [...targetsOf(upgrade).keys(), ...this.#leftovers(upgrade), ...memory.due] : [];
    const placementsDue = placementWrites(upgrade, this.#deps.caches, this.#deps.talmStrict).length > 0;
    for (const cluster of new Set([...all, ...look.spokes, ...look.again])) {
      if (cluster === PLACEMENTS) continue;
      const target = targetOf(upgrade, cluster);
      const need = spokeNeed(upgrade, cluster, this.#planning);
      const step: StepKey = { kind: 'rollout', upgrade: uid, cluster };
      this.#steps.lookAt(step, need.wakeAt);
      // A view made before its object is there is blind for an interval: the policy is enforced first.
      const isEarly = placementsDue && target.phase === 'remediate' && target.mode === 'policy';
      const due = { what: describe(target), happened: look.spokes.has(cluster), priority: priorities[target.phase] };
      this.#say(memory, step, need.isDue && !isEarly ? due : undefined);
    }
    const step: StepKey = { kind: 'placements', upgrade: uid, cluster: PLACEMENTS };
    const due = { what: upgrade.metadata.resourceVersion ?? '', happened: look.placements, priority: 0 };
    this.#say(memory, step, placementsDue ? due : undefined);
  }

  #remember(key: string, uid: string): Memory {
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory: Memory = { uid, due: new Set(), problems: new LastingProblems(() => this.#deps.onProblem(refOfKey(key))) };
    this.#memory.set(key, memory);
    return memory;
  }

  /** @param due absent: it is as it should be */
  #say({ due: open, problems }: Memory, step: StepKey, due: Due | undefined): void {
    if (due) {
      open.add(step.cluster);
      return this.#steps.due(step, due);
    }
    open.delete(step.cluster);
    problems.settle(step.cluster);
    this.#steps.settle(step);
  }

  #forget(key: string): void {
    const { uid: upgrade = '', due = [] } = this.#memory.get(key) ?? {};
    for (const cluster of due) this.#steps.forget({ kind: cluster === PLACEMENTS ? 'placements' : 'rollout', upgrade, cluster });
    this.#memory.delete(key);
    this.#looks.delete(key);
  }

  #stop(): void {
    this.#stopped = true;
    if (this.#flush) clearImmediate(this.#flush);
    this.#steps.stop();
    for (const key of [...this.#memory.keys()]) this.#forget(key);
  }
}

/** What a step is asked for, as far as it differs from another one of the same phase. */
function describe(target: SpokeTarget): string {
  if (target.phase !== 'remediate') return target.phase;
  return target.mode === 'policy' ? `remediate ${target.policy}` : `remediate ${target.template}`;
}

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? '';
