import { type KubeObject, Label, type Ref, refKey, refOfKey } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { Dispatcher, StepKey } from '@flotilla/queues';
import type { RolloutProblem, SpokeTarget } from '@flotilla/rollout';
import {
  actionIndexValue,
  isRunning,
  keepsObjects,
  targetOf,
  targetsOf,
  templatesOf,
  upgradeIndexOf,
  upgradeIndexValue,
} from '@flotilla/rollout';
import type { Logger, WatchCache } from '@flotilla/runtime';
import { BY_UID } from '../spoke-job/caches.ts';
import { placementWrites } from './batch-step.ts';
import { BY_UPGRADE_NAME, type RolloutCaches } from './caches.ts';
import { LateSteps } from './late-steps.ts';
import { hasClusterChanged } from './observe.ts';
import { BY_UPGRADE } from './spoke/caches.ts';
import { spokeNeed } from './spoke/spoke-step.ts';

/** What the rollout engine needs. */
export interface RolloutEngineDeps {
  readonly caches: RolloutCaches & { readonly upgrades: WatchCache<ClusterGroupUpgrade, typeof BY_UID | typeof BY_LABELS> };
  readonly queue: Pick<Dispatcher, 'want'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
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

/** What has been asked for lately: how it was called, when last (milliseconds since the epoch), and how often in a row. */
interface Asked {
  readonly what: string;
  readonly at: number;
  readonly times: number;
}

/** What one look has to go through. */
interface Look {
  all: boolean;
  /** Spokes something happened on: asked for even if they were a moment ago. */
  readonly spokes: Set<string>;
  placements: boolean;
}

interface Memory {
  /** What was asked for within the last time of the watchdog, whether it is true by now or not. */
  readonly asked: Map<string, Asked>;
  /** What is not true yet. */
  readonly due: Set<string>;
  /** Since when, milliseconds since the epoch; begins anew with each try of what is late. */
  readonly dueSince: Map<string, number>;
  readonly late: LateSteps;
  timer?: NodeJS.Timeout;
  /** When the timer fires, milliseconds since the epoch. */
  lookAt?: number | undefined;
}

const WATCHDOG_MS = 15_000;
/** So often, at most, all spokes are looked at within the time of the watchdog because something is late. */
const LOOKS_PER_WATCHDOG = 15;
/** So often the same is asked for within the time of the watchdog. An approval takes four steps. */
const MOST_AT_ONCE = 12;
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
  #flush: NodeJS.Immediate | undefined;
  #stopped = false;

  constructor(deps: RolloutEngineDeps) {
    this.#deps = deps;
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
    return !isPlaced && this.#leftovers(upgrade, leavingCounts).size === 0;
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
    return this.#memory.get(refKey(upgrade.metadata))?.late.problem(cluster ?? PLACEMENTS);
  }

  /** All errors that last, by cluster. */
  problems(upgrade: ClusterGroupUpgrade): ReadonlyMap<string, RolloutProblem> {
    return this.#memory.get(refKey(upgrade.metadata))?.late.problems ?? new Map();
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
    const found = [...clustersIn(rolloutViews), ...clustersIn(rolloutActions)];
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
    const look = this.#looks.get(key) ?? { all: false, spokes: new Set(), placements: false };
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
    const memory = this.#memory.get(key) ?? this.#begin(key);
    if (look.all) memory.due.clear();
    const spokes = look.all ? new Set([...targetsOf(upgrade).keys(), ...this.#leftovers(upgrade), ...look.spokes]) : look.spokes;

    const placementsDue = placementWrites(upgrade, this.#deps.caches, this.#deps.talmStrict).length > 0;
    const { uid = '' } = upgrade.metadata;
    let wakeAt = Number.POSITIVE_INFINITY;
    for (const cluster of spokes) {
      const target = targetOf(upgrade, cluster);
      const need = spokeNeed(upgrade, cluster, this.#deps);
      wakeAt = Math.min(wakeAt, need.wakeAt ?? wakeAt);
      // A view made before its object is there is blind for an interval: the policy is enforced first.
      const isEarly = placementsDue && target.phase === 'remediate' && target.mode === 'policy';
      if (!need.isDue || isEarly) {
        this.#settle(memory, cluster);
        continue;
      }
      const key: StepKey = { kind: 'rollout', upgrade: uid, cluster };
      if (this.#shouldAsk(memory, cluster, describe(target), look.spokes.has(cluster)))
        this.#deps.queue.want(key, { priority: priorities[target.phase] });
      if (this.#isLate(memory, cluster)) memory.late.try(cluster, () => this.#deps.step(key));
    }
    this.#lookAtPlacements(upgrade, memory, placementsDue, look);
    if (look.all) for (const name of memory.dueSince.keys()) if (!memory.due.has(name)) this.#settle(memory, name);
    this.#watch(key, memory, wakeAt);
  }

  #begin(key: string): Memory {
    const late = new LateSteps(() => this.#deps.onProblem(refOfKey(key)));
    const memory: Memory = { asked: new Map(), due: new Set(), dueSince: new Map(), late };
    this.#memory.set(key, memory);
    return memory;
  }

  #lookAtPlacements({ metadata }: ClusterGroupUpgrade, memory: Memory, isDue: boolean, look: Look): void {
    if (!isDue) return this.#settle(memory, PLACEMENTS);
    const key: StepKey = { kind: 'placements', upgrade: metadata.uid ?? '', cluster: '' };
    if (this.#shouldAsk(memory, PLACEMENTS, metadata.resourceVersion ?? '', look.placements)) this.#deps.queue.want(key, { priority: 0 });
    if (this.#isLate(memory, PLACEMENTS)) memory.late.try(PLACEMENTS, () => this.#deps.step(key));
  }

  /**
   * Whether to ask: at once when something happened there or something else is wanted, else when the last time is long ago. Somebody
   * who undoes each time what we do is followed a few times, then at the pace of the watchdog.
   */
  #shouldAsk({ asked, due }: Memory, name: string, what: string, happened: boolean): boolean {
    const { now, watchdogMs = WATCHDOG_MS } = this.#deps;
    const at = now();
    due.add(name);
    const last = asked.get(name);
    if (last?.what !== what || isOver(last.at, watchdogMs, at)) {
      asked.set(name, { what, at, times: 1 });
      return true;
    }
    if (!happened || last.times >= MOST_AT_ONCE) return false;
    asked.set(name, { ...last, at, times: last.times + 1 });
    return true;
  }

  /** Once in each time of the watchdog that something has been due without a break. */
  #isLate({ dueSince }: Memory, name: string): boolean {
    const { now, watchdogMs = WATCHDOG_MS } = this.#deps;
    const since = dueSince.get(name);
    const isLate = since !== undefined && isOver(since, watchdogMs, now());
    if (since === undefined || isLate) dueSince.set(name, now());
    return isLate;
  }

  #settle({ due, dueSince, late }: Memory, name: string): void {
    due.delete(name);
    dueSince.delete(name);
    late.settle(name);
  }

  /** Looks again when a pause ends, and while anything that was asked for is not true. */
  #watch(key: string, memory: Memory, wakeAt: number): void {
    const { now, watchdogMs = WATCHDOG_MS } = this.#deps;
    for (const [name, { at }] of memory.asked) if (isOver(at, watchdogMs, now()) && !memory.due.has(name)) memory.asked.delete(name);
    let askAt = Number.POSITIVE_INFINITY;
    for (const name of memory.due) askAt = Math.min(askAt, Math.min(memory.asked.get(name)?.at ?? now(), now()) + watchdogMs);
    // A look goes through all spokes: not one for each that is late.
    const at = Math.min(wakeAt, Math.max(askAt, now() + watchdogMs / LOOKS_PER_WATCHDOG));
    // The earliest of several looks stays: this one may not have gone through all spokes.
    if (at === Number.POSITIVE_INFINITY || this.#stopped || (memory.lookAt !== undefined && memory.lookAt <= at)) return;
    clearTimeout(memory.timer);
    memory.lookAt = at;
    const look = () => {
      memory.lookAt = undefined;
      const upgrade = this.#deps.caches.upgrades.get(refOfKey(key));
      if (upgrade) this.#lookAt(upgrade);
    };
    memory.timer = setTimeout(look, Math.max(at - now(), 0));
  }

  #forget(key: string): void {
    clearTimeout(this.#memory.get(key)?.timer);
    this.#memory.delete(key);
    this.#looks.delete(key);
  }

  #stop(): void {
    this.#stopped = true;
    if (this.#flush) clearImmediate(this.#flush);
    for (const key of [...this.#memory.keys()]) this.#forget(key);
  }
}

/** What a step is asked for, as far as it differs from another one of the same phase. */
function describe(target: SpokeTarget): string {
  if (target.phase !== 'remediate') return target.phase;
  return target.mode === 'policy' ? `remediate ${target.policy}` : `remediate ${target.template}`;
}

/** A time that is yet to come was noted before the clock stepped back: nothing waits for as long as it stepped. */
const isOver = (since: number, ms: number, now: number): boolean => since > now || now - since >= ms;

const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? '';
