import { isSameJson } from '@flotilla/api';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { isAvailable } from '@flotilla/rollout';
import type { Watch } from '@flotilla/runtime';
import { onSpokeChanges, type SpokeChange } from '../spokes/changes.ts';
import { findDenial } from '../spokes/denied-cluster.ts';
import { objectsOf, type SpokeJobCaches } from '../spokes/port/caches.ts';
import { keyId } from '../steps/step-key.ts';
import type { JobState, SpokeJob } from './kind.ts';
import { differs } from './observe.ts';
import type { SpokeJobRun } from './run.ts';

/** Number of spokes without a job above which new jobs are watched late: the delay saves work, and a job takes minutes. */
const MANY_BEGINNING = 50;
const WATCH_DELAY_MS = 10_000;

/** Input of `watchSpokes`. */
interface Watched<S extends JobState, I> {
  readonly caches: SpokeJobCaches;
  /** Runs by the uid of their upgrade. */
  readonly runs: ReadonlyMap<string, SpokeJobRun<S, I>>;
  /** Receives the key of a spoke whose job is there. */
  readonly onBegun: (key: string) => void;
}

/** Maps changes of upgrades, clusters and what spokes report to keys of spokes. */
export function watchSpokes<S extends JobState, I>(job: SpokeJob<S, I>, watched: Watched<S, I>): Watch {
  const { caches, runs } = watched;
  return {
    attach: (enqueue) => {
      const add: Add = (uid, cluster, afterMs = 0) => enqueue(keyId({ kind: job.work, upgrade: uid, cluster }), afterMs);
      const detach = [
        onSpokeChanges(caches, job, (change) => addSpoke(job, watched, change, add)),
        caches.upgrades.subscribe(({ object, previous }) => addUpgrade(job, watched, { object, previous }, add)),
        caches.clusters.subscribe(({ object, previous }) => {
          const matters =
            !previous ||
            isAvailable(object) !== isAvailable(previous) ||
            findDenial(object) !== findDenial(previous) ||
            !isSameJson(object.metadata.annotations, previous.metadata.annotations);
          if (matters) for (const [uid, run] of runs) if (run.spokes.has(object.metadata.name)) add(uid, object.metadata.name);
        }),
      ];
      for (const object of caches.upgrades.list()) addUpgrade(job, watched, { object, previous: undefined }, add);
      return () => {
        for (const each of detach) each();
      };
    },
    start: async () => {},
    stopped: async () => {},
  };
}

type Add = (uid: string, cluster: string, afterMs?: number) => void;
interface UpgradeChange {
  readonly object: ClusterGroupUpgrade;
  readonly previous: ClusterGroupUpgrade | undefined;
}

function addUpgrade<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { caches, runs }: Watched<S, I>,
  { object, previous }: UpgradeChange,
  add: Add,
): void {
  const uid = object.metadata.uid ?? '';
  // Without a run, as after a restart, the spokes with objects may have to be cleaned.
  const clusters =
    runs.get(uid)?.spokes.keys() ?? new Set(objectsOf(caches, job.work, uid).map(({ metadata }) => metadata.namespace ?? ''));
  const isOther = differs(job, object, previous);
  for (const cluster of clusters) if (isOther(cluster)) add(uid, cluster);
}

function addSpoke<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { runs, onBegun }: Watched<S, I>,
  { kind, upgradeUid: uid, cluster }: SpokeChange,
  add: Add,
): void {
  const run = runs.get(uid);
  if (kind === 'begun' && run) {
    onBegun(keyId({ kind: job.work, upgrade: uid, cluster }));
    // A new job has nothing to report yet: while many spokes wait for theirs, its watch can wait.
    return add(uid, cluster, run.countBeginning() > MANY_BEGINNING ? WATCH_DELAY_MS : 0);
  }
  add(uid, cluster);
  // Runs of other upgrades may wait for the name of the deleted object.
  if (kind === 'gone') for (const [other, { spokes }] of runs) if (other !== uid && spokes.has(cluster)) add(other, cluster);
}
