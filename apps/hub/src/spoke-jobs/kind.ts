/** What sets one kind of job on spokes apart from another; everything else in this folder is the same for all of them. Types alone. */

import type { ManagedCluster } from '@flotilla/api/ocm';
import type { BackupState, ClusterGroupUpgrade, ClusterGroupUpgradeStatus, PrecacheState } from '@flotilla/api/ran';
import type { SpokeJobMachine } from '@flotilla/rollout';
import type { z } from 'zod';
import type { Transport } from '../spokes/choice.ts';
import type { SpokeJobNames, Workload } from '../spokes/port/workload.ts';

/** Words for sentences in a status. */
interface SpokeJobWords {
  /** `… goes on when it is` */
  readonly work: string;
  /** `… which is … this cluster` */
  readonly doing: string;
  /** `last seen …` */
  readonly active: string;
  /** Why a pod of it may not be admitted, besides quotas and admission policies: `…, or …`. */
  readonly refusal?: string;
}

/** The spoke a workload is for. */
interface WorkloadTarget {
  readonly upgradeUid: string;
  readonly managed: ManagedCluster | undefined;
  /** Clusters of the upgrade. */
  readonly clusters: number;
}

/** The states of all kinds of jobs. */
export type JobState = PrecacheState | BackupState;

/** A kind of job that the hub runs on spokes. `S` are its states, `I` is what one upgrade wants of it. */
export interface SpokeJob<S extends JobState, I> {
  /** Value of `flotilla.io/work` on everything it creates on the hub, and kind of its steps in the queue. */
  readonly work: 'precache' | 'backup';
  readonly machine: SpokeJobMachine<S>;
  readonly states: z.ZodType<S>;
  readonly names: SpokeJobNames;
  /** How spokes are reached where nothing was begun; default: by actions and views. */
  readonly transport?: Transport | undefined;
  /** See `NamedJob`; the machine is one that does so too. */
  readonly cleansFirst?: boolean | undefined;
  readonly words: SpokeJobWords;
  /** Queue priority of a step, by state; lower goes first. */
  readonly priorities: Readonly<Record<S, number>>;
  /** The spokes' states in an upgrade's status. */
  readonly statesIn: (status: ClusterGroupUpgradeStatus | undefined) => Readonly<Record<string, S>> | undefined;
  /** What a stored upgrade wants, by its status and this process's own configuration; undefined while its status names no such job. */
  readonly inputsIn: (upgrade: ClusterGroupUpgrade) => I | undefined;
  readonly workload: (inputs: I, target: WorkloadTarget) => Workload;
  /** Digest of what the job is to do: a spoke on which another was done starts over. Absent when that never changes. */
  readonly digest?: (inputs: I) => string;
}
