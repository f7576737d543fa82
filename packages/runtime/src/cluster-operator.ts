import { ClusterOperator } from '@flotilla/api/config';
import { type Clock, systemClock } from '@flotilla/pace';
import { type Client, createMissing } from './client.ts';
import { logOnly } from './event-recorder.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { type Inertia, nextOperatorStatus, type OperatorReport, type ReporterMemory } from './operator-status.ts';
import { type ReconcileResult, startReconciler } from './reconciler.ts';
import { patchStatus } from './status.ts';
import { WatchCache } from './watch-cache.ts';
import { createChannel, watch } from './watches.ts';

export type { OperatorReport, ReportedCondition } from './operator-status.ts';

interface ClusterOperatorReporterOptions {
  readonly client: Client;
  /** Name of the ClusterOperator. */
  readonly name: string;
  /** Default: Degraded 2 minutes, everything else at once. */
  readonly inertia?: Inertia;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  /** Signal of the leader: two reporters of one name would report different things. */
  readonly signal: AbortSignal;
}

/** Keeps a ClusterOperator true to what was reported last. */
export interface ClusterOperatorReporter {
  /** Says how the operator is; costs nothing when that is what it said before. */
  report(report: OperatorReport): void;
  /** Resolves after the abort of the signal. */
  readonly stopped: Promise<void>;
}

/**
 * Begins to report. The ClusterOperator is made when it is not there, and made again when it is deleted; each change is one write of the
 * whole status, under the version it was judged by. Nothing is written before the first report.
 */
export function startClusterOperatorReporter(options: ClusterOperatorReporterOptions): ClusterOperatorReporter {
  const { client, name, logger, metrics, signal, clock = systemClock, inertia = { Degraded: 120_000 } } = options;
  const objects = new WatchCache(client, ClusterOperator, {
    fieldSelector: `metadata.name=${name}`,
    clock,
    logger,
    metrics,
    optional: true,
  });
  const reports = createChannel();
  let latest: OperatorReport | undefined;
  let memory: ReporterMemory = new Map();

  const reconcile = async (_: string, context: { signal: AbortSignal }): Promise<ReconcileResult> => {
    if (latest === undefined) return {};
    // Undefined when another has made it meanwhile: the watch tells of it.
    const object = objects.get({ name }) ?? (await createMissing(client, ClusterOperator, { metadata: { name }, spec: {} }, context));
    if (!object || object.metadata.deletionTimestamp !== undefined) return {};
    const next = nextOperatorStatus(object.status, latest, { inertia, memory, nowMs: clock.now() });
    memory = next.memory;
    await patchStatus(client, ClusterOperator, object, next.status, context);
    return { requeueAfterMs: next.afterMs };
  };
  const { stopped } = startReconciler({
    onTrouble: logOnly,
    name: 'cluster-operator',
    for: watch(objects),
    watches: [reports],
    reconcile,
    logger,
    metrics,
    clock,
    signal,
  });
  return {
    report(report) {
      latest = report;
      reports.enqueue(name);
    },
    stopped,
  };
}
