/** Inputs of a pre-cache: settings of the hub, and those of one workload. Types alone. */

import type { NodeRules, PrecachingSpec } from '@flotilla/api/ran';
import type { PullerVariables, SpokeNode, Transport } from '@flotilla/rollout';

/** Pre-caching settings of this hub, the same for every upgrade. */
export interface PrecacheSettings {
  /** Image of the puller; empty when none is configured. */
  readonly image: string;
  readonly profile: JobProfile;
  /** Images that a PreCachingConfig may name instead. */
  readonly imageAllow: readonly string[];
  /** Take no image from a PreCachingConfig, as the reference does; default false. */
  readonly talmStrict?: boolean;
  /** Transport to spokes; default: actions and views. */
  readonly transport?: Transport;
  /** Variables of the puller on every spoke, by name; empty ones are left out. A spoke's annotations win. */
  readonly variables: PullerVariables;
  /** Certificate authorities for the puller, PEM; empty for none. */
  readonly caBundle: string;
  /** Seconds between a spoke agent's polls of the job; a verdict is at most this late. */
  readonly jobViewSeconds: number;
  /** Least seconds between a puller's reports; more with many spokes, because each costs one write on the hub. */
  readonly progressViewSeconds: number;
  /** Milliseconds the hub waits for a verdict beyond the job's own deadline. */
  readonly graceMs: number;
}

/** `least-privilege` mounts the folder of the runtime's socket and has one Role. `talm` is the reference's job: cluster-admin and host mounts. */
export type JobProfile = 'least-privilege' | 'talm';

/** Inputs of the objects of a pre-cache. */
export interface WorkloadInputs {
  readonly upgradeUid: string;
  readonly spec: PrecachingSpec;
  /** Image of the puller. */
  readonly image: string;
  /** Cap of now, which is no part of the spec's digest: a puller that runs follows it; default none. */
  readonly bytesPerSecond?: number | undefined;
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
