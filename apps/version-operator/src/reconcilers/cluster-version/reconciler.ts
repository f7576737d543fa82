import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { clusterVersionTrouble, isEdge, type KnownUpdates, nextReport, type WorkReport } from '@flotilla/release';
import {
  type Channel,
  type Client,
  type Clock,
  type Logger,
  type Metrics,
  type Reconciler,
  type ReconcilerOptions,
  type RefusedValues,
  replaceStatus,
  startReconciler,
  type Trouble,
  watch,
} from '@flotilla/runtime';
import { applyVersion, type VersionActors } from './apply.ts';
import { observe, type VersionCaches } from './observe.ts';
import { statusOf } from './status.ts';

interface VersionDeps extends VersionActors {
  readonly client: Client;
  readonly caches: VersionCaches;
  /** Wakes the reconcile for what no cache shows: the worker's reports, and releases on their way. */
  readonly told: Channel;
  /** Known updates; undefined before there are any. */
  readonly updates?: () => KnownUpdates | undefined;
  readonly pendingDeletions: () => readonly string[] | undefined;
  /** Told of a pass over a version that fails; one failure is told once. */
  readonly onFailure?: (version: string) => void;
  /** Told of each failure of a reconcile, before the status is. */
  readonly onTrouble: ReconcilerOptions['onTrouble'];
  readonly isObserving: boolean;
  /** Values of the status that the server refused. */
  readonly refused: RefusedValues;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics;
}

/** Progress alone is written so often at most, milliseconds; whatever else changes, at once. */
const PROGRESS_EVERY_MS = 1_000;

/** Reconciles the one ClusterVersion of a cluster until the signal aborts. */
export function startVersionReconciler(deps: VersionDeps, signal: AbortSignal): Reconciler {
  const { caches, told, logger, metrics, clock } = deps;
  const reconcile = versionReconcile(deps);
  const concerned = { enqueue: () => [CLUSTER_VERSION_NAME] };
  return startReconciler({
    name: 'clusterversion',
    for: watch(caches.versions),
    watches: [
      told,
      watch(caches.operators, { ...concerned, gatherMs: 500 }),
      watch(caches.adminGates, concerned),
      watch(caches.adminAcks, concerned),
    ],
    backOff: { baseMs: 100, maxMs: 10_000 },
    logger,
    metrics,
    clock,
    signal,
    reconcile: (name) => reconcile(name),
    onTrouble: async (name, trouble, context) => {
      // a status that cannot be written says nothing: an event may
      await deps.onTrouble(name, trouble, context);
      await tellTrouble(name, trouble, deps);
    },
  });
}

/** A ClusterVersion that could not be reconciled so often is said to be in trouble. */
const TROUBLE_AFTER = 15;

async function tellTrouble(
  name: string,
  { kind, message, times }: Trouble,
  { client, caches, isObserving, refused, clock }: VersionDeps,
): Promise<void> {
  const object = caches.versions.get({ name });
  if (!object || isObserving || kind === 'waiting' || (kind === 'retry' && times < TROUBLE_AFTER)) return;
  await replaceStatus(client, ClusterVersion, object, clusterVersionTrouble(object, message, clock.now()), { refused });
}

/** One reconcile after the other: remembers what was told last, and when. */
function versionReconcile(deps: VersionDeps) {
  const { client, caches, updates, pendingDeletions, onFailure, clock, isObserving, refused, taker, worker } = deps;
  let told: WorkReport | undefined;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  return async (name: string) => {
    if (name !== CLUSTER_VERSION_NAME) return undefined;
    const observed = observe(name, caches, taker.taken.featureGates);
    if (!observed) return undefined;
    const report = nextReport(told, applyVersion(observed.effective, deps));
    const now = clock.now();
    const waitMs = toldAtMs + PROGRESS_EVERY_MS - now;
    if (waitMs > 0 && !isEdge(told, report) && told?.generation === report.generation) return { requeueAfterMs: waitMs };
    const { status, changesAtMs } = statusOf(
      observed.object,
      { work: report, updates: updates?.(), pendingDeletions: pendingDeletions() },
      caches,
      now,
    );
    // a definition that was updated takes what it refused before
    if (isEdge(told, report)) refused.forget();
    if (!isObserving) await replaceStatus(client, ClusterVersion, observed.object, status, { refused });
    if (report.failure && !told?.failure) onFailure?.(report.release.version);
    [told, toldAtMs] = [report, now];
    const moments = [changesAtMs, worker.changesAtMs].flatMap((at) => (at === undefined ? [] : [Math.max(at - now, 1_000)]));
    const waits = [...moments, ...(taker.againInMs === undefined ? [] : [Math.max(taker.againInMs, 1_000)])];
    return waits.length > 0 ? { requeueAfterMs: Math.min(...waits) } : undefined;
  };
}
