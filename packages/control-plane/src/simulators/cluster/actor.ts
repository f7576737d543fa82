import type { Client, Clock, Logger } from '@flotilla/runtime';
import type { ClusterCaches } from './caches.ts';

/** What actors of one simulated cluster share. */
export interface ActorDeps {
  readonly client: Client;
  readonly caches: ClusterCaches;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pace: ClusterPace;
  /** As they are now: a test changes them while it runs. */
  readonly faults: () => ClusterFaults;
}

/** How long things take, in milliseconds. */
export interface ClusterPace {
  /** From the wish for another version to its being applied. */
  readonly controlPlaneMs: number;
  /** From a Machine to its Node. */
  readonly machineMs: number;
  /** From a drained Node to its being changed. */
  readonly nodeMs: number;
  /** From an applied version to the pools' taking it up. */
  readonly poolMs: number;
}

/** What does not happen for the moment. */
export interface ClusterFaults {
  /** No Machine becomes a Node. */
  readonly machinesHeld?: boolean;
  /** No version is applied. */
  readonly controlPlaneHeld?: boolean;
  /** No Node is changed. */
  readonly nodesHeld?: boolean;
  /** No update is offered. */
  readonly updatesHeld?: boolean;
}

/** How soon something that is under way is looked at again. */
export const LOOK_AGAIN_MS = 50;
