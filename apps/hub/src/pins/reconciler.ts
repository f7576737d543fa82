/** Removes pins of ended upgrades from the spokes that are marked, also from those that were away. The upgrade itself may be gone. */
import { isSameJson, type KubeObject, Label } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { isAvailable } from '@flotilla/rollout';
import {
  type Change,
  type Clock,
  type EventRecorder,
  eventSubject,
  type Logger,
  type Metrics,
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  startReconciler,
  troubleEvents,
  watch,
} from '@flotilla/runtime';
import type { ApplyPlanDeps } from '../spokes/port/apply.ts';
import { BY_WORK_AND_CLUSTER, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { applyPins } from './apply.ts';
import { type PinsSettings, pinsJob } from './job.ts';
import { isOver, observePins, owedPins } from './observe.ts';
import { planPins, taskOf } from './plan.ts';
import { pinsLeftEvent } from './status.ts';

/** Dependencies of `startPins`. */
interface PinsDeps extends Omit<ApplyPlanDeps, 'signal'> {
  readonly caches: SpokeJobCaches;
  readonly settings: PinsSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Claims of upgrades to spokes: those of pre-caching, which has the same place on a spoke. */
  readonly jobs: {
    /** Claims a cluster, or returns the upgrade that holds it. */
    claim(uid: string, cluster: string, purpose: 'pins'): unknown;
    /** Releases the claim. */
    release(uid: string, cluster: string, purpose: 'pins'): void;
  };
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock?: Clock;
}

/** Spokes that are worked on at the same time: an upgrade may have ended on a whole fleet, and rollouts go first. */
const CONCURRENCY = 4;
/** Milliseconds in which a spoke whose objects are gone is released. */
const RELEASE_MS = 1_000;

/** Removes pins until the signal aborts. */
export function startPins(deps: PinsDeps, signal: AbortSignal): Reconciler {
  const { caches, recorder, logger, metrics, clock } = deps;
  const ofThisJob = {
    select: ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === pinsJob.work,
    enqueue: ({ object: { metadata } }: Change<KubeObject>) => [`${metadata.labels?.[Label.upgradeUid]}/${metadata.namespace}`],
  };
  // Pre-caching holds a spoke, and so do the pins of another upgrade.
  const goneFromSpoke = {
    select: ({ type, object }: Change<KubeObject>) =>
      type === 'deleted' && ['precache', pinsJob.work].includes(object.metadata.labels?.[Label.work] ?? ''),
    enqueue: ({ object }: Change<KubeObject>) => keysOf(object.metadata.namespace ?? '', caches),
    gatherMs: RELEASE_MS,
  };
  const objects = [caches.views, caches.actions, caches.works];
  return startReconciler({
    name: 'pins',
    for: watch(caches.clusters, { select: concernsPins, enqueue: ({ object }) => keysOf(object.metadata.name, caches) }),
    watches: objects.flatMap((cache) => [watch<KubeObject>(cache, ofThisJob), watch<KubeObject>(cache, goneFromSpoke)]),
    concurrency: CONCURRENCY,
    reconcile: (key, context) => reconcile(key, context, { ...deps, signal }),
    onTrouble: troubleEvents(recorder, (key) => eventSubject(ManagedCluster, caches.clusters.get({ name: key.split('/')[1] ?? '' }))),
    logger,
    signal,
    metrics,
    clock,
  });
}

/** @param key `upgradeUid/cluster` */
async function reconcile(key: string, { logger }: ReconcileContext, deps: PinsDeps & ApplyPlanDeps): Promise<ReconcileResult> {
  const { jobs, settings, recorder } = deps;
  const [uid = '', cluster = ''] = key.split('/');
  const now = deps.now();
  const observed = observePins({ uid, cluster }, deps.caches, { ...settings, now });
  if (isOver(observed)) {
    jobs.release(uid, cluster, 'pins');
    return {};
  }
  const task = taskOf(observed, settings);
  const isFree = jobs.claim(uid, cluster, 'pins') === undefined;
  const plan = planPins(observed, task, { isFree, now });
  if (isFree && !plan.holds) jobs.release(uid, cluster, 'pins');
  await applyPins(plan, task, deps);
  if (plan.failure !== undefined && observed.managed) {
    logger.warn({ managedCluster: cluster, upgradeUid: uid, reason: plan.failure }, 'Removing pins failed');
    recorder.record(pinsLeftEvent(observed.managed, observed.upgrade, plan.failure));
  }
  return plan.requeueAt === undefined ? {} : { requeueAfterMs: Math.max(plan.requeueAt - now, 0) };
}

/** Keys of a cluster: by its marks, and by what the hub has of the job. */
function keysOf(name: string, caches: SpokeJobCaches): Set<string> {
  const place = `${pinsJob.work}/${name}`;
  const objects = [caches.views, caches.actions, caches.works].flatMap((cache) =>
    cache.byIndex(BY_WORK_AND_CLUSTER, place).map(({ metadata }) => metadata.labels?.[Label.upgradeUid] ?? ''),
  );
  return new Set([...owedPins(caches.clusters.get({ name })).keys(), ...objects].map((uid) => `${uid}/${name}`));
}

const concernsPins = ({ type, object, previous }: Change<ManagedCluster>): boolean =>
  type === 'deleted' ||
  isAvailable(object) !== isAvailable(previous) ||
  !isSameJson(object.metadata.annotations, previous?.metadata.annotations) ||
  object.spec?.hubAcceptsClient !== previous?.spec?.hubAcceptsClient;
