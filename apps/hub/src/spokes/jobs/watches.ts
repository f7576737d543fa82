import { type KubeObject, Label } from '@flotilla/api';
import type { ManagedClusterAction } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { isEnding } from '@flotilla/rollout';
import { type Change, type Watch, type WatchCache, watch } from '@flotilla/runtime';
import { BY_UID, type SpokeJobCaches } from '../../caches.ts';
import { objectsIn, objectsOf } from '../../lookups.ts';
import { keyOf, keyText } from '../part.ts';
import { hasClusterChanged } from '../transports/cluster.ts';
import { countBeginning, haveAllVerdicts, type JobState, type SpokeJob } from './kind.ts';
import { differs, stateIn } from './observe.ts';

/** Number of spokes without a job above which new jobs are watched late: the delay saves work, and a job takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;
/** Time within which the objects of a cleaned spoke go, one event each. */
const DELETIONS_MS = 50;

/**
 * Maps changes of upgrades, clusters and what spokes report to keys of spokes.
 * @param claimant uid of the upgrade that has claimed a cluster
 */
export function watchSpokes<S extends JobState, I>(
  job: SpokeJob<S, I>,
  caches: SpokeJobCaches,
  claimant: (cluster: string) => string | undefined,
): Watch[] {
  const idsIn = (cluster: string) => {
    const upgrade = claimant(cluster);
    const claimed = upgrade === undefined ? [] : [keyText({ upgrade, cluster })];
    return new Set([...claimed, ...objectsIn(caches, job.work, cluster).map(keyOf), ...begunIn(job, caches, cluster)]);
  };
  const decisive: ReadonlySet<string> = new Set(Object.values(job.names.actions));
  const isOurs = ({ object }: Change<KubeObject>) => object.metadata.labels?.[Label.work] === job.work;
  // Another upgrade may wait for the name of a deleted object.
  const enqueue = ({ type, object }: Change<KubeObject>) =>
    new Set([keyOf(object), ...(type === 'deleted' ? idsIn(object.metadata.namespace ?? '') : [])]);
  const ofJob = <T extends KubeObject>(cache: WatchCache<T>, matters: (object: T) => boolean, isLate?: (object: T) => boolean) =>
    watch(cache, {
      select: (change) => isOurs(change) && (change.type === 'deleted' || matters(change.object)),
      enqueue,
      gatherMs(change) {
        if (change.type === 'deleted') return isCleaned(job, caches, change.object) ? DELETIONS_MS : 0;
        return isLate?.(change.object) ? WATCH_DELAY_MS : 0;
      },
      isInitial: false,
    });
  return [
    watch(caches.upgrades, { enqueue: (change) => changedSpokes(job, caches, change) }),
    watch(caches.clusters, {
      select: hasClusterChanged,
      enqueue: ({ object }) => idsIn(object.metadata.name),
      isInitial: false,
    }),
    ofJob(caches.views, ({ status }) => status?.conditions !== undefined),
    ofJob(
      caches.actions,
      (action) => isDecisive(action, decisive),
      (action) => startsManyJobs(job, caches, action),
    ),
    ofJob(caches.works, () => true),
  ];
}

/** Keys of a cluster whose job has begun by a stored status. */
const begunIn = <S extends JobState, I>(job: SpokeJob<S, I>, { upgrades }: SpokeJobCaches, cluster: string): string[] =>
  upgrades.list().flatMap((upgrade) => {
    const state = stateIn(job, upgrade, cluster);
    const isUnderWay = state !== undefined && !job.machine.isFinal(state) && !isEnding(upgrade);
    return isUnderWay ? [keyText({ upgrade: upgrade.metadata.uid ?? '', cluster })] : [];
  });

/** Returns keys of spokes whose stored state is another one, and of all that can be cleaned once the last one has its verdict. */
function changedSpokes<S extends JobState, I>(
  job: SpokeJob<S, I>,
  caches: SpokeJobCaches,
  { type, object, previous }: Change<ClusterGroupUpgrade>,
): string[] {
  const { uid = '' } = object.metadata;
  const isOther = differs(job, object, previous);
  const [before, now] = [job.statesIn(previous?.status) ?? {}, job.statesIn(object.status) ?? {}];
  const isNamed = (cluster: string): boolean => {
    const state = now[cluster];
    // At the start nothing is on a spoke with a verdict but objects, and upgrades that have ended may name a hundred thousand.
    return previous !== undefined || type === 'deleted' || (state !== undefined && !job.machine.isFinal(state) && !isEnding(object));
  };
  const named = [...Object.keys(before), ...Object.keys(now)].filter(isNamed);
  const withObjects = objectsOf(caches, job.work, uid).map(({ metadata }) => metadata.namespace ?? '');
  const isLastVerdict = haveAllVerdicts(now) && !haveAllVerdicts(before);
  const clusters = new Set([...named.filter(isOther), ...(isLastVerdict ? withObjects : withObjects.filter(isOther))]);
  return [...clusters].map((cluster) => keyText({ upgrade: uid, cluster }));
}

/** Only actions whose end moves a spoke on count, because the other actions have ended by then. */
function isDecisive({ metadata, status }: ManagedClusterAction, decisive: ReadonlySet<string>): boolean {
  const [condition] = status?.conditions ?? [];
  return condition !== undefined && (condition.status === 'False' || decisive.has(metadata.name));
}

/** True for the action that has created the job. */
export const hasBegun = ({ names }: Pick<SpokeJob<JobState, never>, 'names'>, { metadata, status }: ManagedClusterAction): boolean =>
  metadata.name === names.actions.createJob && status?.conditions?.[0]?.status === 'True';

const ownerOf = ({ upgrades }: SpokeJobCaches, { metadata: { labels } }: KubeObject): ClusterGroupUpgrade | undefined =>
  upgrades.byIndex(BY_UID, labels?.[Label.upgradeUid] ?? '')[0];

/** A new job has nothing to report yet: while many spokes wait for theirs, its watch can wait. */
function startsManyJobs<S extends JobState, I>(job: SpokeJob<S, I>, caches: SpokeJobCaches, action: ManagedClusterAction): boolean {
  if (!hasBegun(job, action)) return false;
  return countBeginning(job.statesIn(ownerOf(caches, action)?.status) ?? {}) > MANY_BEGINNING;
}

/** True for one of the many objects that go after the verdict of their spoke. */
function isCleaned<S extends JobState, I>(job: SpokeJob<S, I>, caches: SpokeJobCaches, object: KubeObject): boolean {
  const owner = ownerOf(caches, object);
  const state = owner && stateIn(job, owner, object.metadata.namespace ?? '');
  return state !== undefined && job.machine.isFinal(state);
}
