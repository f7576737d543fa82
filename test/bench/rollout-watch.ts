import { findCondition, type KubeObject, Label } from '@flotilla/api';
import { ManifestWork, Placement, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { type Client, WatchCache } from '@flotilla/runtime';
import { selectorValues } from '../fixtures/placed-policies.ts';
import { isTemplateDone, templateOf } from '../fixtures/work-templates.ts';

/** What the spokes go through, in order: names of policies, or of templates. */
export interface Steps {
  readonly mode: 'policy' | 'manifestwork';
  readonly names: readonly string[];
}

/** Seconds of the hub's own between two batches. */
export interface HandOver {
  /** Of the batch that is released, from 2. */
  readonly batch: number;
  /** From the last spoke of the batch before being done to the first, and to the last, of this one being released. */
  readonly toFirst: number;
  readonly toLast: number;
}

/** Watches an upgrade from beside, as anyone with access to the API server can; times are those at which its watches tell. */
export class RolloutWatch {
  plan: readonly (readonly string[])[] = [];
  /** Largest status of the upgrade, in bytes of JSON. */
  statusBytes = 0;
  startedMs: number | undefined;
  succeeded: string | undefined;
  completedMs: number | undefined;
  /** Versions of the upgrade that were seen. */
  versions = 0;
  /** By cluster, milliseconds since the epoch: the first step is asked of it. */
  readonly released = new Map<string, number>();
  /** By cluster, milliseconds since the epoch: the last step is done. */
  readonly done = new Map<string, number>();
  readonly #steps: Steps;
  readonly #stop = new AbortController();

  constructor(client: Client, steps: Steps) {
    this.#steps = steps;
    this.#watch(new WatchCache(client, ClusterGroupUpgrade, { namespace: 'default' }), (upgrade) => this.#seeUpgrade(upgrade));
    if (steps.mode === 'manifestwork')
      this.#watch(new WatchCache(client, ManifestWork, { labelSelector: Label.upgradeUid }), (work) => this.#seeWork(work));
    else {
      this.#watch(new WatchCache(client, Placement, { namespace: 'policies' }), (placement) => this.#seePlacement(placement));
      this.#watch(new WatchCache(client, Policy, { namespace: 'policies' }), (policy) => this.#seePolicy(policy));
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Between each two batches. Throws when a release or an end was not seen: a figure without it would be too good. */
  handOvers(): HandOver[] {
    return this.plan.slice(1).map((clusters, index) => {
      const ended = Math.max(...timesOf(this.plan[index], this.done, 'done'));
      const releases = timesOf(clusters, this.released, 'released');
      return { batch: index + 2, toFirst: (Math.min(...releases) - ended) / 1000, toLast: (Math.max(...releases) - ended) / 1000 };
    });
  }

  #watch<T extends KubeObject>(cache: WatchCache<T>, see: (object: T) => void): void {
    cache.subscribe(({ type, object }) => {
      if (type === 'set') see(object);
    });
    cache.start(this.#stop.signal);
  }

  #seeUpgrade({ status }: ClusterGroupUpgrade): void {
    if (!status) return;
    this.versions += 1;
    this.statusBytes = Math.max(this.statusBytes, Buffer.byteLength(JSON.stringify(status)));
    if (status.status.startedAt !== undefined) {
      this.startedMs ??= Date.now();
      if (this.plan.length === 0) this.plan = status.remediationPlan ?? [];
    }
    const succeeded = findCondition(status.conditions, ClusterGroupUpgradeCondition.succeeded);
    if (succeeded) this.succeeded ??= `${succeeded.status} ${succeeded.reason}: ${succeeded.message}`;
    if (status.status.completedAt !== undefined) this.completedMs ??= Date.now();
  }

  #seeWork(work: ManifestWork): void {
    const { namespace = '', name } = work.metadata;
    const template = templateOf(name);
    if (template === this.#steps.names[0]) note(this.released, namespace);
    if (template === this.#steps.names.at(-1) && isTemplateDone(work)) note(this.done, namespace);
  }

  #seePlacement({ metadata, spec }: Placement): void {
    if (metadata.labels?.[Label.forPolicy] !== this.#steps.names[0]) return;
    for (const cluster of selectorValues(spec)) note(this.released, cluster);
  }

  #seePolicy({ metadata, status }: Policy): void {
    if (metadata.name !== this.#steps.names.at(-1)) return;
    for (const { clustername, compliant } of status?.status ?? []) if (compliant === 'Compliant') note(this.done, clustername);
  }
}

/** When the clusters were seen to be so, in milliseconds since the epoch. */
export const timesOf = (clusters: readonly string[] = [], seen: ReadonlyMap<string, number>, what: string): number[] =>
  clusters.map((cluster) => {
    const at = seen.get(cluster);
    if (at === undefined) throw new Error(`the bench did not see that ${cluster} was ${what}`);
    return at;
  });

const note = (map: Map<string, number>, cluster: string): void => {
  if (!map.has(cluster)) map.set(cluster, Date.now());
};
