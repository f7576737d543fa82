import { type Client, type Clock, type ObjectAccess, pause, type RefusedValues } from '@flotilla/runtime';
import { createTokenBucket } from './semantics.ts';

/** API server of a spoke, as actions and views use it: a real one, or a simulated spoke's store. */
export type SpokeAccess = Pick<ObjectAccess, 'findKind' | 'findResource' | 'get' | 'create' | 'mergePatch' | 'delete'>;

/** API server of a spoke, as ManifestWorks use it. */
export type WorkAccess = Pick<ObjectAccess, 'findKind' | 'findResource' | 'create' | 'mergePatch' | 'find' | 'apply' | 'deleteExactly'>;

/** Waits until the agent may write to the hub again. */
type HubLimiter = (signal: AbortSignal) => Promise<void>;

/** Creates the limiter of writes per second and burst; default: the stock agent's limit over actions and views together (spec/ocm 1.6). */
export function createHubLimiter(clock: Clock, qps?: number, burst?: number): HubLimiter {
  const bucket = createTokenBucket(qps, burst);
  return async (signal) => {
    await pause(clock, bucket.reserve(clock.now()), signal);
    signal.throwIfAborted();
  };
}

/** Hub, as the agent uses it. */
export type AgentHub = Pick<Client, 'list' | 'patch' | 'replace'>;

/** One act of the agent, for those who follow it. */
export type AgentEvent = 'action-executed' | 'action-failed' | 'view-read' | 'view-reported' | 'work-reported' | 'work-ended';

/** Dependencies of the reconciler of a kind. */
export interface KindDeps<T, A> {
  readonly hub: AgentHub;
  /** API server of the spoke, as the kind uses it. */
  readonly spoke: A;
  readonly clock: Pick<Clock, 'now'>;
  readonly limit: HubLimiter;
  /** Values of statuses that the hub refused before. Default: one that is refused refuses the status. */
  readonly refused?: RefusedValues;
  /** Returns the last known version. */
  readonly get: (name: string) => T | undefined;
  readonly onEvent?: (event: AgentEvent, name: string) => void;
}
