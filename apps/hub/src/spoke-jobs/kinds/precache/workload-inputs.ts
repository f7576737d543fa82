import type { PrecachingSpec } from '@flotilla/api/ran';
import type { PullerVariables } from './puller-variables.ts';
import type { SpokeNode } from './spoke-node.ts';

/** `least-privilege`: the folder of the runtime's socket and one Role. `talm`: the reference's shape, cluster-admin and host mounts. */
export type JobProfile = 'least-privilege' | 'talm';

/** What the objects are made from. */
export interface WorkloadInputs {
  readonly upgradeUid: string;
  readonly spec: PrecachingSpec;
  /** Image of the puller. */
  readonly image: string;
  /** Seconds the job may run. */
  readonly deadlineSeconds: number;
  readonly profile: JobProfile;
  readonly node: SpokeNode;
  /** Variables of the puller that are the same on every spoke; those of the node win. */
  readonly variables: PullerVariables;
  /** Certificate authorities for the puller, PEM; empty for none. */
  readonly caBundle: string;
}
