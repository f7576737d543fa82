import { findCondition } from '@flotilla/api';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition, unpackStatus } from '@flotilla/api/ran';
import type { UpgradeIdentity } from '@flotilla/rollout';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';
import { BY_UID, hubObjectsOf, type SpokeJobCaches, spokeKey } from './caches.ts';
import type { JobState, SpokeJob } from './definition.ts';
import type { StepContext } from './interpret.ts';
import { observeSpoke, type SpokeObservation } from './observe.ts';
import { runStep, type StepResult } from './step.ts';

/** What the leader knows of a spoke when it asks for a step. */
export interface Known<S extends string> {
  readonly state: S;
  /** State in the upgrade's status. */
  readonly stored?: S;
  /** `namespace/name` of the upgrade that has the spoke, if it is another one. */
  readonly heldBy?: string;
  /** That upgrade has its verdict for the spoke. */
  readonly holderEnded?: boolean;
  /** Since when the spoke is waited for while it has no view, milliseconds since the epoch. */
  readonly since: number;
  /** Why its last steps failed, as a sentence. */
  readonly trouble?: string;
  /** Counts changes of the inputs. */
  readonly revision: number;
}

/** A step of one spoke: all that whoever runs it needs besides caches and settings. Payload of a queue. */
export interface SpokeJobStep<S extends string, I> {
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  readonly known: Known<S>;
  /** Clusters of the upgrade. */
  readonly clusters: number;
  readonly inputs: I;
}

/** How far the caches of whoever ran a step were, as resourceVersions. */
export interface CacheVersions {
  readonly views: number;
  readonly actions: number;
  readonly clusters: number;
}

/** What a step found and did. Plain data: it comes from another process, maybe. */
export interface StepOutcome<S extends string> extends StepResult<S> {
  /** What the step started from. */
  readonly known: Known<S>;
  /** Absent when the step ran where its outcome is settled. */
  readonly seen?: CacheVersions;
}

const KNOWN_WAIT = {
  heldBy: z.string().optional(),
  holderEnded: z.boolean().optional(),
  since: z.number(),
  trouble: z.string().optional(),
};

/** Parses an outcome that comes from another process. */
export function outcomeSchema<S extends string>(states: z.ZodType<S>): z.ZodType<StepOutcome<S> | undefined> {
  const known = z.object({ state: states, stored: states.optional(), revision: z.number(), ...KNOWN_WAIT });
  return z
    .object({
      state: states,
      message: z.string().optional(),
      wakeAt: z.number().optional(),
      known,
      seen: z.object({ views: z.number(), actions: z.number(), clusters: z.number() }).optional(),
    })
    .optional();
}

export interface ProcessorDeps {
  readonly client: Client;
  readonly caches: SpokeJobCaches;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A step that only seems overtaken, because a status was edited by hand, is looked at again after so long. */
const OVERTAKEN_RECHECK_MS = 5_000;

/** Runs steps of one kind of job, in whatever process. */
export type SpokeJobProcessor<S extends string, I> = (step: SpokeJobStep<S, I>, signal?: AbortSignal) => Promise<StepOutcome<S>>;

/**
 * The processor of a kind of job. A step that another process overtook, because it waited in the queue of a hub that is gone,
 * changes nothing. The signal stops a step between two writes.
 */
export function createSpokeJobProcessor<S extends JobState, I>(job: SpokeJob<S, I>, deps: ProcessorDeps): SpokeJobProcessor<S, I> {
  const { client, caches, now } = deps;
  return async (step, signal) => {
    const { upgrade, cluster, known } = step;
    const seen = versionsOf(caches);
    const managed = caches.clusters.get({ name: cluster });
    const objects = hubObjectsOf(caches, spokeKey(job.work, upgrade.uid, cluster));
    const spoke = observeSpoke(job.names, upgrade.uid, { cluster: managed, ...objects });
    if (await isOvertaken(job, step, spoke, deps))
      return { state: known.state, message: undefined, wakeAt: now() + OVERTAKEN_RECHECK_MS, known, seen };
    const workload = job.workload(step.inputs, { upgradeUid: upgrade.uid, managed, clusters: step.clusters });
    const context: StepContext<S> = {
      job,
      upgradeUid: upgrade.uid,
      now: now(),
      deadlineAt: (startOf(spoke) ?? known.since) + workload.patienceMs,
      heldBy: known.heldBy,
      holderEnded: known.holderEnded ?? false,
      trouble: known.trouble,
      digest: job.digest?.(step.inputs),
      problem: workload.problem,
    };
    const states = { current: known.state, stored: known.stored };
    const result = await runStep({ job, upgrade, cluster, workload, digest: context.digest }, states, spoke, context, {
      client,
      now,
      signal,
    });
    return { ...result, known, seen };
  };
}

/** The clock of a spoke starts with its first view, which outlives this process: time spent waiting for another upgrade does not count. */
function startOf({ namespaceView, jobView }: SpokeObservation): number | undefined {
  const created = [namespaceView, jobView].flatMap((view) => (view?.ours ? [view.createdAt] : []));
  return created.length > 0 ? Math.min(...created) : undefined;
}

/** Versions of one kind count up. One that is no number counts as the oldest. */
export const toVersion = (resourceVersion: string | undefined): number => Number(resourceVersion) || 0;

/** How far the caches are; read before what they hold. */
export const versionsOf = (caches: SpokeJobCaches): CacheVersions => ({
  views: toVersion(caches.views.resourceVersion),
  actions: toVersion(caches.actions.resourceVersion),
  clusters: toVersion(caches.clusters.resourceVersion),
});

/**
 * Whether the upgrade has gone past this step: it ended or was deleted, or the spoke's verdict is stored although the step does not know
 * it. A spoke that was begun and has nothing on the hub any more was cleaned, or robbed by somebody: there the server itself is asked,
 * since running the step would put a second job on the spoke.
 */
async function isOvertaken<S extends JobState, I>(
  job: SpokeJob<S, I>,
  { upgrade, cluster, known }: SpokeJobStep<S, I>,
  spoke: SpokeObservation,
  { client, caches }: ProcessorDeps,
): Promise<boolean> {
  if (job.machine.isFinal(known.state)) return false;
  const isEnded = ({ status }: ClusterGroupUpgrade): boolean => {
    const stored = job.statesIn(status && unpackStatus(status))?.[cluster];
    // Who knows of that verdict and goes on all the same starts over.
    return stored !== undefined && stored !== known.stored && job.machine.isFinal(stored);
  };
  const isPast = (current: ClusterGroupUpgrade | undefined): boolean =>
    !current ||
    current.metadata.uid !== upgrade.uid ||
    current.metadata.deletionTimestamp !== undefined ||
    findCondition(current.status?.conditions, ClusterGroupUpgradeCondition.succeeded) !== undefined ||
    isEnded(current);
  const cached = caches.upgrades.byIndex(BY_UID, upgrade.uid)[0];
  // One that the cache does not know yet may be new, or gone: only the server can tell.
  if (cached && isPast(cached)) return true;
  const isBare = !spoke.namespaceView && !spoke.jobView && spoke.actions.size === 0;
  if (cached && !(isBare && known.state !== job.machine.initial)) return false;
  return isPast(await client.get(ClusterGroupUpgrade, upgrade));
}
