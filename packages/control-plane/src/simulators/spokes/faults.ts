import type { StoredObject } from './spoke-store.ts';

/** Faults of one simulated spoke. Everything is off by default. */
export interface SpokeFaults {
  /** Slow: milliseconds before every execution of an action and every read of a view, beside the run's own. */
  readonly latencyMs?: number;
  /** Out of reach between these moments, in milliseconds since the start; no end: for good. Jobs go on. */
  readonly offline?: { readonly fromMs: number; readonly untilMs?: number };
  /** The status of this view is written once; then the view is deleted, or never refreshed. */
  readonly lostView?: { readonly name: string; readonly how: 'deleted' | 'frozen' };
  /** Jobs fail with BackoffLimitExceeded at their end. A number: only so many of them. */
  readonly failJob?: boolean | number;
  /** The images are lost: proofs fail until another Job of the same name has succeeded. */
  readonly lost?: boolean;
  /** A node stays away: Jobs end by its absence, and what the others have is whole. */
  readonly nodeAway?: boolean;
  /** Jobs reach their deadline after so many seconds, or their own `activeDeadlineSeconds`, whichever is less. */
  readonly deadlineJobSeconds?: number;
  /** The spoke's API server refuses connections while its agent goes on: actions and views fail. Jobs go on, works do too. */
  readonly apiServerDown?: boolean;
  /** Executions of these actions that admission denies, by the name of the action. A failing action runs twice, so an odd number shows False, then True. */
  readonly failActions?: Readonly<Record<string, number>>;
  /** The status of a Job stays empty. */
  readonly jobNeverStarts?: boolean;
  /** The three faults above are about Jobs of this name alone; default: about all. */
  readonly faultyJob?: string;
  /** All Jobs that run go on, past their end, until this is taken off. */
  readonly jobsHeld?: boolean;
  /** Manifests of works cannot be applied; a text is what the spoke says. */
  readonly failWork?: boolean | string;
  /** Applied objects are never found when works look for them. */
  readonly workNeverAvailable?: boolean;
  /** Seconds until objects take their next status, in place of `WorkShape.seconds`; jitter comes on top. */
  readonly workSeconds?: number;
  /** Objects never take the status that `WorkShape` gives them: no Deployment becomes ready, no expected value appears. */
  readonly statusNeverChanges?: boolean;
}

/** Pace and statuses of objects on simulated spokes, whoever put them there. */
export interface WorkShape {
  /** Seconds from an object's creation, or a change of its spec, to its next status. */
  readonly seconds: number;
  /** Part of `seconds` that varies: 0.2 is plus or minus 20 %. */
  readonly jitter: number;
  /**
   * The status an object takes then, by its kind; it is merged into the one it has, and undefined leaves it alone. Deployments,
   * StatefulSets and DaemonSets become ready, and approved InstallPlans complete, without being named here.
   */
  readonly status?: Readonly<Record<string, NextStatus>>;
}

/** A status, or how it follows from the object and the name of its spoke. */
export type NextStatus =
  | Readonly<Record<string, unknown>>
  | ((object: StoredObject, spoke: string) => Readonly<Record<string, unknown>> | undefined);

/** The size and time of the Jobs on simulated spokes. */
export interface JobShape {
  /** Seconds from active to the end. */
  readonly seconds: number;
  /** Part of `seconds` that varies: 0.2 is plus or minus 20 %. */
  readonly jitter: number;
  /** Milliseconds from creation to active; default 1 000. */
  readonly startupMs?: number;
  /** Milliseconds between two reports of progress; default 5 000. */
  readonly progressMs?: number;
  /** Images of the release; default 12. */
  readonly images?: number;
  /** Bytes of the release; default 200 MB. */
  readonly bytes?: number;
  /** Nodes that a puller which leads others sums up; default one. */
  readonly nodes?: number;
}
