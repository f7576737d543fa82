import { perObject } from '@flotilla/api';
import { type ClusterGroupUpgrade, isFinalPrecacheState, PrecacheAction, type PrecacheState } from '@flotilla/api/ran';
import { isEnding } from '@flotilla/rollout';
import { type Clock, type ReconcilerOptions, startReconciler, watch } from '@flotilla/runtime';
import { type SpokeJobCaches, spokeKey } from '../caches.ts';
import { hubObjectsOf } from '../lookups.ts';
import { keyText } from '../spokes/spoke-key.ts';
import { capOf, type WrittenCap } from '../spokes/transports/port/cap.ts';
import { type HandedOut, handOut, type Puller } from './bytes.ts';

/** Milliseconds for which shares count, unless an upgrade changes: what this process writes meanwhile follows from them. */
const KEPT_MS = 1_000;
/** Milliseconds in which more clusters begin or end. */
const GATHER_MS = 1_000;

/** Clusters whose pull has begun and not ended. */
const pulling = ({ status, ...upgrade }: ClusterGroupUpgrade): readonly string[] =>
  isEnding({ status, ...upgrade }) ? [] : underWay(status?.precaching?.status ?? NONE);
const NONE = {};
const underWay = perObject((states: Readonly<Record<string, PrecacheState>>): readonly string[] =>
  Object.keys(states).filter((cluster) => states[cluster] !== 'NotStarted' && !isFinalPrecacheState(states[cluster] as PrecacheState)),
);

/** Dependencies of `ByteShares`. */
interface SharesDeps {
  readonly caches: SpokeJobCaches;
  /** The limits that a cluster with these labels is under; undefined while nobody knows them. */
  readonly limits: () => ((labels: Readonly<Record<string, string>> | undefined) => Puller['limits']) | undefined;
  readonly clock: Clock;
}

interface Shares extends HandedOut {
  /** Keys of spokes whose cap on the hub is another one. */
  readonly due: readonly string[];
}

/** The bytes a second that each cluster's puller may take now. All follows from stored states and marks, so that no process has to remember any. */
export class ByteShares {
  readonly #deps: SharesDeps;
  #known: (Shares & { readonly until: number }) | undefined;

  constructor(deps: SharesDeps) {
    this.#deps = deps;
    deps.caches.upgrades.subscribe(() => {
      this.#known = undefined;
    });
  }

  /** Cap of a cluster's puller as of now; undefined for none. */
  readonly capOf = (cluster: string): number | undefined => this.#now().caps.get(cluster);

  /** Has the spokes reconciled whose caps become others, until the signal aborts. Only the leader does. */
  start(enqueue: (key: string) => void, options: Pick<ReconcilerOptions, 'logger' | 'metrics' | 'signal' | 'onTrouble'>): Promise<void> {
    const { caches, clock } = this.#deps;
    return startReconciler({
      ...options,
      name: 'bytes',
      watches: [watch(caches.upgrades, { enqueue: () => ['fleet'], gatherMs: GATHER_MS })],
      concurrency: 1,
      clock,
      reconcile: async () => {
        this.#known = undefined;
        const { due, at } = this.#now();
        for (const key of due) enqueue(key);
        return at === undefined ? {} : { requeueAfterMs: at - clock.now() };
      },
    }).stopped;
  }

  #now(): Shares {
    const now = this.#deps.clock.now();
    if (!this.#known || now >= this.#known.until) this.#known = { ...this.#share(now), until: now + KEPT_MS };
    return this.#known;
  }

  #share(now: number): Shares {
    const { caches } = this.#deps;
    const limitsOn = this.#deps.limits();
    const pullers = caches.upgrades.list().flatMap((upgrade) =>
      pulling(upgrade).map((cluster) => ({
        cluster,
        limits: limitsOn?.(caches.clusters.get({ name: cluster })?.metadata.labels) ?? [],
        written: this.#written(upgrade.metadata.uid ?? '', cluster),
        key: keyText({ upgrade: upgrade.metadata.uid ?? '', cluster }),
      })),
    );
    // Without limits that anybody could read all stays as it is.
    const kept = pullers.flatMap(({ cluster, written }) =>
      written?.bytesPerSecond === undefined ? [] : [[cluster, written.bytesPerSecond] as const],
    );
    const { caps, at } = limitsOn ? handOut(pullers, now) : { caps: new Map(kept), at: undefined };
    const due = pullers.flatMap(({ cluster, written, key }) =>
      written && Number.isFinite(written.at) && written.bytesPerSecond !== caps.get(cluster) ? [key] : [],
    );
    return { caps, at, due };
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
