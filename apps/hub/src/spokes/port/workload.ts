/** What is put on a spoke, and by which names: of any kind of job, by any way. Types, and the workload that puts nothing. */
import type { ViewTarget } from '@flotilla/rollout';

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
  /** What it shows is taken for the target, whatever it says of whose it is, as the reference takes it; default false. */
  readonly trusted?: boolean;
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
  readonly views: { readonly namespace: ViewDefinition; readonly job: ViewDefinition };
}

/** What is done on one spoke. */
export interface Workload {
  /** Objects to create, in order; the namespace is the first, the job the last. */
  readonly manifests: () => readonly SpokeManifest[];
  /** Actions whose execution leaves the spoke clean after the job. */
  readonly deletions: readonly string[];
  /** Seconds between the agent's polls of the job. */
  readonly jobViewSeconds: number;
  /** Milliseconds the hub waits for a verdict, from the spoke's first view on, or from the request while there can be none. */
  readonly patienceMs: number;
  /** Why nothing may be put on this spoke: what somebody has to mend. A job that is there goes on. */
  readonly problem?: string | undefined;
}

/** A workload of which nothing is left to do but its deletions. */
export const cleaningOf = (deletions: readonly string[]): Workload => ({
  manifests: () => [],
  deletions,
  jobViewSeconds: 0,
  patienceMs: 0,
});
