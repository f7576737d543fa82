/** What sets one kind of job on spokes apart from another; everything else in this folder is the same for all of them. Types alone. */

import type { ManagedCluster } from '@flotilla/api/ocm';
import type { BackupState, ClusterGroupUpgrade, ClusterGroupUpgradeStatus, PrecacheState } from '@flotilla/api/ran';
import type { SpokeJobMachine } from '@flotilla/machines';
import type { ViewTarget } from '@flotilla/rollout';
import type { z } from 'zod';

/** One object to create on a spoke, and the action that does it. */
export interface SpokeManifest {
  /** Name of the action. */
  readonly action: string;
  readonly template: Readonly<Record<string, unknown>> & { readonly kind: string };
  /** Not needed for the job to start: created once the job is, so that the job begins earlier. */
  readonly afterJob?: true;
}

/** A view: its name in the spoke's hub namespace, and what it asks for. */
export interface ViewDefinition {
  readonly name: string;
  /** How the agent is to find the kind. */
  readonly resource: string;
  readonly target: ViewTarget;
}

/** Names on spoke and hub. */
export interface SpokeJobNames {
  /** On the spoke. */
  readonly namespace: string;
  readonly job: string;
  readonly clusterRoleBinding: string;
  /** The ManifestWork that carries all of it. */
  readonly manifestWork: string;
  /** Actions that every kind of job has. */
  readonly actions: { readonly deleteNamespace: string; readonly deleteClusterRoleBinding: string; readonly createJob: string };
  readonly views: { readonly namespace: ViewDefinition; readonly job: ViewDefinition; readonly progress?: ViewDefinition };
}

/** Words for sentences in a status. */
export interface SpokeJobWords {
  /** `… goes on when it is` */
  readonly work: string;
  /** `… which is … this cluster` */
  readonly doing: string;
  /** `last seen …` */
  readonly active: string;
  /** Why a pod of it may not be admitted, besides quotas and admission policies: `…, or …`. */
  readonly refusal?: string;
}

/** What is done on one spoke. */
export interface Workload {
  /** Objects to create, in order; the namespace is the first, the job the last. */
  readonly manifests: () => readonly SpokeManifest[];
  /** Actions whose execution leaves the spoke clean after the job. */
  readonly deletions: readonly string[];
  /** Seconds between the agent's polls of the job. */
  readonly jobViewSeconds: number;
  /** Seconds between its polls of the progress; absent when there is none to see. */
  readonly progressViewSeconds: number | undefined;
  /** Milliseconds the hub waits for a verdict, from the spoke's first view on, or from the request while there can be none. */
  readonly patienceMs: number;
  /** Why nothing may be put on this spoke: what somebody has to mend. A job that is there goes on. */
  readonly problem?: string | undefined;
}

/** The spoke a workload is for. */
export interface WorkloadTarget {
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
  /** What an earlier attempt may have left is deleted without looking first; the machine is one that does so too. */
  readonly cleansFirst?: boolean;
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
