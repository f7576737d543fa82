import { type Clock, type Metrics, serveSamples } from '@flotilla/runtime';
import type { createCaches } from '../caches.ts';
import { FLEET_METRICS } from './metric-table.ts';
import { fleetSamples } from './samples.ts';

/** Sources of the fleet's metrics. */
interface FleetMetricsOptions {
  readonly metrics: Metrics;
  readonly caches: Pick<ReturnType<typeof createCaches>, 'upgrades' | 'clusters'>;
  readonly jobs: readonly { stillSince(uid: string): number | undefined }[];
  readonly clock: Clock;
}

/** Serves the fleet's metrics while this process leads, so that no two hubs tell of one upgrade. */
export function serveFleetMetrics({ metrics, caches, jobs, clock }: FleetMetricsOptions): Disposable {
  return serveSamples(metrics, FLEET_METRICS, () =>
    fleetSamples({
      upgrades: caches.upgrades.list(),
      clusters: caches.clusters.list(),
      cluster: (name) => caches.clusters.get({ name }),
      oldestObservation: (uid) => earliest(jobs.map((job) => job.stillSince(uid))),
      now: clock.now(),
    }),
  );
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
