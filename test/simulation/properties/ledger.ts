import { Annotation, findCondition, Label, perObject } from '@flotilla/api';
import { ManagedCluster, ManifestWork, Placement } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, type ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { selectorValues } from '../../fixtures/placed-policies.ts';
import { isTemplateDone, templateOf } from '../../fixtures/work-templates.ts';
import { expectedOf } from '../core/operator-acts.ts';
import { skewOf } from '../core/story.ts';
import type { StoredChange, World } from '../core/world.ts';

/** An upgrade as it is stored, and what came before. */
interface UpgradeLook {
  readonly name: string;
  readonly before: ClusterGroupUpgrade | undefined;
  readonly after: ClusterGroupUpgrade;
  readonly isDeleted: boolean;
}

/** Clusters that came into a Placement of an upgrade, or got a work of it. */
interface Enforcement {
  readonly upgrade: string;
  /** Policy, or name of the work. */
  readonly by: string;
  readonly clusters: readonly string[];
}

/** Times in milliseconds since the epoch at which a cluster answered to a policy like this. */
interface Span {
  readonly state: string;
  readonly from: number;
}

const asObject = <T>(object: unknown): T => object as T;

/** Time that what was late takes to come, in milliseconds. */
const AFTERMATH_MS = 120_000;
/** Hours that come again, as stories have them, are its first half. */
const HALF_HOUR_MS = 30 * 60_000;
/** Time before a story begins, in milliseconds. */
const SET_UP_MS = 5_000;

/** What happened, as it can be seen from outside of the hub: in the store, on the clusters, by the framework. */
export class Ledger {
  readonly world: World;
  readonly upgrades = new Map<string, ClusterGroupUpgrade>();
  /** The clusters of the hub by their names. */
  readonly clusters = new Map<string, ManagedCluster>();
  /** Last time at which the effects of an upgrade were forbidden by its spec or its annotations, and why; absent while they are allowed. */
  readonly forbidden = new Map<string, { readonly since: number; readonly why: string }>();
  /** Upgrades that are gone, as they were last: one that is restored goes on from there. */
  readonly #gone = new Map<string, ClusterGroupUpgrade>();
  /** Milliseconds since the epoch at which somebody asked for an upgrade; one that is restored was asked for before. */
  readonly #askedAt = new Map<string, number>();
  /** When a cluster was first under way in an upgrade, by both names, and the start of that upgrade. */
  readonly #begun = new Map<string, { readonly batchAt: number; readonly seenAt: number; readonly startedAt: string | undefined }>();
  /** Clusters that have left at some time: whoever comes back under the name is another, and nothing is known of it. */
  readonly hasLeft = new Set<string>();
  /** Since when clusters are held, milliseconds since the epoch. */
  readonly heldSince = new Map<string, number>();
  /** Hours of clusters, and since when they have them; milliseconds since the epoch. */
  readonly #hours = new Map<string, { readonly since: number; readonly says: string; readonly isOpen: (time: number) => boolean }>();
  /** Upgrades that were enabled when they started, by uid. */
  readonly #enabled = new Set<string>();
  readonly #doneWorks = new Set<string>();
  readonly #spans = new Map<string, Span[]>();
  /** Enforcements by the framework in the changes at hand. */
  enforced: readonly { readonly policy: string; readonly cluster: string }[] = [];
  /** When the label by which Placements find a cluster became another's; milliseconds since the epoch. */
  readonly mislabelledSince = new Map<string, number>();
  #seenEvents = 0;
  /** Milliseconds by which the clocks of hubs were put ahead in all. */
  readonly skewMs: number;
  /** Upgrades among the changes at hand: every property asks for them. */
  #looks: { readonly of: readonly StoredChange[]; readonly looks: readonly UpgradeLook[] } | undefined;

  constructor(world: World) {
    this.world = world;
    this.skewMs = world.story.acts.reduce((sum, act) => sum + (act.what === 'skew hub' ? skewOf(act.ms) : 0), 0);
  }

  /**
   * Milliseconds after a no, which was said then, during which what was under way may still take effect: a call that timed out may be sent after
   * one that did too, where calls have mishaps, watches lag or a hub sleeps.
   */
  graceMs(since: number): number {
    return this.isTroubled(since) ? 300_000 : 15_000;
  }

  /** News may be late: something kept them from then until now. */
  isTroubled(since: number): boolean {
    const { storms, acts } = this.world.story;
    const [from, to] = [since - this.begunMs - AFTERMATH_MS, this.now - this.begunMs];
    const isWithin = (begins: number, ends: number): boolean => begins <= to && ends >= from;
    return (
      storms.some((storm) => isWithin(storm.from, storm.until)) ||
      acts.some((act) => 'ms' in act && act.what !== 'end watches' && isWithin(act.at, act.at + act.ms))
    );
  }

  /** Start of the story in milliseconds since the epoch. */
  get begunMs(): number {
    return this.now - this.world.ms + SET_UP_MS;
  }

  get now(): number {
    return this.world.scheduler.now();
  }

  /** Upgrades among the changes, in order. */
  upgradesIn(changes: readonly StoredChange[]): readonly UpgradeLook[] {
    if (this.#looks?.of !== changes) this.#looks = { of: changes, looks: this.#looksAt(changes) };
    return this.#looks.looks;
  }

  #looksAt(changes: readonly StoredChange[]): UpgradeLook[] {
    return changes.flatMap(({ kind, change: { type, after, before } }) =>
      kind.plural === ClusterGroupUpgrade.plural
        ? [
            {
              name: after.name,
              after: asObject(after.object),
              before: this.#lastWithStatus(asObject(after.object), asObject(before?.object)),
              isDeleted: type === 'DELETED',
            },
          ]
        : [],
    );
  }

  /** The object before a change; the one that was lost where its status comes back. */
  #lastWithStatus(after: ClusterGroupUpgrade, before: ClusterGroupUpgrade | undefined): ClusterGroupUpgrade | undefined {
    const gone = this.#gone.get(after.metadata.name ?? '');
    // One that ended before its start tells itself from one that begins anew by its end alone.
    const isBack = gone && before?.status?.status.startedAt === undefined && isSameStart(gone, after) && isSameEnd(gone, after);
    return isBack ? gone : before;
  }

  /** The upgrade is one that had begun and was lost, and the status that says so has not come back. Since when, in milliseconds since the epoch. */
  lacksStatusSince(name: string): number | undefined {
    const gone = this.#gone.get(name);
    const restored = this.upgrades.get(name);
    if (gone?.status?.status.startedAt === undefined || !restored || isSameStart(gone, restored)) return undefined;
    return Date.parse(restored.metadata.creationTimestamp ?? '');
  }

  /** The upgrade by which clusters are begun now: what was sent before its status was lost may arrive after it. */
  senderOf(name: string): ClusterGroupUpgrade | undefined {
    const since = this.lacksStatusSince(name);
    const isLate = since !== undefined && this.now - since <= this.graceMs(since);
    return isLate ? this.#gone.get(name) : this.upgrades.get(name);
  }

  /** Milliseconds since the epoch at which somebody asked for an upgrade. */
  askedAt(name: string): number {
    return this.#askedAt.get(name) ?? this.now;
  }

  /** Clusters that upgrades have begun, or taken on, by these changes. */
  readonly enforcementsIn = perObject(enforcementsIn);

  take(changes: readonly StoredChange[]): void {
    for (const { name, after, isDeleted } of this.upgradesIn(changes)) {
      if (isDeleted) {
        this.upgrades.delete(name);
        this.#gone.set(name, after);
      } else this.upgrades.set(name, after);
      if (!this.#askedAt.has(name)) this.#askedAt.set(name, this.now);
      this.#noteBegun(after);
      const { uid = '' } = after.metadata;
      // What is asked of the spec later does not stop what has begun.
      if (after.status?.status.startedAt !== undefined && after.spec?.enable !== false) this.#enabled.add(uid);
      this.#noteForbidden(name, isDeleted ? 'it is gone' : whyForbidden(after, this.now + this.skewMs, this.#enabled.has(uid)));
    }
    for (const { kind, change } of changes) {
      if (kind.plural !== ManagedCluster.plural) continue;
      if (change.type === 'DELETED') this.clusters.delete(change.after.name);
      else this.clusters.set(change.after.name, asObject(change.after.object));
      this.#noteHeld(asObject(change.after.object));
      this.#noteHours(asObject(change.after.object));
      this.#noteLabel(asObject(change.after.object));
      if (change.type === 'DELETED') this.hasLeft.add(change.after.name);
    }
    for (const { kind, change } of changes) if (kind.plural === ManifestWork.plural) this.#noteWork(asObject(change.after.object));
    const { events } = this.world.propagator;
    this.enforced = events.slice(this.#seenEvents).filter(({ what }) => what === 'enforced');
    for (; this.#seenEvents < events.length; this.#seenEvents += 1) {
      const event = events[this.#seenEvents];
      if (!event || event.what === 'enforced' || event.what === 'released') continue;
      const key = `${event.policy} ${event.cluster}`;
      const spans = this.#spans.get(key) ?? [];
      this.#spans.set(key, spans);
      spans.push({ state: event.what, from: event.atMs });
    }
    // One that is gone now may be what came before.
    this.#looks = undefined;
  }

  #noteBegun({ metadata, status }: ClusterGroupUpgrade): void {
    const { currentBatchRemediationProgress = {}, currentBatchStartedAt = '', startedAt } = status?.status ?? {};
    for (const cluster of Object.keys(currentBatchRemediationProgress)) {
      const key = `${metadata.name} ${cluster}`;
      const batchAt = Math.min(this.now, Date.parse(currentBatchStartedAt));
      // One that was restored without its status begins anew.
      if (this.#begun.get(key)?.startedAt !== startedAt) this.#begun.set(key, { batchAt, seenAt: this.now, startedAt });
    }
  }

  /** When the batch of a cluster began; undefined: it never was in one. Milliseconds since the epoch. */
  begunAt({ metadata }: ClusterGroupUpgrade, cluster: string): number | undefined {
    return this.#begun.get(`${metadata.name} ${cluster}`)?.batchAt;
  }

  /** When the status first said that a cluster is under way, or was done already; milliseconds since the epoch. */
  underWaySince({ metadata }: ClusterGroupUpgrade, cluster: string): number | undefined {
    return this.#begun.get(`${metadata.name} ${cluster}`)?.seenAt;
  }

  #noteWork(work: ManifestWork): void {
    if (!isTemplateDone(work, expectedOf(this.world, templateOf(work.metadata.name)))) return;
    for (const { upgrade, by, clusters } of workOf(work)) this.#doneWorks.add(`${upgrade} ${templateOf(by)} ${clusters.join()}`);
  }

  /** The upgrade's work of a template was seen done on a cluster. */
  isWorkDone(upgrade: string, template: string, cluster: string): boolean {
    return this.#doneWorks.has(`${upgrade} ${template} ${cluster}`);
  }

  #noteHeld({ metadata: { name, annotations } }: ManagedCluster): void {
    if (annotations?.[Annotation.hold] === undefined) this.heldSince.delete(name);
    else if (!this.heldSince.has(name)) this.heldSince.set(name, this.now);
  }

  #noteHours({ metadata: { name, annotations = {} } }: ManagedCluster): void {
    const start = annotations[Annotation.windowStart];
    const recurs = annotations[Annotation.windowSchedule] !== undefined;
    if (start === undefined && !recurs) return void this.#hours.delete(name);
    const says = start ?? 'recurring';
    if (this.#hours.get(name)?.says === says) return;
    const isOpen = (time: number): boolean => (start === undefined ? time % HALF_HOUR_MS < HALF_HOUR_MS / 2 : time >= Date.parse(start));
    this.#hours.set(name, { since: this.now, says, isOpen });
  }

  /** The cluster is outside its hours for longer than news may take, and would be for a clock that is ahead. */
  isOutOfHours(cluster: string): boolean {
    const hours = this.#hours.get(cluster);
    if (!hours) return false;
    const graceMs = this.graceMs(hours.since);
    return this.now - hours.since > graceMs && [-graceMs, 0, this.skewMs].every((ms) => !hours.isOpen(this.now + ms));
  }

  #noteLabel({ metadata: { name, labels } }: ManagedCluster): void {
    if (labels?.name === undefined || labels.name === name) this.mislabelledSince.delete(name);
    else if (!this.mislabelledSince.has(name)) this.mislabelledSince.set(name, this.now);
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

  /** Longest time for which the cluster has complied with the policy without a break, in milliseconds. */
  longestMs(policy: string, cluster: string): number {
    const spans = this.#spans.get(`policies/${policy} ${cluster}`) ?? [];
    const lengths = spans.map(({ state, from }, index) => (state === 'Compliant' ? (spans[index + 1]?.from ?? this.now) - from : 0));
    return Math.max(0, ...lengths);
  }

  /** The cluster was seen to comply with the policy at some time from then until now. */
  compliedSince(policy: string, cluster: string, since: number): boolean {
    const spans = this.#spans.get(`policies/${policy} ${cluster}`) ?? [];
    return spans.some(({ state, from }, index) => state === 'Compliant' && (from >= since || (spans[index + 1]?.from ?? Infinity) > since));
  }
}

const isSameStart = (one: ClusterGroupUpgrade, other: ClusterGroupUpgrade): boolean =>
  one.status?.status.startedAt === other.status?.status.startedAt;

const isSameEnd = (one: ClusterGroupUpgrade, other: ClusterGroupUpgrade): boolean =>
  one.status?.status.startedAt !== undefined || one.status?.status.completedAt === other.status?.status.completedAt;

function enforcementsIn(changes: readonly StoredChange[]): readonly Enforcement[] {
  return changes.flatMap(({ kind, change: { type, after, before } }) => {
    if (kind.plural === ManifestWork.plural && type === 'ADDED') return workOf(asObject(after.object));
    if (kind.plural !== Placement.plural || type === 'DELETED') return [];
    const { metadata, spec } = asObject<Placement>(after.object);
    const { [Label.upgradeName]: upgrade, [Label.forPolicy]: policy } = metadata.labels ?? {};
    if (upgrade === undefined || policy === undefined) return [];
    const known = new Set(selectorValues(asObject<Placement | undefined>(before?.object)?.spec));
    const clusters = selectorValues(spec).filter((cluster) => !known.has(cluster));
    return clusters.length > 0 ? [{ upgrade, by: policy, clusters }] : [];
  });
}

/** The upgrade that a work belongs to, unless it carries a job. */
function workOf({ metadata }: ManifestWork): Enforcement[] {
  const { [Label.upgradeName]: upgrade, [Label.work]: job } = metadata.labels ?? {};
  const isRollout = upgrade !== undefined && job === 'rollout';
  return isRollout ? [{ upgrade, by: metadata.name, clusters: [metadata.namespace ?? ''] }] : [];
}

/** An upgrade whose spec or annotations forbid that anything begins. */
function whyForbidden({ metadata, spec }: ClusterGroupUpgrade, now: number, isEnabled: boolean): string | undefined {
  if (metadata.deletionTimestamp) return 'it is being deleted';
  if (metadata.annotations?.[Annotation.paused]) return 'it is paused';
  const opens = metadata.annotations?.[Annotation.windowStart];
  if (opens !== undefined && Date.parse(opens) > now) return 'its window has not opened';
  if (spec?.enable === false && !isEnabled) return 'it is not enabled';
  return undefined;
}

/** Clusters that are under way in the last batch, among them those that complied once and do not any more. */
export function clustersAgain({ remediationPlan = [], status }: ClusterGroupUpgradeStatus): string[] {
  return status.currentBatch === remediationPlan.length ? Object.keys(status.currentBatchRemediationProgress ?? {}) : [];
}

/** Verdict of an upgrade. */
export const verdictOf = ({ status }: ClusterGroupUpgrade) => findCondition(status?.conditions, 'Succeeded');
