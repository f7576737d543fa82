/** What a step of a spoke goes by: the stored status of its upgrade, and what the caches show of the spoke. */
import { findCondition } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import { findDenial } from '../spokes/denied-cluster.ts';
import type { SpokeJobCaches } from '../spokes/port/caches.ts';
import type { SpokeObservation, SpokeReach, SpokeTask } from '../spokes/port/port.ts';
import { reachSpoke } from '../spokes/reach.ts';
import { ownerOfObjects } from './claims.ts';
import type { StepContext } from './interpret.ts';
import type { JobState, SpokeJob } from './kind.ts';
import type { RunRequest } from './run.ts';

/** What observing a spoke needs. */
export interface ObserveDeps {
  /** Filled, and this process's own. */
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Whether an upgrade may begin on a cluster; default: nobody else's status has the cluster under way. */
  readonly mayBegin?: ((upgradeUid: string, cluster: string) => boolean) | undefined;
}

/** One spoke as the leader has recorded it. */
interface RecordedSpoke {
  readonly cluster: string;
  /** Since when it is waited for while it has no view, milliseconds since the epoch. */
  readonly since: number;
  /** Why its last steps failed, as a sentence. */
  readonly trouble: string | undefined;
  /** The upgrade that has the cluster now, if it is another one. */
  readonly holder: { readonly name: string; readonly hasEnded: boolean } | undefined;
}

/** Observes one spoke for its verdict. */
export function observeSpoke<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { upgrade, clusters, inputs }: Pick<RunRequest<S, I>, 'upgrade' | 'clusters' | 'inputs'>,
  { cluster, since, trouble, holder }: RecordedSpoke,
  deps: ObserveDeps,
): { readonly spoke: SpokeObservation; readonly context: StepContext<S> } {
  const { reach, workload, context } = observe(job, { uid: upgrade.uid, inputs, clusters: clusters.length }, cluster, deps);
  const deadlineAt = (reach.spoke.since ?? since) + workload.patienceMs;
  const held = { heldBy: holder?.name, holderEnded: holder?.hasEnded ?? false };
  return { spoke: reach.spoke, context: { ...context, ...held, deadlineAt, trouble } };
}

/** One spoke as a step sees it. */
interface ObservedStep<S extends JobState> {
  readonly state: S;
  readonly task: SpokeTask;
  readonly reach: SpokeReach;
  readonly context: StepContext<S>;
  /** It was begun and has nothing on the hub: it was cleaned, or robbed by somebody. A process that is not alone asks the server which. */
  readonly isBare: boolean;
}

/**
 * Observes one spoke for a step; undefined when nothing may be done for it. Verdicts, messages and deadlines are the leader's alone.
 * @param upgrade as stored
 */
export function observeStep<S extends JobState, I>(
  job: SpokeJob<S, I>,
  upgrade: ClusterGroupUpgrade | undefined,
  cluster: string,
  deps: ObserveDeps,
): ObservedStep<S> | undefined {
  const { caches, mayBegin = (uid, name) => isUncontested(job, uid, name, caches) } = deps;
  const stored = storedSpoke(job, upgrade, cluster);
  if (!stored) return undefined;
  const { state } = stored;
  const { namespace = '', name, uid = '' } = stored.upgrade.metadata;
  const isFinal = job.machine.isFinal(state);
  if (!isFinal && ownerOfObjects(job.work, cluster, uid, caches) !== undefined) return undefined;
  if (state === job.machine.initial && !mayBegin(uid, cluster)) return undefined;
  const { reach, workload, context } = observe(job, { ...stored, uid }, cluster, deps);
  const task = { job, upgrade: { namespace, name, uid }, cluster, workload, digest: context.digest };
  return { state, task, reach, context, isBare: !isFinal && state !== 'PreparingToStart' && !reach.spoke.isHeld };
}

function observe<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { uid, inputs, clusters }: { readonly uid: string; readonly inputs: I; readonly clusters: number },
  cluster: string,
  { caches, now }: ObserveDeps,
) {
  const managed = caches.clusters.get({ name: cluster });
  const reach = reachSpoke(caches, { job, upgradeUid: uid, cluster, transport: job.transport, now: now() });
  const workload = job.workload(inputs, { upgradeUid: uid, managed, clusters });
  const context: StepContext<S> = {
    job,
    upgradeUid: uid,
    cluster,
    now: now(),
    deadlineAt: Number.POSITIVE_INFINITY,
    heldBy: undefined,
    holderEnded: false,
    trouble: undefined,
    digest: job.digest?.(inputs),
    problem: findDenial(managed) ?? workload.problem,
  };
  return { reach, workload, context };
}

/** What the stored status of an upgrade says of one spoke's job: all that a step goes by, besides what is observed. */
interface StoredSpoke<S, I> {
  readonly upgrade: ClusterGroupUpgrade;
  readonly state: S;
  readonly inputs: I;
  /** Clusters of the upgrade's job. */
  readonly clusters: number;
}

/**
 * Reads it; undefined when nothing may be done: the upgrade has ended, the cluster is none of its status, or is not to begin yet. That a
 * spoke may begin is for the leader to say: it stores a state beyond `NotStarted` for one upgrade at a time.
 */
export function storedSpoke<S extends JobState, I>(
  job: SpokeJob<S, I>,
  upgrade: ClusterGroupUpgrade | undefined,
  cluster: string,
): StoredSpoke<S, I> | undefined {
  if (!upgrade) return undefined;
  const states = job.statesIn(upgrade.status) ?? {};
  const state = Object.hasOwn(states, cluster) ? states[cluster] : undefined;
  const inputs = job.inputsIn(upgrade);
  if (state === undefined || state === 'NotStarted' || !inputs) return undefined;
  if (hasEnded(upgrade) && !job.machine.isFinal(state)) return undefined;
  return { upgrade, state, inputs, clusters: countOf(states) };
}

/** A watch cache hands out the same status until it changes, and every look at every spoke asks. */
const counts = new WeakMap<object, number>();

function countOf(states: Readonly<Record<string, unknown>>): number {
  const count = counts.get(states) ?? Object.keys(states).length;
  counts.set(states, count);
  return count;
}

const hasEnded = ({ metadata, status }: ClusterGroupUpgrade): boolean =>
  metadata.deletionTimestamp !== undefined || findCondition(status?.conditions, ClusterGroupUpgradeCondition.succeeded) !== undefined;

/** Only the leader knows who of several came first. */
function isUncontested<S extends JobState, I>(job: SpokeJob<S, I>, uid: string, cluster: string, { upgrades }: SpokeJobCaches): boolean {
  return upgrades.list().every((other) => {
    const state = other.metadata.uid === uid ? undefined : storedSpoke(job, other, cluster)?.state;
    return state === undefined || job.machine.isFinal(state);
  });
}
