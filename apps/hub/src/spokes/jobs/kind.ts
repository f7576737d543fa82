/** Differences between kinds of jobs on spokes, facts of a step, and questions about states; the rest of this folder serves all kinds. Pure. */

import { perObject } from '@flotilla/api';
import type { ManagedCluster } from '@flotilla/api/ocm';
import type { BackupState, ClusterGroupUpgrade, ClusterGroupUpgradeStatus, PrecacheState } from '@flotilla/api/ran';
import type { SpokeJobMachine, Transport } from '@flotilla/rollout';
import type { SpokeJobNames, Workload } from '../transports/port/port.ts';

/** Words for sentences in a status. */
interface SpokeJobWords {
  /** `… goes on when it is` */
  readonly work: string;
  /** `… which is … this cluster` */
  readonly doing: string;
  /** `last seen …` */
  readonly active: string;
  /** Further reason for a refused pod, besides quotas and admission policies: `…, or …`. */
  readonly refusal?: string;
}

/** Spoke that a workload is for. */
interface WorkloadTarget {
  readonly upgradeUid: string;
  readonly managed: ManagedCluster | undefined;
  /** Absent where nothing of the workload depends on it. */
  readonly cluster?: string | undefined;
  /** Clusters of the upgrade. */
  readonly clusters: number;
}

/** States of all kinds of jobs. */
export type JobState = PrecacheState | BackupState;

/** Part of a kind of job by which one spoke is observed and planned. `S` are its states, `I` are its inputs. */
export interface ObservedJob<S extends JobState, I> {
  /** Value of `flotilla.io/work` on all its objects on the hub. */
  readonly work: string;
  readonly machine: SpokeJobMachine<S>;
  readonly names: SpokeJobNames;
  /** Transport for spokes where nothing was begun; default: actions and views. */
  readonly transport?: Transport | undefined;
  /** See `NamedJob`; `machine` must clean first too. */
  readonly cleansFirst?: boolean | undefined;
  readonly words: SpokeJobWords;
  readonly workload: (inputs: I, target: WorkloadTarget) => Workload;
  /**
   * Digest of the job's inputs for one cluster, or without one of what is the same for all; a spoke with another digest starts over. Absent when the
   * inputs never change.
   */
  readonly digest?: (inputs: I, cluster?: string) => string;
}

/** A kind of job of upgrades, whose statuses have its states. */
export interface SpokeJob<S extends JobState, I> extends ObservedJob<S, I> {
  readonly work: 'precache' | 'backup';
  /** Reads the spokes' states from an upgrade's status. */
  readonly statesIn: (status: ClusterGroupUpgradeStatus | undefined) => Readonly<Record<string, S>> | undefined;
  /** Reads the inputs from a stored upgrade and this process's configuration; undefined while its status names no such job. */
  readonly inputsIn: (upgrade: ClusterGroupUpgrade) => I | undefined;
  /** True while a pause stops the jobs of an upgrade; default: never. */
  readonly isStopped?: (upgrade: ClusterGroupUpgrade) => boolean;
}

/** Facts of a step besides the observation. */
export interface StepContext<S extends JobState = JobState> {
  readonly job: Pick<SpokeJob<S, never>, 'machine' | 'names' | 'words' | 'cleansFirst'>;
  readonly upgradeUid: string;
  readonly cluster: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Time at which the hub gives up on a spoke that does not answer, milliseconds since the epoch. */
  readonly deadlineAt: number;
  /** `namespace/name` of another upgrade that holds this spoke. */
  readonly claimedBy: string | undefined;
  /** The holder has its verdict for the spoke: only its leftovers hold the spoke. */
  readonly claimantEnded: boolean;
  /** Error of this spoke's last steps, as a sentence. */
  readonly trouble: string | undefined;
  /** Digest of the job's spec; absent when the spec never changes. */
  readonly digest: string | undefined;
  /** The job was stopped: what it left is removed, and nothing begins; default false. */
  readonly isStopping?: boolean;
  /** Another upgrade goes first: the hub's objects of this one are removed, and nothing is deleted on the spoke; default false. */
  readonly isYielding?: boolean;
  /** Since when the cluster is not available, milliseconds since the epoch; undefined when it is, or when nobody says. */
  readonly awaySince?: number | undefined;
  /** Reason that forbids new objects on this spoke. */
  readonly problem?: string | undefined;
  /** See `Workload`. */
  readonly failsWithoutNodes?: boolean | undefined;
}

/** True for a state in which no object leads to a job yet. */
export const isBeginning = (state: JobState): boolean => state === 'NotStarted' || state === 'PreparingToStart';

/** True for a state in which a spoke may have no job yet. */
export const isOnItsWay = (state: JobState): boolean => isBeginning(state) || state === 'Starting';

/** Counts the spokes without an object that leads to a job. */
export const countBeginning = perObject(
  (states: Readonly<Record<string, JobState>>): number => Object.values(states).filter(isBeginning).length,
);

/** True when every spoke has its verdict. */
export const haveAllVerdicts = perObject((states: Readonly<Record<string, JobState>>): boolean =>
  Object.values(states).every((state) => !isOnItsWay(state) && state !== 'Active'),
);
