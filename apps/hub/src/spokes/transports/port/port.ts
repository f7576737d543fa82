/**
 * Port to a spoke, independent of the transport: observation, workload, effects, the plan that these add writes to,
 * and texts of a spoke: a puller's report, and whether its API server refuses for good (spec/ocm 1.3). `../reach.ts` has the transports.
 */
import { Annotation } from '@flotilla/api';
import { PullerReport } from '@flotilla/api/ran';
import type { SpokeJobEffect, UpgradeIdentity, ViewAnswer, ViewTarget } from '@flotilla/rollout';
import type { z } from 'zod';
import { MAX_TEXT, type ViewedObject } from '../../../trims.ts';
import type { Write } from '../../../writes/apply.ts';

/** Fields of an object on a spoke that decide something. */
export type SpokeObject = z.output<typeof ViewedObject>;

/** Knowledge of one object: `found`, `absent`, `unknown`, or still `pending`. */
export type Answer = ViewAnswer<SpokeObject>;

/** An object on the spoke that this upgrade watches. */
export interface WatchedObject {
  /** Start of the watch, milliseconds since the epoch by the hub's clock. */
  readonly since: number;
  readonly answer: Answer;
}

/** A request that the spoke failed more than once. */
export interface Failure {
  readonly message: string;
  /** Time from which a lasting failure is final, milliseconds since the epoch; undefined: it may pass. */
  readonly finalAt: number | undefined;
}

/** Observation of one spoke, for one upgrade and one kind of job. */
export interface SpokeObservation {
  /** The spoke's agent answers. */
  readonly available: boolean;
  /** This upgrade has objects on the hub, and so perhaps on the spoke. */
  readonly hasObjects: boolean;
  /** Start of the attempt, milliseconds since the epoch; undefined before it. It survives a restart of the process. */
  readonly since: number | undefined;
  /** Digests of the specs of the objects on the hub. */
  readonly digests: readonly string[];
  readonly namespace: WatchedObject | undefined;
  readonly job: WatchedObject | undefined;
  /** Last report of the puller. */
  readonly report: PullerReport | undefined;
  readonly failure: Failure | undefined;
  /** The same of an object that the other nodes need, where it lasts. */
  readonly nodesFailure?: Failure | undefined;
  /** Number of times the job vanished from the spoke and was created again. */
  readonly losses: number;
  /** An agent has accepted its task, even if nothing on the spoke is known yet. */
  readonly isAnswered?: boolean;
  /** Remark about the transport, shown while there is no other message. */
  readonly note?: string | undefined;
}

/** Part of a kind of job that its transport uses. */
export interface NamedJob {
  /** Value of `flotilla.io/work`. */
  readonly work: string;
  readonly names: SpokeJobNames;
  /** Delete an earlier attempt's objects without looking first, create the job once its namespace is seen, and do not wait for the final deletion. */
  readonly cleansFirst?: boolean | undefined;
}

/** Place of a job's object. */
export interface ObjectPlace {
  readonly job: NamedJob;
  readonly upgrade: UpgradeIdentity;
  readonly cluster: string;
  /** Digest of the job's spec; absent when the spec never changes. */
  readonly digest?: string | undefined;
}

/** One spoke's part of one upgrade. */
export interface SpokeTask extends ObjectPlace {
  readonly workload: Workload;
}

/** Effects of a job's machine on one spoke, and its end. Each adds the missing writes to a plan. */
export interface SpokeEffects extends Readonly<Record<SpokeJobEffect, () => void>> {
  /** Removes the job's objects on the spoke, even without objects on the hub. True once they are known to be gone. */
  clean(): boolean;
  /** Leaves only a mark on the hub that the spoke must still be cleaned. */
  remember(): void;
  /** Removes all objects of this upgrade's job from the hub. */
  drop(): void;
}

/** A spoke by its current transport: observation and effects. */
export interface SpokeReach {
  readonly by: 'actions' | 'work';
  readonly spoke: SpokeObservation;
  /** @param state state of the spoke's job */
  readonly effects: (task: SpokeTask, state: string, plan: SpokePlan) => SpokeEffects;
}

/** An object to create on a spoke, and its action. */
export interface SpokeManifest {
  /** Name of the action. */
  readonly action: string;
  readonly template: Readonly<Record<string, unknown>> & { readonly kind: string };
  /** Further annotations of its action. */
  readonly marks?: Readonly<Record<string, string>>;
  /** The job starts without it, so it is created after the job. */
  readonly afterJob?: true;
}

/** A view: its name in the spoke's hub namespace, and its target. */
export interface ViewDefinition {
  readonly name: string;
  /** Name by which the agent finds the kind. */
  readonly resource: string;
  readonly target: ViewTarget;
  /** Accept its answer without checking the object's identity, as the reference does; default false. */
  readonly trusted?: boolean;
}

/** Names on spoke and hub. */
export interface SpokeJobNames {
  /** Namespace on the spoke. */
  readonly namespace: string;
  readonly job: string;
  readonly clusterRoleBinding: string;
  /** ManifestWork that carries all objects. */
  readonly manifestWork: string;
  /** Actions that every kind of job has. */
  readonly actions: { readonly deleteNamespace: string; readonly deleteClusterRoleBinding: string; readonly createJob: string };
  readonly views: { readonly namespace: ViewDefinition; readonly job: ViewDefinition };
  /** Objects and actions that the other nodes of a spoke need, objects as `Kind name`; absent for jobs of one node. */
  readonly nodes?: { readonly objects: readonly string[]; readonly actions: readonly string[] };
}

/** Workload of one spoke. */
export interface Workload {
  /** Objects to create, in order; the namespace is the first, the job the last of those that it needs. */
  readonly manifests: () => readonly SpokeManifest[];
  /** Actions whose execution leaves the spoke clean after the job. */
  readonly deletions: readonly string[];
  /** Finds the cap of the puller, which the manifests have too: it depends on all that pull, so it is asked for writes alone. Default none. */
  readonly findCap?: () => number | undefined;
  /** Seconds between the agent's polls of the job. */
  readonly jobViewSeconds: number;
  /** Milliseconds that the hub waits for a verdict after the spoke's first view, or after the request while there can be no view. */
  readonly patienceMs: number;
  /** Reason that forbids new objects on this spoke until somebody fixes it. An existing job goes on. */
  readonly problem?: string | undefined;
  /** The job fails where the spoke refuses to create what its other nodes need; default false. */
  readonly failsWithoutNodes?: boolean | undefined;
  /** The job takes a place of those that may pull at a time; default false. */
  readonly pulls?: boolean | undefined;
}

/** Workload that only deletes. */
export const cleaningOf = (deletions: readonly string[]): Workload => ({
  manifests: () => [],
  deletions,
  jobViewSeconds: 0,
  patienceMs: 0,
});

/** Missing writes of a spoke, in order, and the time of its next plan. */
export class SpokePlan {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly writes: Write[] = [];
  /** Earliest time at which another plan may differ without any event, milliseconds since the epoch. */
  at: number | undefined;

  constructor(now: number) {
    this.now = now;
  }

  add(...writes: readonly Write[]): void {
    this.writes.push(...writes);
  }

  /**
   * Requests another plan; the earliest of several times counts.
   * @param at milliseconds since the epoch
   */
  requeue(at: number): void {
    this.at = Math.min(this.at ?? at, at);
  }
}

/** Reads the last report of a Job's puller; undefined when it is malformed. */
export const reportOf = (job: Answer | undefined): PullerReport | undefined =>
  job?.kind === 'found' ? parseReport(job.object.metadata.annotations?.[Annotation.progress] ?? '') : undefined;

function parseReport(text: string): PullerReport | undefined {
  if (text.length === 0 || text.length > MAX_TEXT) return undefined;
  try {
    return PullerReport.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // an older or foreign puller writes no JSON: progress is not shown, and nothing else depends on it
  }
}

/** Refusals of one object, or losses of the job, before the spoke counts as failed. */
export const RETRY_BUDGET = 5;

/** Texts of Forbidden, Invalid and admission errors, anywhere in a message: the stock agent prepends its own words. */
const VERDICTS = [' is forbidden: ', ' is invalid: ', ' denied the request'];
/** Texts of passing errors: one quotes another server's error, the other concerns a namespace that is about to go. */
const PASSING = ['Internal error occurred: ', ' because it is being terminated'];

/** True when a retry would get the same answer. All other errors may pass: refused connections, time-outs, overloaded servers, unknown texts. */
export const isRefusal = (message: string): boolean =>
  VERDICTS.some((words) => message.includes(words)) && !PASSING.some((words) => message.includes(words));
