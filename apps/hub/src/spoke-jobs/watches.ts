import { type KubeObject, Label } from '@flotilla/api';
import type { ManagedClusterAction } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { isEnding } from '@flotilla/rollout';
import { type Change, type Watch, type WatchCache, watch } from '@flotilla/runtime';
import { hasClusterChanged } from '../spokes/cluster-change.ts';
import { objectsIn, objectsOf, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { keyId } from '../steps/step-key.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { differs } from './observe.ts';
import type { SpokeJobRun } from './run.ts';

/** Number of spokes without a job above which new jobs are watched late: the delay saves work, and a job takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;
/** Time within which the objects of a cleaned spoke go, one event each. */
const DELETIONS_MS = 50;

/** Runs by the uid of their upgrade. */
type Runs<S extends JobState, I> = ReadonlyMap<string, SpokeJobRun<S, I>>;

/** Maps changes of upgrades, clusters and what spokes report to keys of spokes. */
export function watchSpokes<S extends JobState, I>(job: SpokeJob<S, I>, caches: SpokeJobCaches, runs: Runs<S, I>): Watch[] {
  const idsIn = (cluster: string) =>
    new Set([
      ...[...runs.values()].flatMap(({ spokes }) => spokes.get(cluster)?.id ?? []),
      ...objectsIn(caches, job.work, cluster).map((object) => idOf(job, object)),
    ]);
  const decisive: ReadonlySet<string> = new Set(Object.values(job.names.actions));
  const isOurs = ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === job.work;
  // Runs of other upgrades may wait for the name of a deleted object.
  const enqueue = ({ type, object }: Change<KubeObject>) =>
    new Set([idOf(job, object), ...(type === 'deleted' ? idsIn(object.metadata.namespace ?? '') : [])]);
  const ofJob = <T extends KubeObject>(cache: WatchCache<T>, matters: (object: T) => boolean, isLate?: (object: T) => boolean) =>
    watch(cache, {
      select: (change) => isOurs(change) && (change.type === 'deleted' || matters(change.object)),
      enqueue,
      gatherMs(change) {
        if (change.type === 'deleted') return isCleaned(job, runs, change.object) ? DELETIONS_MS : 0;
        return isLate?.(change.object) ? WATCH_DELAY_MS : 0;
      },
      isInitial: false,
    });
  return [
    watch(caches.upgrades, { enqueue: (change) => changedSpokes(job, caches, runs, change) }),
    watch(caches.clusters, { select: hasClusterChanged, enqueue: ({ object }) => idsIn(object.metadata.name), isInitial: false }),
    ofJob(caches.views, ({ status }) => status?.conditions !== undefined),
    ofJob(
      caches.actions,
      (action) => isDecisive(action, decisive),
      (action) => startsManyJobs(job, runs, action),
    ),
    ofJob(caches.works, () => true),
  ];
}

/**
 * Returns keys of spokes whose stored state is another one. Without a run, as after a restart, those with objects may have to be cleaned, and others
 * may wait for those that it holds by its status.
 */
function changedSpokes<S extends JobState, I>(
  job: SpokeJob<S, I>,
  caches: SpokeJobCaches,
  runs: Runs<S, I>,
  { type, object, previous }: Change<ClusterGroupUpgrade>,
): string[] {
  const { uid = '' } = object.metadata;
  const isOther = differs(job, object, previous);
  const run = runs.get(uid);
  // At its end an upgrade lets go of all that its status names.
  if (run && !isEnding(object)) return [...run.spokes.values()].flatMap(({ key, id }) => (isOther(key.cluster) ? [id] : []));
  // At the start nobody waits yet, and stored upgrades may name a hundred thousand spokes.
  const told = type === 'deleted' ? [object] : previous ? [previous, object] : [];
  const named = told.flatMap(({ status }) => Object.keys(job.statesIn(status) ?? {}));
  const clusters = new Set([...named, ...objectsOf(caches, job.work, uid).map(({ metadata }) => metadata.namespace ?? '')]);
  return [...clusters].filter(isOther).map((cluster) => keyId({ kind: job.work, upgrade: uid, cluster }));
}

/** Only actions whose end moves a spoke on count, because the other actions have ended by then. */
function isDecisive({ metadata, status }: ManagedClusterAction, decisive: ReadonlySet<string>): boolean {
  const [condition] = status?.conditions ?? [];
  return condition !== undefined && (condition.status === 'False' || decisive.has(metadata.name));
}

/** Key of the spoke that a hub object is for, as text. */
export const idOf = ({ work }: Pick<SpokeJob<JobState, never>, 'work'>, { metadata: { labels, namespace = '' } }: KubeObject): string =>
  keyId({ kind: work, upgrade: labels?.[Label.upgradeUid] ?? '', cluster: namespace });

/** True for the action that has created the job. */
export const hasBegun = ({ names }: Pick<SpokeJob<JobState, never>, 'names'>, { metadata, status }: ManagedClusterAction): boolean =>
  metadata.name === names.actions.createJob && status?.conditions?.[0]?.status === 'True';

const runOf = <S extends JobState, I>(runs: Runs<S, I>, { metadata: { labels } }: KubeObject) => runs.get(labels?.[Label.upgradeUid] ?? '');

/** A new job has nothing to report yet: while many spokes wait for theirs, its watch can wait. */
function startsManyJobs<S extends JobState, I>(job: SpokeJob<S, I>, runs: Runs<S, I>, action: ManagedClusterAction): boolean {
  const run = runOf(runs, action);
  return run !== undefined && hasBegun(job, action) && run.countBeginning() > MANY_BEGINNING;
}

/** True for one of the many objects that go after the verdict of their spoke. */
function isCleaned<S extends JobState, I>(job: SpokeJob<S, I>, runs: Runs<S, I>, object: KubeObject): boolean {
  const record = runOf(runs, object)?.spokes.get(object.metadata.namespace ?? '');
  return record !== undefined && job.machine.isFinal(record.state);
}
