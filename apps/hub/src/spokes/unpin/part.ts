/** Removes the pins of ended upgrades from spokes that are marked for it; the upgrade itself may be gone. */
import { isSameJson, type KubeObject, Label } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import { isAvailable } from '@flotilla/rollout';
import { type Change, type EventRecorder, type Logger, watch } from '@flotilla/runtime';
import { BY_WORK_AND_CLUSTER, type SpokeJobCaches } from '../../caches.ts';
import { describeWrites } from '../../writes/apply.ts';
import type { PartPlan, SpokePart } from '../part.ts';
import { keyText, type SpokeKey } from '../spoke-key.ts';
import { type ApplyPlanDeps, applySpokePlan } from '../transports/port/apply.ts';
import { type PinsSettings, pinsJob } from './job.ts';
import { isOver, observePins, owedPins } from './observe.ts';
import { planPins, taskOf } from './plan.ts';
import { pinsLeftEvent } from './status.ts';

/** Dependencies of `Unpinning`. */
interface UnpinningDeps extends Omit<ApplyPlanDeps, 'signal'> {
  readonly caches: SpokeJobCaches;
  readonly settings: PinsSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Claims of upgrades to spokes: those of pre-caching, which has the same place on a spoke. */
  readonly claims: {
    /** Claims a cluster, or returns the upgrade that holds it. */
    claim(uid: string, cluster: string, purpose: 'pins'): unknown;
    /** Releases the claim. */
    release(uid: string, cluster: string, purpose: 'pins'): void;
  };
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
}

/** Milliseconds in which a spoke whose objects are gone is released. */
const RELEASE_MS = 1_000;

/** The removal of pins as a part of what upgrades do on their spokes. */
export class Unpinning implements SpokePart {
  readonly name = 'pins';
  readonly watches: SpokePart['watches'];
  readonly leaderAlone = true;
  readonly #deps: UnpinningDeps;
  /** Keys with something to do, as last seen: their cluster is released once, when all is over. */
  readonly #open = new Set<string>();

  constructor(deps: UnpinningDeps) {
    this.#deps = deps;
    this.watches = watchesOf(deps.caches);
  }

  /** Plans what is left to do for a spoke. */
  plan(key: SpokeKey): PartPlan {
    const { claims, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const observed = this.#observe(key);
    if (isOver(observed)) {
      if (this.#open.delete(keyText(key))) claims.release(uid, cluster, 'pins');
      return { writes: '' };
    }
    this.#open.add(keyText(key));
    const isFree = claims.claim(uid, cluster, 'pins') === undefined;
    const plan = planPins(observed, taskOf(observed, this.#deps.settings), { isFree, now: now() });
    if (isFree && !plan.holds) claims.release(uid, cluster, 'pins');
    return { writes: describeWrites(plan.writes), at: plan.requeueAt, yields: true };
  }

  readonly step: SpokePart['step'] = async (key, signal) => {
    const { client, caches, claims, settings, recorder, logger, now } = this.#deps;
    const { upgrade: uid, cluster } = key;
    const observed = this.#observe(key);
    if (isOver(observed)) return false;
    const task = taskOf(observed, settings);
    const plan = planPins(observed, task, { isFree: claims.claim(uid, cluster, 'pins') === undefined, now: now() });
    await applySpokePlan(plan, task, { client, caches, signal });
    if (plan.failure !== undefined && observed.managed) {
      logger.warn({ managedCluster: cluster, upgradeUid: uid, reason: plan.failure }, 'Removing pins failed');
      recorder.record(pinsLeftEvent(observed.managed, observed.upgrade, plan.failure));
    }
    return plan.writes.length > 0;
  };

  #observe({ upgrade: uid, cluster }: SpokeKey) {
    const { caches, settings, now } = this.#deps;
    return observePins({ uid, cluster }, caches, { ...settings, now: now() });
  }
}

function watchesOf(caches: SpokeJobCaches): SpokePart['watches'] {
  const ofThisJob = {
    select: ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === pinsJob.work,
    enqueue: ({ object: { metadata } }: Change<KubeObject>) => [
      keyText({ upgrade: metadata.labels?.[Label.upgradeUid] ?? '', cluster: metadata.namespace ?? '' }),
    ],
  };
  // Pre-caching holds a spoke, and so do the pins of another upgrade.
  const goneFromSpoke = {
    select: ({ type, object }: Change<KubeObject>) =>
      type === 'deleted' && ['precache', pinsJob.work].includes(object.metadata.labels?.[Label.work] ?? ''),
    enqueue: ({ object }: Change<KubeObject>) => keysOf(object.metadata.namespace ?? '', caches),
    gatherMs: RELEASE_MS,
  };
  return [
    watch(caches.clusters, { select: concernsPins, enqueue: ({ object }) => keysOf(object.metadata.name, caches) }),
    ...[caches.views, caches.actions, caches.works].flatMap((cache) => [
      watch<KubeObject>(cache, ofThisJob),
      watch<KubeObject>(cache, goneFromSpoke),
    ]),
  ];
}

/** Keys of a cluster: by its marks, and by what the hub has of the job. */
function keysOf(cluster: string, caches: SpokeJobCaches): Set<string> {
  const place = `${pinsJob.work}/${cluster}`;
  const objects = [caches.views, caches.actions, caches.works].flatMap((cache) =>
    cache.byIndex(BY_WORK_AND_CLUSTER, place).map(({ metadata }) => metadata.labels?.[Label.upgradeUid] ?? ''),
  );
  return new Set([...owedPins(caches.clusters.get({ name: cluster })).keys(), ...objects].map((upgrade) => keyText({ upgrade, cluster })));
}

const concernsPins = ({ type, object, previous }: Change<ManagedCluster>): boolean =>
  type === 'deleted' ||
  isAvailable(object) !== isAvailable(previous) ||
  !isSameJson(object.metadata.annotations, previous?.metadata.annotations) ||
  object.spec?.hubAcceptsClient !== previous?.spec?.hubAcceptsClient;
