import { findCondition } from '@flotilla/api';
import { type ClusterGroupUpgrade, ClusterGroupUpgradeCondition } from '@flotilla/api/ran';
import type { StepKey } from '@flotilla/queues';
import type { Client } from '@flotilla/runtime';
import { findDenial } from '../spokes/denied-cluster.ts';
import { BY_UID, type SpokeJobCaches } from '../spokes/port/caches.ts';
import type { SpokeObservation } from '../spokes/port/port.ts';
import { reachSpoke } from '../spokes/reach.ts';
import { createReadStored, type ReadStored } from '../stored-upgrade.ts';
import { ownerOfObjects } from './claims.ts';
import type { JobState, SpokeJob } from './definition.ts';
import type { StepContext } from './interpret.ts';
import { runStep } from './step.ts';

/** What a step of a spoke needs, in whatever process. */
export interface SpokeStepDeps {
  readonly client: Client;
  /** Filled, and this process's own. */
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How a step is run. */
export interface SpokeStepOptions {
  /** Whether an upgrade may begin on a cluster; default: nobody else's status has the cluster under way. */
  readonly mayBegin?: (upgradeUid: string, cluster: string) => boolean;
  /** Tell what there is to do, and do nothing. */
  readonly isRehearsal?: boolean;
}

/** What a step came to. */
export interface SpokeStepResult {
  /** Something was written; in a rehearsal it would be. */
  readonly hasWritten: boolean;
  /** When there will be something to do even if nothing happens, milliseconds since the epoch. */
  readonly wakeAt: number | undefined;
}

/** Runs one step of one spoke. */
export type SpokeStep = (key: Pick<StepKey, 'upgrade' | 'cluster'>, signal?: AbortSignal) => Promise<SpokeStepResult>;

const NOTHING: SpokeStepResult = { hasWritten: false, wakeAt: undefined };

/** What the stored status of an upgrade says of one spoke's job: all that a step goes by, besides what is observed. */
export interface StoredSpoke<S, I> {
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

/**
 * One step of one spoke: makes true what its stored state and what is seen of it require. Idempotent; whoever asked for it, how often and
 * with what in mind changes nothing. The signal stops it between two writes. Verdicts, messages and deadlines are the leader's alone.
 */
export function createSpokeStep<S extends JobState, I>(
  job: SpokeJob<S, I>,
  deps: SpokeStepDeps,
  { mayBegin = (uid, cluster) => isUncontested(job, uid, cluster, deps.caches), isRehearsal = false }: SpokeStepOptions = {},
): SpokeStep {
  const { client, caches, now } = deps;
  const readStored = createReadStored(client);
  return async ({ upgrade: uid, cluster }, signal) => {
    const managed = caches.clusters.get({ name: cluster });
    const reach = reachSpoke(caches, { job, upgradeUid: uid, cluster, transport: job.transport, now: now() });
    const stored = await confirmed(job, storedSpoke(job, caches.upgrades.byIndex(BY_UID, uid)[0], cluster), {
      spoke: reach.spoke,
      cluster,
      readStored,
      isRehearsal,
    });
    if (stored === 'ask') return { hasWritten: true, wakeAt: undefined };
    if (!stored) return NOTHING;
    const { upgrade, state, inputs, clusters } = stored;
    const isFinal = job.machine.isFinal(state);
    if (!isFinal && ownerOfObjects(job.work, cluster, uid, caches) !== undefined) return NOTHING;
    if (state === job.machine.initial && !mayBegin(uid, cluster)) return NOTHING;
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
    const identity = { namespace: upgrade.metadata.namespace ?? '', name: upgrade.metadata.name, uid };
    const task = { job, upgrade: identity, cluster, workload, digest: context.digest };
    const result = await runStep(task, { current: state, stored: state }, reach, context, { client, now, signal, isRehearsal });
    const wakeAt = result.wakeAt === Number.POSITIVE_INFINITY ? undefined : result.wakeAt;
    return { hasWritten: result.hasWritten ?? false, wakeAt };
  };
}

/**
 * A spoke that was begun and has nothing on the hub any more was cleaned, or robbed by somebody: a cache that is behind must not put a
 * second job on it, so the server itself is asked.
 */
async function confirmed<S extends JobState, I>(
  job: SpokeJob<S, I>,
  stored: StoredSpoke<S, I> | undefined,
  { spoke, cluster, readStored, isRehearsal }: { spoke: SpokeObservation; cluster: string; readStored: ReadStored; isRehearsal: boolean },
): Promise<StoredSpoke<S, I> | 'ask' | undefined> {
  if (!stored || spoke.isHeld || stored.state === 'PreparingToStart' || job.machine.isFinal(stored.state)) return stored;
  if (isRehearsal) return 'ask';
  return storedSpoke(job, await readStored(stored.upgrade), cluster);
}

/** Only the leader knows who of several came first. */
function isUncontested<S extends JobState, I>(job: SpokeJob<S, I>, uid: string, cluster: string, { upgrades }: SpokeJobCaches): boolean {
  return upgrades.list().every((other) => {
    const state = other.metadata.uid === uid ? undefined : storedSpoke(job, other, cluster)?.state;
    return state === undefined || job.machine.isFinal(state);
  });
}
