/** Workload of a kind of job on a spoke, for any transport. Types, and the workload without objects. */
import type { ViewTarget } from '@flotilla/rollout';

/** An object to create on a spoke, and its action. */
export interface SpokeManifest {
  /** Name of the action. */
  readonly action: string;
  readonly template: Readonly<Record<string, unknown>> & { readonly kind: string };
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
  /** Seconds between the agent's polls of the job. */
  readonly jobViewSeconds: number;
  /** Milliseconds that the hub waits for a verdict after the spoke's first view, or after the request while there can be no view. */
  readonly patienceMs: number;
  /** Reason that forbids new objects on this spoke until somebody fixes it. An existing job goes on. */
  readonly problem?: string | undefined;
  /** The job fails where the spoke refuses to create what its other nodes need; default false. */
  readonly failsWithoutNodes?: boolean | undefined;
}

/** Workload that only deletes. */
export const cleaningOf = (deletions: readonly string[]): Workload => ({
  manifests: () => [],
  deletions,
  jobViewSeconds: 0,
  patienceMs: 0,
});
