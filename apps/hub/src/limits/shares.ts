import { type FleetLimits, PrecacheAction } from '@flotilla/api/ran';
import { clustersWithPlace, findPause, isEnding, isLimited, limitsOn } from '@flotilla/rollout';
import type { Clock } from '@flotilla/runtime';
import { BY_OPEN, type HubCaches, type SpokeJobCaches, spokeKey } from '../caches.ts';
import { hubObjectsOf } from '../lookups.ts';
import { keyText } from '../spokes/part.ts';
import { capOf, type WrittenCap } from '../spokes/transports/port/cap.ts';
import { type HandedOut, handOut } from './bytes.ts';

/** Milliseconds for which shares count: what this process writes meanwhile follows from them. */
const KEPT_MS = 1_000;
/** Milliseconds in which more clusters begin or end. */
const GATHER_MS = 1_000;

/** Dependencies of `ByteShares`. */
interface SharesDeps {
  readonly caches: SpokeJobCaches;
  /** Undefined while nobody knows them. */
  readonly limits: () => FleetLimits | undefined;
  readonly clock: Clock;
}

interface Shares extends HandedOut {
  /** Clusters that share. */
  readonly pulling: ReadonlySet<string>;
  /** Keys of spokes whose cap on the hub is another one. */
  readonly due: readonly string[];
}

/** The bytes a second that each cluster's puller may take now. All follows from stored states and marks, so that no process has to remember any. */
export class ByteShares {
  readonly #deps: SharesDeps;
  /** Some work may have a cap from limits of before. */
  #mayBeCapped = true;
  #known: (Shares & { readonly until: number }) | undefined;
  /** Some upgrade is another one than what is known follows from. */
  #hasChanged = true;

  constructor(deps: SharesDeps) {
    this.#deps = deps;
    deps.caches.upgrades.subscribe(() => {
      this.#hasChanged = true;
    });
  }

  /** Cap of a cluster's puller as of now; undefined for none. */
  readonly capOf = (cluster: string): number | undefined => {
    // One that has begun since has its part at once.
    if (this.#hasChanged && !this.#now().pulling.has(cluster)) this.#known = undefined;
    return this.#now().caps.get(cluster);
  };

  /** Has the spokes reconciled whose caps become others, until the signal aborts. Only the leader does. */
  follow(limits: Pick<HubCaches['limits'], 'subscribe'>, enqueue: (key: string) => void, signal: AbortSignal): void {
    const { caches, clock } = this.#deps;
    let next: { readonly at: number; readonly timer: Disposable } | undefined;
    const look = (): void => {
      next = undefined;
      this.#known = undefined;
      const { due, at } = this.#now();
      for (const key of due) enqueue(key);
      if (at !== undefined) lookAt(at);
    };
    const lookAt = (at: number): void => {
      if (next && next.at <= at) return;
      next?.timer[Symbol.dispose]();
      next = { at, timer: clock.setTimer(at - clock.now(), look) };
    };
    const stack = new DisposableStack();
    stack.defer(caches.upgrades.subscribe(() => lookAt(clock.now() + GATHER_MS)));
    stack.defer(limits.subscribe(() => lookAt(clock.now())));
    stack.defer(() => next?.timer[Symbol.dispose]());
    signal.addEventListener('abort', () => stack.dispose(), { once: true });
    lookAt(clock.now());
  }

  #now(): Shares {
    const now = this.#deps.clock.now();
    if (!this.#known || now >= this.#known.until) {
      this.#hasChanged = false;
      this.#known = { ...this.#share(now), until: now + KEPT_MS };
    }
    return this.#known;
  }

  #share(now: number): Shares {
    const { caches } = this.#deps;
    const limits = this.#deps.limits();
    const isBound = !limits || isLimited(limits, 'bytesPerSecond');
    if (!isBound && !this.#mayBeCapped) return { caps: new Map(), pulling: new Set(), at: undefined, due: [] };
    const pullers = caches.upgrades.byIndex(BY_OPEN, 'yes').flatMap((upgrade) => {
      const uid = upgrade.metadata.uid ?? '';
      const mayBegin = !isEnding(upgrade) && findPause(upgrade)?.stops !== true;
      return clustersWithPlace(upgrade, 'pulling').flatMap((cluster) => {
        const written = this.#written(uid, cluster);
        if (!written && !mayBegin) return [];
        const labels = caches.clusters.get({ name: cluster })?.metadata.labels;
        return [
          { cluster, written, limits: limits ? limitsOn(limits, 'bytesPerSecond', labels) : [], key: keyText({ upgrade: uid, cluster }) },
        ];
      });
    });
    // Without limits that anybody could read all stays as it is.
    const kept = pullers.flatMap(({ cluster, written }) =>
      written?.bytesPerSecond === undefined ? [] : [[cluster, written.bytesPerSecond] as const],
    );
    const { caps, at } = limits ? handOut(pullers, now) : { caps: new Map(kept), at: undefined };
    const due = pullers.flatMap(({ cluster, written, key }) =>
      written && Number.isFinite(written.at) && written.bytesPerSecond !== caps.get(cluster) ? [key] : [],
    );
    this.#mayBeCapped = isBound || due.length > 0;
    return { caps, pulling: new Set(pullers.map(({ cluster }) => cluster)), at, due };
  }

  /** The cap on the hub: in a work it may change, by actions it is that of the beginning. */
  #written(uid: string, cluster: string): WrittenCap | undefined {
    const { works, actions } = hubObjectsOf(this.#deps.caches, spokeKey('precache', uid, cluster));
    const [work] = works;
    if (work) return capOf(work) ?? { bytesPerSecond: undefined, at: 0 };
    const action = actions.find(({ metadata }) => metadata.name === PrecacheAction.createSpecConfigMap);
    return action && (capOf(action) ?? { bytesPerSecond: undefined, at: Number.POSITIVE_INFINITY });
  }
}
