import type { Client, Clock, Logger } from '@flotilla/runtime';
import type { ClusterCaches } from './caches.ts';

/** Parts that the actors of one simulated cluster share. */
export interface ActorDeps {
  readonly client: Client;
  readonly caches: ClusterCaches;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pace: ClusterPace;
  /** By the node's uid, which another cluster may use too. */
  readonly drains: Map<string, Drain>;
  /** As they are now: a test changes them while it runs. */
  readonly faults: () => ClusterFaults;
}

/** A drain that was asked for. */
export interface Drain {
  readonly since: number;
  /** Time at which it may be tried again. */
  againAt: number;
  /** Since when the node is drained, so that changing it takes its time. */
  drainedAt?: number;
}

/** Pace of a simulated cluster, in milliseconds. */
export interface ClusterPace {
  /** From the wish for another version to its being applied. */
  readonly controlPlaneMs: number;
  /** From a Machine to its Node. */
  readonly machineMs: number;
  /** From a drained Node to its being changed. */
  readonly nodeMs: number;
  /** From an applied version to the pools' taking it up. */
  readonly poolMs: number;
  /** From a cordon to the machine config daemon's giving the drain up: it is Degraded then, and the drain goes on. */
  readonly drainMs: number;
  /** From one try of a drain to the next, in its first ten minutes and after them. Really a minute and five. */
  readonly drainAgainMs: readonly [soon: number, later: number];
  /** Time until the next look at a change that is under way. */
  readonly lookAgainMs: number;
}

/** Changes that do not happen for the moment. */
export interface ClusterFaults {
  /** No version is applied. */
  readonly controlPlaneHeld?: boolean;
  /** No Node is changed. */
  readonly nodesHeld?: boolean;
  /** No update is offered. */
  readonly updatesHeld?: boolean;
}
