/** Removes the pins of ended upgrades from spokes that are marked for it; the upgrade itself may be gone. */
import { findCondition, type KubeObject, Label } from '@flotilla/api';
import { CLUSTER_AVAILABLE, ManagedCluster } from '@flotilla/api/ocm';
import { cutInMiddle } from '@flotilla/api/ran';
import { findHold, identityOf, type UpgradeIdentity } from '@flotilla/rollout';
import { type Change, type EventRecorder, type EventToRecord, eventSubject, type Logger, watch } from '@flotilla/runtime';
import { BY_UID, PINS_WORK, type SpokeJobCaches, spokeKey } from '../../../../caches.ts';
import { hubObjectsOf, objectsIn } from '../../../../lookups.ts';
import { describeWrites, type Write } from '../../../../writes/apply.ts';
import { HELD_AFTER_MS, labelled } from '../../../leftovers.ts';
import { keyOf, keyText, type PartPlan, type SpokeKey, type SpokePart } from '../../../part.ts';
import { findDenial, hasClusterChanged } from '../../../transports/cluster.ts';
import { SpokePlan, type SpokeReach } from '../../../transports/port/port.ts';
import { type ApplyPlanDeps, applySpokePlan, reachSpoke } from '../../../transports/reach.ts';
import type { Claims } from '../../claims.ts';
import { contextOf } from '../../observe.ts';
import { planStep } from '../../plan.ts';
import { createUnpinJob, type PinsSettings, type UnpinJob } from './job.ts';
import { markPatch, type OwedPins, owedPins } from './mark.ts';

/** Jobs that are tried for one mark: the first may meet what the upgrade's own clean-up has not removed yet. */
const MOST_TRIES = 3;

/** One spoke, and the pins of one ended upgrade. */
export interface ObservedPins {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly managed: ManagedCluster | undefined;
  /** Undefined when its pins are not owed, or not any more. */
  readonly owed: OwedPins | undefined;
  readonly reach: SpokeReach;
  /** The hub has objects of the job. */
  readonly hasBegun: boolean;
  /** The hub lets the cluster in, nobody holds it, and its agent answers. */
  readonly isThere: boolean;
  /** Since when its agent answers, milliseconds since the epoch. */
  readonly thereSince: number;
  /** The hub still has objects of the same upgrade's pre-caching there. */
  readonly isPrecached: boolean;
}

/** Missing writes for the pins of one upgrade on one spoke. */
interface PinsPlan {
  readonly writes: readonly Write[];
  /** Milliseconds since the epoch. */
  readonly at?: number | undefined;
  /** No other upgrade may work on the spoke meanwhile. */
  readonly holds: boolean;
  /** Reason for which pins may be left on the spoke; the mark goes all the same. */
  readonly failure?: string | undefined;
}

/**
 * Goes on from what is observed alone, from the beginning each time. A verdict takes the mark away, and the next plan cleans up; a failure leaves it for
 * another try.
 * @param isFree no other upgrade works on the spoke
 */
export function planPins(
  observed: ObservedPins,
  job: UnpinJob,
  { isFree, now }: { readonly isFree: boolean; readonly now: number },
): PinsPlan {
  const { upgrade, cluster, managed, owed, reach, hasBegun, isThere, isPrecached, thereSince } = observed;
  const { workload, context } = contextOf(job, { uid: upgrade.uid, inputs: owed, clusters: 1 }, { cluster, managed, now });
  const task = { job, upgrade, cluster, workload, digest: context.digest };
  if (!managed) {
    const plan = new SpokePlan(now);
    reach.effects(task, '', plan).drop();
    return { writes: plan.writes, holds: false };
  }
  if (!isThere && !hasBegun) return { writes: [], holds: false };
  if (!isFree || isPrecached) return { writes: [], at: now + HELD_AFTER_MS, holds: hasBegun };
  const mark = (next: OwedPins | null, failure?: string) => ({ writes: [markPatch(managed, upgrade.uid, next)], holds: true, failure });
  if (owed?.isCleaning && !hasBegun) return mark({ ...owed, isCleaning: false });
  const isStopping = !owed || owed.isCleaning;
  // The time of an absence does not count.
  const since = reach.spoke.since === undefined ? now : Math.max(reach.spoke.since, thereSince);
  const deadlineAt = reach.spoke.available ? since + workload.patienceMs : Number.POSITIVE_INFINITY;
  const begun = { current: 'PreparingToStart', stored: 'PreparingToStart' } as const;
  const step = planStep(task, begun, reach, { ...context, deadlineAt, isStopping });
  if (isStopping || !job.machine.isFinal(step.state)) return { writes: step.writes, at: step.at, holds: true };
  const failure = step.state === 'Succeeded' ? undefined : (step.message ?? step.state);
  const failures = owed.failures + 1;
  return failure !== undefined && failures < MOST_TRIES ? mark({ ...owed, failures, isCleaning: true }) : mark(null, failure);
}

/** Dependencies of `Unpinning`. */
interface UnpinningDeps extends Omit<ApplyPlanDeps, 'signal'> {
  readonly caches: SpokeJobCaches;
  readonly settings: PinsSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Claims of upgrades to spokes: those of pre-caching, which has the same place on a spoke. */
  readonly claims: { readonly claim: Claims['claim']; release(...claim: Parameters<Claims['release']>): unknown };
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}

/** Milliseconds in which a spoke whose objects are gone is released. */
const RELEASE_MS = 1_000;

/** The removal of pins as a part of what upgrades do on their spokes. */
export class Unpinning implements SpokePart {
  readonly name = 'pins';
  readonly watches: SpokePart['watches'];
  readonly #deps: UnpinningDeps;
  readonly #job: UnpinJob;
  /** Keys with something to do, as last seen: their cluster is released once, when all is over. */
  readonly #open = new Set<string>();

  constructor(deps: UnpinningDeps) {
    this.#deps = deps;
    this.#job = createUnpinJob(deps.settings);
    this.watches = watchesOf(deps.caches);
  }

  /** Plans what is left to do for a spoke. */
  plan(key: SpokeKey): PartPlan {
    const { claims, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const observed = this.#observe(key);
    if (observed.owed === undefined && !observed.hasBegun) {
      if (this.#open.delete(keyText(key))) claims.release(uid, cluster, 'pins');
      return { writes: '' };
    }
    this.#open.add(keyText(key));
    const isFree = claims.claim(uid, cluster, 'pins') === undefined;
    const plan = planPins(observed, this.#job, { isFree, now: now() });
    if (isFree && !plan.holds) claims.release(uid, cluster, 'pins');
    const apply = (signal: AbortSignal) => this.#apply(observed, plan, signal);
    return { writes: describeWrites(plan.writes), at: plan.at, yields: true, apply };
  }

  async #apply({ upgrade, cluster, managed }: ObservedPins, plan: ReturnType<typeof planPins>, signal: AbortSignal): Promise<void> {
    const { client, caches, recorder, logger } = this.#deps;
    await applySpokePlan(plan, { job: this.#job, upgrade }, { client, caches, signal });
    if (plan.failure === undefined || !managed) return;
    logger.warn({ managedCluster: cluster, upgradeUid: upgrade.uid, reason: plan.failure }, 'Removing pins failed');
    recorder.record(pinsLeftEvent(managed, upgrade.uid, plan.failure));
  }

  #observe({ upgrade: uid, cluster }: SpokeKey): ObservedPins {
    const { caches, now } = this.#deps;
    const at = now();
    const managed = caches.clusters.get({ name: cluster });
    const reach = reachSpoke(caches, { job: this.#job, upgradeUid: uid, cluster, transport: this.#job.transport, now: at });
    const objectsFor = (work: string): KubeObject[] => Object.values(hubObjectsOf(caches, spokeKey(work, uid, cluster))).flat();
    const objects = objectsFor(PINS_WORK);
    const [stored] = caches.upgrades.byIndex(BY_UID, uid);
    const changedAt = Date.parse(findCondition(managed?.status?.conditions, CLUSTER_AVAILABLE)?.lastTransitionTime ?? '') || 0;
    return {
      upgrade: stored ? identityOf(stored) : { ...labelled(objects[0]), uid },
      cluster,
      managed,
      owed: owedPins(managed).get(uid),
      reach,
      hasBegun: objects.length > 0,
      isThere: reach.spoke.available && (findDenial(managed) ?? findHold(managed)) === undefined,
      thereSince: Math.min(changedAt, at),
      isPrecached: objectsFor('precache').length > 0,
    };
  }
}

/** A cluster's keys are found by its marks, and by what the hub has of the job. Pre-caching holds a spoke, and so do the pins of another upgrade. */
function watchesOf(caches: SpokeJobCaches): SpokePart['watches'] {
  const keysOf = (cluster: string) =>
    new Set([
      ...[...owedPins(caches.clusters.get({ name: cluster })).keys()].map((upgrade) => keyText({ upgrade, cluster })),
      ...objectsIn(caches, PINS_WORK, cluster).map(keyOf),
    ]);
  const isOf = (work: string, { metadata }: KubeObject) => metadata.labels?.[Label.work] === work;
  return [
    watch(caches.clusters, { select: hasClusterChanged, enqueue: ({ object }) => keysOf(object.metadata.name) }),
    ...[caches.views, caches.actions, caches.works].flatMap((cache) => [
      watch(cache, { select: ({ object }: Change<KubeObject>) => isOf(PINS_WORK, object), enqueue: ({ object }) => [keyOf(object)] }),
      watch(cache, {
        select: ({ type, object }: Change<KubeObject>) => type === 'deleted' && (isOf('precache', object) || isOf(PINS_WORK, object)),
        enqueue: ({ object }) => keysOf(object.metadata.namespace ?? ''),
        gatherMs: RELEASE_MS,
      }),
    ]),
  ];
}

/** Longest reason in the event, in characters. */
const MAX_WHY = 512;

/** Builds the event about pins that may be left: the upgrade that has ended has no status for it. */
function pinsLeftEvent(cluster: ManagedCluster, upgradeUid: string, failure: string): EventToRecord {
  return {
    type: 'Warning',
    reason: 'PinsLeft',
    action: 'RemovingPins',
    note: `Pins of the ended upgrade ${upgradeUid} may be left on ${cluster.metadata.name}: ${cutInMiddle(failure, MAX_WHY)}; they count for nothing after seven days, when the next pull on a node removes them`,
    regarding: eventSubject(ManagedCluster, cluster),
  };
}
