import { Annotation, findCondition, Label } from '@flotilla/api';
import { Placement } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { selectorValues } from '../../integration/rollout/policies.ts';
import type { StoredChange, World } from '../core/world.ts';

/** An upgrade as it is stored, and what came before. */
interface UpgradeLook {
  readonly name: string;
  readonly before: ClusterGroupUpgrade | undefined;
  readonly after: ClusterGroupUpgrade;
  readonly isDeleted: boolean;
}

/** Clusters that came into a Placement of an upgrade. */
interface Enforcement {
  readonly upgrade: string;
  readonly policy: string;
  readonly clusters: readonly string[];
}

/** Times in milliseconds since the epoch at which a cluster answered to a policy like this. */
interface Span {
  readonly state: string;
  readonly from: number;
}

const asObject = <T>(object: unknown): T => object as T;

/** What happened, as it can be seen from outside of the hub: in the store, on the clusters, by the framework. */
export class Ledger {
  readonly world: World;
  readonly upgrades = new Map<string, ClusterGroupUpgrade>();
  /** Last time at which the effects of an upgrade were forbidden by its spec or its annotations, and why; absent while they are allowed. */
  readonly forbidden = new Map<string, { readonly since: number; readonly why: string }>();
  /** When a cluster was first under way in an upgrade, by both names. */
  readonly #begun = new Map<string, number>();
  readonly #spans = new Map<string, Span[]>();
  #seenEvents = 0;

  constructor(world: World) {
    this.world = world;
  }

  /** News may be late in this story: calls have mishaps, watches lag, a hub sleeps. */
  get isTroubled(): boolean {
    const { storms, acts } = this.world.story;
    return storms.length > 0 || acts.some(({ what }) => what === 'sleep hub' || what === 'skew hub');
  }

  get now(): number {
    return this.world.scheduler.now();
  }

  /** Upgrades among the changes, in order. */
  upgradesIn(changes: readonly StoredChange[]): UpgradeLook[] {
    return changes.flatMap(({ kind, change: { type, after, before } }) =>
      kind.plural === ClusterGroupUpgrade.plural
        ? [{ name: after.name, after: asObject(after.object), before: asObject(before?.object), isDeleted: type === 'DELETED' }]
        : [],
    );
  }

  /** Clusters that came into Placements of upgrades by these changes. */
  enforcementsIn(changes: readonly StoredChange[]): Enforcement[] {
    return changes.flatMap(({ kind, change: { type, after, before } }) => {
      if (kind.plural !== Placement.plural || type === 'DELETED') return [];
      const { metadata, spec } = asObject<Placement>(after.object);
      const { [Label.upgradeName]: upgrade, [Label.forPolicy]: policy } = metadata.labels ?? {};
      if (upgrade === undefined || policy === undefined) return [];
      const known = new Set(selectorValues(asObject<Placement | undefined>(before?.object)?.spec));
      const clusters = selectorValues(spec).filter((cluster) => !known.has(cluster));
      return clusters.length > 0 ? [{ upgrade, policy, clusters }] : [];
    });
  }

  take(changes: readonly StoredChange[]): void {
    for (const { name, after, isDeleted } of this.upgradesIn(changes)) {
      if (isDeleted) this.upgrades.delete(name);
      else this.upgrades.set(name, after);
      this.#noteBegun(after);
      this.#noteForbidden(name, isDeleted ? 'it is gone' : whyForbidden(after, this.now));
    }
    const { events } = this.world.propagator;
    for (; this.#seenEvents < events.length; this.#seenEvents += 1) {
      const event = events[this.#seenEvents];
      if (!event || event.what === 'enforced' || event.what === 'released') continue;
      const key = `${event.policy} ${event.cluster}`;
      const spans = this.#spans.get(key) ?? [];
      this.#spans.set(key, spans);
      spans.push({ state: event.what, from: event.atMs });
    }
  }

  #noteBegun({ metadata, status }: ClusterGroupUpgrade): void {
    const { currentBatchRemediationProgress = {}, currentBatchStartedAt = '' } = status?.status ?? {};
    for (const cluster of Object.keys(currentBatchRemediationProgress)) {
      const key = `${metadata.uid} ${cluster}`;
      if (!this.#begun.has(key)) this.#begun.set(key, Math.min(this.now, Date.parse(currentBatchStartedAt)));
    }
  }

  /** When the batch of a cluster began; undefined: it never was in one. Milliseconds since the epoch. */
  begunAt({ metadata }: ClusterGroupUpgrade, cluster: string): number | undefined {
    return this.#begun.get(`${metadata.uid} ${cluster}`);
  }

  #noteForbidden(name: string, why: string | undefined): void {
    if (why === undefined) this.forbidden.delete(name);
    else if (this.forbidden.get(name)?.why !== why) this.forbidden.set(name, { since: this.now, why });
  }

  /** The policy was taken off the cluster by then, and has not come back since. */
  isOffSince(policy: string, cluster: string, since: number): boolean {
    const last = this.#spans.get(`policies/${policy} ${cluster}`)?.at(-1);
    return last === undefined || (last.state === 'removed' && last.from <= since);
  }

  /** The cluster was seen to comply with the policy at some time from then until now. */
  compliedSince(policy: string, cluster: string, since: number): boolean {
    const spans = this.#spans.get(`policies/${policy} ${cluster}`) ?? [];
    return spans.some(({ state, from }, index) => state === 'Compliant' && (from >= since || (spans[index + 1]?.from ?? Infinity) > since));
  }
}

/** An upgrade whose spec or annotations forbid that anything begins. */
function whyForbidden({ metadata, spec, status }: ClusterGroupUpgrade, now: number): string | undefined {
  if (metadata.deletionTimestamp) return 'it is being deleted';
  if (metadata.annotations?.[Annotation.paused]) return 'it is paused';
  const opens = metadata.annotations?.[Annotation.windowStart];
  if (opens !== undefined && Date.parse(opens) > now) return 'its window has not opened';
  if (spec?.enable === false && status?.status.startedAt === undefined) return 'it is not enabled';
  return undefined;
}

/** Verdict of an upgrade. */
export const verdictOf = ({ status }: ClusterGroupUpgrade) => findCondition(status?.conditions, 'Succeeded');
