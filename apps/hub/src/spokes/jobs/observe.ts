/** Observes a spoke for a step, from the stored status of its upgrade and the caches. */
import { perObject } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { findAway, isEnding, isRunning, keepsObjects, waitMessage } from '@flotilla/rollout';
import { BY_UID, type SpokeJobCaches, spokeKey } from '../../caches.ts';
import { hubObjectsOf } from '../../lookups.ts';
import { findDenial } from '../transports/cluster.ts';
import type { SpokeReach, SpokeTask } from '../transports/port/port.ts';
import { holdsSpoke, reachSpoke } from '../transports/reach.ts';
import { ownersOfObjects } from './claims.ts';
import type { JobState, ObservedJob, SpokeJob, StepContext } from './kind.ts';

/** Dependencies of `observe` and `observeStep`. */
export interface ObserveDeps {
  /** Filled caches of this process. */
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Tells whether an upgrade may begin on a cluster; default: no other stored status has the cluster under way. */
  readonly mayBegin?: ((upgradeUid: string, cluster: string) => boolean) | undefined;
  /** The spoke as the same caches have shown it to the same caller. */
  readonly reach?: SpokeReach | undefined;
}

/** Observation of one spoke for a step. */
export interface ObservedStep<S extends JobState> {
  readonly state: S;
  readonly task: SpokeTask;
  readonly reach: SpokeReach;
  readonly context: StepContext<S>;
  /**
   * The spoke was begun but has no objects on the hub: it was cleaned, or somebody deleted them. A process that shares the queue asks the server
   * which.
   */
  readonly isBare: boolean;
}

/**
 * Observes one spoke for a step; undefined when the step has nothing to do. The leader alone decides verdicts, messages and deadlines.
 * @param upgrade as stored
 */
export function observeStep<S extends JobState, I>(
  job: SpokeJob<S, I>,
  upgrade: ClusterGroupUpgrade | undefined,
  cluster: string,
  deps: ObserveDeps,
): ObservedStep<S> | undefined {
  const { caches, mayBegin = (uid, name) => isUncontested(job, uid, name, caches) } = deps;
  const hasObjects = () => upgrade !== undefined && holdsSpoke(caches, job.work, upgrade.metadata.uid ?? '', cluster);
  const stored = storedSpoke(job, upgrade, cluster, { hasObjects });
  if (!stored) return undefined;
  const { state } = stored;
  const { namespace = '', name, uid = '' } = stored.upgrade.metadata;
  const isFinal = job.machine.isFinal(state);
  const isHeld = !isFinal && ownersOfObjects(job.work, cluster, uid, caches).length > 0;
  const isYielding = isHeld && state === job.machine.initial && findRival(job, stored.upgrade, cluster, caches) !== undefined;
  if (isHeld && !isYielding) return undefined;
  const isStopping = state === 'NotStarted' || (!isFinal && isEnding(stored.upgrade));
  // A job that a pause stops is stored as stopped before it is removed, and gets nothing new until then.
  if (!isFinal && !isStopping && job.isStopped?.(stored.upgrade)) return undefined;
  if (state === job.machine.initial && !isStopping && !isYielding && !mayBegin(uid, cluster)) return undefined;
  const { reach, workload, context: found } = observe(job, { ...stored, uid }, cluster, deps);
  const context = { ...found, isStopping, isYielding };
  const task = { job, upgrade: { namespace, name, uid }, cluster, workload, digest: context.digest };
  return { state, task, reach, context, isBare: !isFinal && state !== 'PreparingToStart' && !reach.spoke.hasObjects };
}

/** Observes one spoke of a job with these inputs. */
export function observe<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { uid, inputs, clusters }: { readonly uid: string; readonly inputs: I; readonly clusters: number },
  cluster: string,
  { caches, now, reach: seen }: ObserveDeps,
) {
  const reach = seen ?? reachSpoke(caches, { job, upgradeUid: uid, cluster, transport: job.transport, now: now() });
  return { reach, ...contextOf(job, { uid, inputs, clusters }, { cluster, managed: caches.clusters.get({ name: cluster }), now: now() }) };
}

/** Derives the workload of a spoke, and its facts besides the observation. Pure. */
export function contextOf<S extends JobState, I>(
  job: ObservedJob<S, I>,
  { uid, inputs, clusters }: { readonly uid: string; readonly inputs: I; readonly clusters: number },
  { cluster, managed, now }: { readonly cluster: string; readonly managed: ManagedCluster | undefined; readonly now: number },
) {
  const workload = job.workload(inputs, { upgradeUid: uid, managed, cluster, clusters });
  const denial = findDenial(managed);
  const context: StepContext<S> = {
    job,
    upgradeUid: uid,
    cluster,
    now,
    deadlineAt: Number.POSITIVE_INFINITY,
    claimedBy: undefined,
    claimantEnded: false,
    trouble: undefined,
    digest: job.digest?.(inputs, cluster),
    awaySince: findAway(cluster, managed)?.since,
    problem: denial ? waitMessage(denial) : workload.problem,
    failsWithoutNodes: workload.failsWithoutNodes,
  };
  return { workload, context };
}

/** Stored state of one spoke's job: with the observation, the only input of a step. */
interface StoredSpoke<S, I> {
  readonly upgrade: ClusterGroupUpgrade;
  readonly state: S;
  readonly inputs: I;
  /** Clusters of the upgrade's job. */
  readonly clusters: number;
}

/**
 * Reads a spoke's stored state. Returns undefined for an upgrade whose cleaning does the rest, a cluster outside its status, or a cluster that must
 * not begin yet. The leader lets a spoke begin by storing a state beyond `NotStarted`, for one upgrade at a time; it stops a job by storing
 * `NotStarted` again. The end of an upgrade that keeps its objects stops a job without a verdict.
 * @param hasObjects the hub has objects of the job, which are a stopped one's where the job was stopped; default: none
 */
function storedSpoke<S extends JobState, I>(
  job: SpokeJob<S, I>,
  upgrade: ClusterGroupUpgrade | undefined,
  cluster: string,
  { hasObjects = () => false }: { readonly hasObjects?: () => boolean } = {},
): StoredSpoke<S, I> | undefined {
  const state = upgrade && stateIn(job, upgrade, cluster);
  if (!upgrade || state === undefined) return undefined;
  if (isEnding(upgrade) && !keepsObjects(upgrade)) return undefined;
  const isStopped = state === 'NotStarted' || (!job.machine.isFinal(state) && isEnding(upgrade));
  if (isStopped && !hasObjects()) return undefined;
  const inputs = job.inputsIn(upgrade);
  return inputs && { upgrade, state, inputs, clusters: countOf(job.statesIn(upgrade.status) ?? {}) };
}

type StatesOf<S extends JobState> = Pick<SpokeJob<S, never>, 'machine' | 'statesIn'>;

/** State of a cluster in the status of an upgrade. */
export function stateIn<S extends JobState>(job: StatesOf<S>, { status }: ClusterGroupUpgrade, cluster: string): S | undefined {
  const states = job.statesIn(status) ?? {};
  return Object.hasOwn(states, cluster) ? states[cluster] : undefined;
}

/** Every reconcile of every spoke asks. */
const countOf = perObject((states: Readonly<Record<string, unknown>>): number => Object.keys(states).length);

/** Only the leader knows which of several upgrades came first. */
const isUncontested = <S extends JobState, I>(job: SpokeJob<S, I>, uid: string, cluster: string, caches: SpokeJobCaches): boolean =>
  findUnderWay(job, uid, cluster, { caches, idle: 'NotStarted' }) === undefined;

/**
 * Finds another upgrade that has not ended and whose stored state of the cluster is neither final nor idle.
 * @param idle state in which the job has not begun
 */
export function findUnderWay<S extends JobState>(
  job: StatesOf<S>,
  uid: string,
  cluster: string,
  { caches, idle }: { readonly caches: Pick<SpokeJobCaches, 'upgrades'>; readonly idle: JobState },
): ClusterGroupUpgrade | undefined {
  return caches.upgrades.list().find((other) => {
    const state = stateIn(job, other, cluster);
    return state !== undefined && state !== idle && !job.machine.isFinal(state) && !isEnding(other) && other.metadata.uid !== uid;
  });
}

/**
 * Finds another upgrade under way that goes first on a cluster where both have objects, so that neither waits for the other: one whose job is not
 * stopped, then the older. The upgrade yields: it is stored as not begun, then its objects leave the hub, and nothing is deleted on the spoke, where
 * the other's job may run. A work holds what it made on the spoke, so its upgrade does not yield.
 */
export function findRival<S extends JobState>(
  job: StatesOf<S> & Pick<SpokeJob<S, never>, 'work'>,
  upgrade: ClusterGroupUpgrade,
  cluster: string,
  caches: SpokeJobCaches,
): ClusterGroupUpgrade | undefined {
  const { uid = '' } = upgrade.metadata;
  const { views, actions, works } = hubObjectsOf(caches, spokeKey(job.work, uid, cluster));
  if (works.length > 0 || views.length + actions.length === 0) return undefined;
  const hasBegun = (state: S | undefined): boolean => state !== undefined && state !== 'NotStarted';
  const isBegun = hasBegun(stateIn(job, upgrade, cluster));
  return ownersOfObjects(job.work, cluster, uid, caches)
    .flatMap((owner) => caches.upgrades.byIndex(BY_UID, owner))
    .find((other) => {
      const state = stateIn(job, other, cluster);
      if (state === undefined || job.machine.isFinal(state) || isEnding(other)) return false;
      return hasBegun(state) === isBegun ? isOlder(other, upgrade) : hasBegun(state);
    });
}

function isOlder({ metadata: one }: ClusterGroupUpgrade, { metadata: other }: ClusterGroupUpgrade): boolean {
  const age = Date.parse(one.creationTimestamp ?? '') - Date.parse(other.creationTimestamp ?? '');
  return age === 0 || Number.isNaN(age) ? (one.uid ?? '') < (other.uid ?? '') : age < 0;
}

/** Tells of which clusters an upgrade stores another state, or of all when their inputs are others or it has ended. */
export function differs<S extends JobState, I>(
  job: Pick<SpokeJob<S, I>, 'inputsIn' | 'statesIn' | 'digest'>,
  upgrade: ClusterGroupUpgrade,
  previous: ClusterGroupUpgrade | undefined,
): (cluster: string) => boolean {
  const [inputsBefore, inputsNow] = [previous && job.inputsIn(previous), job.inputsIn(upgrade)];
  const digestOf = (inputs: I | undefined, cluster?: string) => inputs && (job.digest?.(inputs, cluster) ?? '');
  // By these a spoke is left to its stored state.
  const stageOf = (stored: ClusterGroupUpgrade | undefined) =>
    stored && (isEnding(stored) ? `ended, keeps: ${keepsObjects(stored)}` : `runs: ${isRunning(stored)}`);
  const [before, now] = [job.statesIn(previous?.status) ?? {}, job.statesIn(upgrade.status) ?? {}];
  const isOther = digestOf(inputsBefore) !== digestOf(inputsNow) || stageOf(upgrade) !== stageOf(previous);
  return (cluster) => isOther || before[cluster] !== now[cluster] || digestOf(inputsBefore, cluster) !== digestOf(inputsNow, cluster);
}
