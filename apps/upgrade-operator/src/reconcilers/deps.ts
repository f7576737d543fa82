import type { Clock, Logger, Metrics } from '@flotilla/runtime';
import type { Caches } from '../caches.ts';
import type { NodeDrains } from '../drain/node-drains.ts';
import type { Ports } from '../ports.ts';

/** What every reconciler of the operator works with. */
export interface ReconcilerDeps {
  readonly caches: Caches;
  readonly ports: Ports;
  readonly drains: NodeDrains;
  /** Of the UpgradeConfig. */
  readonly namespace: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}
