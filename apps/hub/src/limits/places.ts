import { isSameJson, type KubeObject, Label, refKey } from '@flotilla/api';
import { type ClusterGroupUpgrade, type FleetLimits, LimitedActivity } from '@flotilla/api/ran';
import {
  byTurn,
  clustersWithPlace,
  findPause,
  freesPlaces,
  isEnding,
  isLimited,
  Occupancy,
  type PlacesToAsk,
  type Wait,
  waitForLimits,
  waitForPlace,
} from '@flotilla/rollout';
import type { Change } from '@flotilla/runtime';
import { BY_OPEN, BY_UID, type HubCaches, isOfJob } from '../caches.ts';
import { holdsSpoke } from '../spokes/transports/reach.ts';
import type { Limits } from './limits.ts';

/** Dependencies of `Places`. */
interface PlacesDeps {
  readonly caches: Pick<HubCaches, 'upgrades' | 'clusters' | 'limits' | 'views' | 'actions' | 'works'>;
  readonly limits: Pick<Limits, 'now'>;
  readonly now: () => number;
  /** Receives the uid of an upgrade that waits for a place, and may find one now. */
  readonly onFree: (upgradeUid: string) => void;
}

interface PassPlaces extends PlacesToAsk {
  /** Ends the pass: what it did not ask for again is free. */
  readonly close: () => void;
}

const UNLIMITED: PassPlaces = { isLimited: false, find: () => undefined, close: () => {} };

/** Clusters of an upgrade that were given a place and are not stored as begun yet, and those that wait for one. */
interface Asked {
  readonly given: ReadonlySet<string>;
  readonly waiting: readonly string[];
}

/**
 * Places of one activity under the limits of the fleet. Who has one follows from the stored states of all upgrades; remembered is what passes of this
 * moment have given and not stored yet, and who waits: each pass says it anew. Only the leader has them.
 */
class Places {
  readonly #activity: LimitedActivity;
  readonly #deps: PlacesDeps;
  readonly #asked = new Map<string, Asked>();

  constructor(activity: LimitedActivity, deps: PlacesDeps) {
    this.#activity = activity;
    this.#deps = deps;
  }

  /** Begins a pass. */
  open(upgrade: ClusterGroupUpgrade): PassPlaces {
    const { uid = '' } = upgrade.metadata;
    const { limits, problem } = this.#deps.limits.now;
    const isBound = limits ? isLimited(limits, this.#activity) : problem !== undefined;
    if (!isBound) {
      this.#asked.delete(uid);
      return UNLIMITED;
    }
    const answers = new Map<string, Wait | undefined>();
    const own = refKey(upgrade.metadata);
    let occupancy: Occupancy | undefined;
    const ask = (cluster: string): Wait | undefined => {
      if (!limits) return waitForLimits(problem ?? '');
      occupancy ??= this.#occupancy(limits, upgrade);
      const full = occupancy.has(cluster) ? undefined : occupancy.findFull(cluster);
      if (full) return waitForPlace(full, this.#activity, { holders: occupancy.holders(full.id), own });
      occupancy.take(cluster, own);
      return undefined;
    };
    return {
      isLimited: true,
      find: (cluster) => {
        if (!answers.has(cluster)) answers.set(cluster, ask(cluster));
        return answers.get(cluster);
      },
      close: () => this.#close(uid, answers, clustersWithPlace(upgrade, this.#activity)),
    };
  }

  /** An upgrade asks no more. */
  forget(uid: string): void {
    this.#close(uid, new Map());
  }

  /** Has everybody who waits look again. */
  tellWaiting(except?: string): void {
    for (const [uid, { waiting }] of this.#asked) if (uid !== except && waiting.length > 0) this.#deps.onFree(uid);
  }

  /** Number of clusters that wait for a place. */
  get waiting(): number {
    return [...this.#asked.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** The limits that somebody has a place under. */
  figures(): ReturnType<Occupancy['figures']> {
    const { limits } = this.#deps.limits.now;
    return limits && isLimited(limits, this.#activity) ? this.#occupancy(limits).figures() : [];
  }

  /** @param begun clusters that the pass went by as begun: what was given to them before it may not be stored yet */
  #close(uid: string, answers: ReadonlyMap<string, Wait | undefined>, begun: readonly string[] = []): void {
    const before = this.#asked.get(uid);
    const entries = [...answers];
    const kept = begun.filter((cluster) => before?.given.has(cluster));
    const given = new Set([...kept, ...entries.flatMap(([cluster, wait]) => (wait === undefined ? [cluster] : []))]);
    const waiting = entries.flatMap(([cluster, wait]) => (wait === undefined ? [] : [cluster]));
    if (given.size + waiting.length === 0) this.#asked.delete(uid);
    else this.#asked.set(uid, { given, waiting });
    if (!before) return;
    // A place that was kept for an upgrade, or given to it, is others' when it does not want it any more.
    const isWanted = (cluster: string): boolean => answers.has(cluster);
    const [upgrade] = this.#deps.caches.upgrades.byIndex(BY_UID, uid);
    const has = new Set([...begun, ...(upgrade ? clustersWithPlace(upgrade, this.#activity) : [])]);
    const isDropped = [...before.waiting, ...before.given].some((cluster) => !isWanted(cluster) && !has.has(cluster));
    if (isDropped) this.tellWaiting(uid);
  }

  /** Everybody's places but those that this upgrade has not stored, and those that are kept for upgrades whose turn is before its. */
  #occupancy(limits: FleetLimits, upgrade?: ClusterGroupUpgrade): Occupancy {
    const { caches, now } = this.#deps;
    const occupancy = new Occupancy(limits, this.#activity, (name) => caches.clusters.get({ name })?.metadata.labels);
    // A pass that begins where another ends goes by what that one has given, which is not stored yet.
    const open = [...caches.upgrades.byIndex(BY_OPEN, 'yes'), ...(upgrade ? [upgrade] : [])];
    for (const each of open) for (const cluster of this.#clustersOf(each)) occupancy.take(cluster, refKey(each.metadata));
    const others = [...this.#asked].flatMap(([uid, asked]) => {
      const [other] = uid === upgrade?.metadata.uid ? [] : caches.upgrades.byIndex(BY_UID, uid);
      return other ? [{ other, ...asked }] : [];
    });
    for (const { other, given } of others) for (const cluster of given) occupancy.take(cluster, refKey(other.metadata));
    if (!upgrade) return occupancy;
    const ahead = others.filter(({ other, waiting }) => waiting.length > 0 && byTurn(other, upgrade, now()) < 0);
    for (const { waiting } of ahead.toSorted((a, b) => byTurn(a.other, b.other, now())))
      for (const cluster of occupancy.isFull ? [] : waiting) occupancy.reserve(cluster);
    return occupancy;
  }

  /** A job that was stopped, or whose upgrade ends, pulls as long as the hub has objects of it. */
  #clustersOf(upgrade: ClusterGroupUpgrade): readonly string[] {
    const { caches } = this.#deps;
    const { uid = '' } = upgrade.metadata;
    const stored = clustersWithPlace(upgrade, this.#activity);
    if (this.#activity !== 'pulling') return stored;
    const isHeld = (cluster: string): boolean => holdsSpoke(caches, 'precache', uid, cluster);
    if (isEnding(upgrade)) return stored.filter(isHeld);
    if (!findPause(upgrade)?.stops) return stored;
    const states = upgrade.status?.precaching?.status ?? {};
    return [...stored, ...Object.keys(states).filter((cluster) => states[cluster] === 'NotStarted' && isHeld(cluster))];
  }
}

/** Places of all activities. */
export type FleetPlaces = Readonly<Record<LimitedActivity, Places>>;

/** Creates them; upgrades that wait look again when places may be free. */
export function createPlaces(deps: PlacesDeps): FleetPlaces {
  const places: FleetPlaces = { pulling: new Places('pulling', deps), upgrading: new Places('upgrading', deps) };
  const tellWaiting = () => {
    for (const activity of LimitedActivity.options) places[activity].tellWaiting();
  };
  const { upgrades, clusters, limits } = deps.caches;
  upgrades.subscribe(({ type, object, previous }) => {
    if (type === 'deleted' || (previous && freesPlaces(previous, object))) tellWaiting();
  });
  clusters.subscribe(({ object, previous }) => {
    if (previous && !isSameJson(object.metadata.labels, previous.metadata.labels)) tellWaiting();
  });
  limits.subscribe(tellWaiting);
  // Objects of others leave no place: those that pull have one by their stored state.
  const holds = ({ metadata }: KubeObject): boolean =>
    upgrades.byIndex(BY_UID, metadata.labels?.[Label.upgradeUid] ?? '').every((upgrade) => isEnding(upgrade) || findPause(upgrade)?.stops);
  for (const cache of [deps.caches.works, deps.caches.views, deps.caches.actions])
    cache.subscribe(({ type, object }: Change<KubeObject>) => {
      if (type === 'deleted' && isOfJob(object) && holds(object)) tellWaiting();
    });
  return places;
}
