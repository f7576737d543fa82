import type { NodeRules, PrecachingSpec } from '@flotilla/api/ran';
import type { PullerVariables, SpokeNode } from '@flotilla/rollout';

/** `least-privilege` mounts the folder of the runtime's socket and has one Role. `talm` is the reference's job: cluster-admin and host mounts. */
export type JobProfile = 'least-privilege' | 'talm';

/** Inputs of the objects of a pre-cache. */
export interface WorkloadInputs {
  readonly upgradeUid: string;
  readonly spec: PrecachingSpec;
  /** Image of the puller. */
  readonly image: string;
  /** Deadline of the Job, in seconds. */
  readonly deadlineSeconds: number;
  readonly profile: JobProfile;
  readonly node: SpokeNode;
  /** Keep records of what was pulled on the node: a proof compares with them. */
  readonly keepsRecord?: boolean | undefined;
  /** Nodes to fill; absent: the one on which the Job runs. */
  readonly nodes?: NodeRules | undefined;
  /** Variables of the puller on every spoke; the node's own override them. */
  readonly variables: PullerVariables;
  /** Certificate authorities for the puller, PEM; empty for none. */
  readonly caBundle: string;
}
