import { CLUSTER_VERSION_NAME, type ClusterVersion, CONFIG_NAME } from '@flotilla/api/config';
import { ACCEPT_RISKS } from '@flotilla/release';
import {
  type Channel,
  type Client,
  type Clock,
  createChannel,
  type Logger,
  type Metrics,
  type Reconciler,
  startReconciler,
} from '@flotilla/runtime';
import { createClusterWriter, createObserver, type WouldWrite } from './apply/cluster-writer.ts';
import { Deletions } from './apply/deletions.ts';
import { DriftTeller, MendPace } from './apply/drift-teller.ts';
import { PayloadWorker } from './apply/worker.ts';
import { type ClusterView, featuresOf, readCluster, versionCreated } from './cluster-view.ts';
import { serveVersionMetrics } from './metrics/version-metrics.ts';
import { type GivenRelease, readFirstRelease } from './payload/first-release.ts';
import { startPrefetch } from './payload/prefetch.ts';
import { type LoadedRelease, readRelease } from './payload/release.ts';
import type { SourceSurroundings } from './payload/release-source.ts';
import { ReleaseTaker } from './payload/release-taker.ts';
import type { ReleaseFiles, ReleaseSource } from './payload/retrieve-release.ts';
import { observe } from './reconcilers/cluster-version/observe.ts';
import { startVersionReconciler } from './reconcilers/cluster-version/reconciler.ts';
import { type StatusParts, statusOf } from './reconcilers/cluster-version/status.ts';
import { startClusterUpdates, type UpdateSources } from './updates/cluster-updates.ts';
import type { Updates } from './updates/reconciler.ts';
import { VersionEvents } from './version-events.ts';

/** Options of an operator. */
export interface VersionOperatorOptions {
  readonly client: Client;
  /** The release that the operator is started with. */
  readonly given: GivenRelease;
  /** Files of the release that the cluster runs, where that is another one. */
  readonly reopen: (image: string, signal: AbortSignal) => Promise<ReleaseFiles>;
  readonly source: (surroundings: SourceSurroundings) => ReleaseSource;
  /** True when the release of a pre-cache is read ahead; default no. */
  readonly isPrefetching?: boolean;
  readonly profile: string;
  readonly excludeIdentifier?: string;
  readonly alwaysEnabled: readonly string[];
  /** True when a degraded ClusterOperator holds an update to a version up. */
  readonly degradedBlocks: (version: string) => boolean;
  readonly passEveryMs: number;
  /** Other features are on than in the run before: everything is applied in order. Default false. */
  readonly isChanged?: boolean;
  /** Services that are asked for updates; default none. */
  readonly updates?: UpdateSources;
  /** Told of each write that is not done; then nothing is written. */
  readonly observe?: (write: WouldWrite) => void;
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock: Clock;
}

/** Changes are gathered for so long, milliseconds: a pass reports each of its thousand manifests twice. */
const GATHER_MS = 50;

/**
 * Applies releases as the cluster's ClusterVersion asks until the signal aborts, or until the cluster turns on other features than the release
 * was read with: then the caller runs it again, with `isChanged`.
 */
export async function runVersionOperator(options: VersionOperatorOptions, stop: AbortSignal): Promise<void> {
  const outdated = new AbortController();
  const signal = AbortSignal.any([stop, outdated.signal]);
  const cluster = await readCluster(options, signal);
  await versionCreated(cluster.caches, options.logger, signal);
  if (signal.aborted) return;

  const events = new VersionEvents(options, cluster.version);
  const release = await loadFirstRelease(options, { cluster, events }, signal);
  const run: Run = { options, cluster, release, outdated, signal, told: createChannel(), events };
  const worker = createWorker(run);
  const { taker, source } = createTaker(run, worker);
  const mending = startMending(run, worker);
  const prefetch = options.isPrefetching ? startPrefetch({ ...options, source, onTrouble: events.onTrouble, signal }) : undefined;
  const updates = startUpdates(run, worker);
  using metrics = serveMetrics(run, worker, updates);
  const reconciler = startVersion(run, { worker, taker, updates: updates?.known, onFailure: metrics?.countFailure });
  const unsubscribe = [cluster.settings.featureGates.subscribe(() => rerunOnOtherFeatures(run, taker)), restartOnOtherContext(run, worker)];
  // They may have changed since the release was read.
  rerunOnOtherFeatures(run, taker);
  try {
    await worker.run(signal);
  } finally {
    for (const end of unsubscribe) end();
    await Promise.all([...[reconciler, updates, prefetch, mending].map((part) => part?.stopped), cluster.stopped()]);
    await events.close();
  }
}

/** Applies releases until the signal aborts, whatever features the cluster turns on meanwhile. */
export async function keepRunning(options: VersionOperatorOptions, stop: AbortSignal): Promise<void> {
  for (let isChanged = false; !stop.aborted; isChanged = true) await runVersionOperator({ ...options, isChanged }, stop);
}

interface Run {
  readonly options: VersionOperatorOptions;
  readonly cluster: ClusterView;
  readonly release: LoadedRelease;
  /** Ends the run, which is begun again. */
  readonly outdated: AbortController;
  readonly signal: AbortSignal;
  readonly told: Channel;
  readonly events: VersionEvents;
}

const enqueueVersion = ({ told }: Run): void => told.enqueue(CLUSTER_VERSION_NAME, GATHER_MS);

/** Facts beside the caches by which a ClusterVersion is judged. */
interface JudgedWith extends Pick<StatusParts, 'work' | 'pendingDeletions'> {
  readonly featureGates: ReadonlySet<string>;
}

/** The ClusterVersion as it counts, with the status of this moment: the stored one may be of before a restart. Undefined where there is none. */
function currentVersion({ caches }: ClusterView, { featureGates, ...parts }: JudgedWith, nowMs: number): ClusterVersion | undefined {
  const observed = observe(CLUSTER_VERSION_NAME, caches, featureGates);
  return observed && { ...observed.effective, status: statusOf(observed.object, parts, caches, nowMs).status };
}

/** The features of this moment decide which manifests of a release count. */
const readingOf = ({ profile, excludeIdentifier }: VersionOperatorOptions, { settings }: ClusterView) => ({
  profile,
  featureSet: featuresOf(settings, '').featureSet,
  gatesOf: (version: string) => featuresOf(settings, version).listed,
  excludeIdentifier,
});

async function loadFirstRelease(
  options: VersionOperatorOptions,
  { cluster, events: { refused } }: Pick<Run, 'cluster' | 'events'>,
  signal: AbortSignal,
): Promise<LoadedRelease> {
  const { given, reopen, observe, client, clock, logger } = options;
  const judged = () => currentVersion(cluster, { featureGates: new Set(), work: undefined, pendingDeletions: undefined }, clock.now());
  const loaded = await readFirstRelease(
    { given, reopen, clusterVersion: cluster.version, judged, isObserving: observe !== undefined, client, refused, clock, logger },
    (files, { image, verified }) => readRelease(files, { ...readingOf(options, cluster), image, verified, local: true, signal }),
    signal,
  );
  const { release, manifests, excluded } = loaded;
  logger.info(
    { release: release.version, image: release.image, manifests: manifests.length, excluded: excluded.length },
    'Loaded the release',
  );
  return loaded;
}

function createWorker(run: Run): PayloadWorker {
  const { client, clock, logger, observe, degradedBlocks, passEveryMs } = run.options;
  const { live, budget, wakeups, context } = run.cluster;
  const writer = observe ? createObserver(client, budget, observe) : createClusterWriter(client, budget);
  const drift = new DriftTeller({ clock, logger, tell: (event) => run.events.record(event) });
  const tools = { client, live, writer, budget, deletions: new Deletions(client, { isObserving: writer.isObserving, logger }), drift };
  return new PayloadWorker({ tools, wakeups, clock, logger, context, degradedBlocks, passEveryMs, onReport: () => enqueueVersion(run) });
}

function createTaker(run: Run, worker: PayloadWorker): { readonly taker: ReleaseTaker; readonly source: ReleaseSource } {
  const { options, cluster, release, signal, events } = run;
  const { clock, logger, observe } = options;
  const source = options.source({
    applied: () => taker.taken.manifests,
    clusterVersion: cluster.version,
    proxy: () => cluster.settings.proxies.get({ name: CONFIG_NAME }),
  });
  const taker: ReleaseTaker = new ReleaseTaker(release, {
    source,
    reading: () => readingOf(options, cluster),
    clusterVersion: () => {
      const { featureGates } = taker.taken;
      return currentVersion(cluster, { featureGates, work: worker.report(), pendingDeletions: worker.pendingDeletions() }, clock.now());
    },
    clock,
    logger,
    signal,
    tell: (event) => !observe && events.record(event),
    onProgress: () => {
      // they may have changed while it was read
      rerunOnOtherFeatures(run, taker);
      enqueueVersion(run);
    },
  });
  return { taker, source };
}

/** Puts objects back that drift from what was applied, one reconcile per object. */
function startMending({ options, cluster, signal, events }: Run, worker: PayloadWorker): Reconciler {
  const { clock, logger, metrics } = options;
  const drifted = createChannel();
  const pace = new MendPace(clock);
  cluster.live.onDrift = ({ key }) => drifted.enqueue(key, pace.delayMs(key));
  return startReconciler({
    name: 'drift',
    watches: [drifted],
    concurrency: 4,
    backOff: { baseMs: 200, maxMs: 30_000 },
    logger,
    metrics,
    clock,
    signal,
    reconcile: async (key) => {
      if (await worker.mend(key)) pace.count(key);
      return undefined;
    },
    onTrouble: events.onTrouble,
  });
}

function startUpdates(run: Run, worker: PayloadWorker): Updates | undefined {
  const { options, cluster, events, signal } = run;
  const { caches, settings } = cluster;
  if (!options.updates) return undefined;
  const gates = () => worker.work?.release.featureGates ?? new Set<string>();
  return startClusterUpdates(
    {
      ...options,
      versions: caches.versions,
      proxies: settings.proxies,
      running: () => worker.work?.release.release,
      sources: options.updates,
      featureGates: gates,
      asksAlerts: () => gates().has(ACCEPT_RISKS),
      onChange: () => enqueueVersion(run),
      onTrouble: events.onTrouble,
    },
    signal,
  );
}

function serveMetrics({ options, cluster: { caches } }: Run, worker: PayloadWorker, updates: Updates | undefined) {
  const { metrics, client, clock } = options;
  const applied = () => {
    const { release, createdAt } = worker.work?.release ?? {};
    return release && { version: release.version, image: release.image, createdAt };
  };
  const work = () => ({ release: applied(), progress: worker.report() });
  return metrics && serveVersionMetrics({ metrics, client, ...caches, work, updatesFreshAtMs: () => updates?.freshAtMs(), clock });
}

function startVersion(
  { options, cluster, told, signal, events }: Run,
  parts: Pick<Parameters<typeof startVersionReconciler>[0], 'worker' | 'taker' | 'updates' | 'onFailure'>,
): Reconciler {
  const { isChanged = false, observe } = options;
  return startVersionReconciler(
    {
      ...options,
      ...parts,
      updates: parts.updates,
      isChanged,
      caches: cluster.caches,
      told,
      pendingDeletions: () => parts.worker.pendingDeletions(),
      isObserving: observe !== undefined,
      refused: events.refused,
      onTrouble: events.onTrouble,
    },
    signal,
  );
}

/** Ends the run when other features are on than the applied release was read with, because they decide what it consists of. */
function rerunOnOtherFeatures({ options: { logger }, cluster: { settings }, outdated }: Run, { taken }: ReleaseTaker): void {
  const { version } = taken.release;
  const { featureSet, listed } = featuresOf(settings, version);
  // a list without this version says nothing about it
  const isSame = featureSet === taken.featureSet && (!listed || listed.symmetricDifference(taken.featureGates).size === 0);
  if (isSame || outdated.signal.aborted) return;
  logger.info({ release: version }, 'Other features are on, reading the release again');
  outdated.abort(new Error('other features are on'));
}

/** Begins a pass at once when the cluster fills in other values into objects. */
function restartOnOtherContext({ cluster: { settings, caches } }: Run, worker: PayloadWorker): () => void {
  const filledIn = [settings.proxies, settings.apiServers, settings.infrastructures, caches.versions];
  const ends = filledIn.map((cache) => cache.subscribe(() => worker.lookAgain()));
  return () => {
    for (const end of ends) end();
  };
}
