import type { Client, Clock, RefusedValues } from '@flotilla/runtime';
import type { HubLimiter } from '../hub-limiter.ts';

/** Dependencies of the reconciler of a kind. */
export interface KindDeps<T, A> {
  readonly hub: Client;
  /** API server of the spoke, as the kind uses it. */
  readonly spoke: A;
  readonly clock: Clock;
  readonly limit: HubLimiter;
  /** Values of statuses that the hub refused before. Default: one that is refused refuses the status. */
  readonly refused?: RefusedValues;
  /** Returns the last known version. */
  readonly get: (name: string) => T | undefined;
}
