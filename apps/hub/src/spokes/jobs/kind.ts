/** Differences between kinds of jobs on spokes; the rest of this folder serves all kinds. Types alone. */

import type { ManagedCluster } from '@flotilla/api/ocm';
import type { BackupState, ClusterGroupUpgrade, ClusterGroupUpgradeStatus, PrecacheState } from '@flotilla/api/ran';
import type { SpokeJobMachine, Transport } from '@flotilla/rollout';
import type { SpokeJobNames, Workload } from '../transports/port/workload.ts';

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
