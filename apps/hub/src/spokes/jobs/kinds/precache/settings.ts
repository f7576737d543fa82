import type { PullerVariables, Transport } from '@flotilla/rollout';
import type { JobProfile } from './workload-inputs.ts';

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
