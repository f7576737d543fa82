import type { Clock, Logger, Metrics } from '@flotilla/runtime';
import type { Caches } from '../caches.ts';
import type { NodeDrains } from '../drain/node-drains.ts';
import type { Ports } from '../ports.ts';

/** Dependencies of every reconciler of the operator. */
export interface ReconcilerDeps {
  readonly caches: Caches;
  readonly ports: Ports;
  readonly drains: NodeDrains;
  /** Namespace of the UpgradeConfig. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}
