import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, CONFIG_NAME, VERSION_NAMESPACE } from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { ACCEPT_RISKS, type AcceptanceEvent } from '@flotilla/release';
import {
  type Client,
  type Clock,
  createChannel,
  createEventRecorder,
  type Logger,
  type Metrics,
  startReconciler,
  troubleEvents,
  WatchCache,
} from '@flotilla/runtime';
import { type ClusterWriter, createClusterWriter, createObserver, type WouldWrite } from './apply/cluster-writer.ts';
import { Deletions } from './apply/deletions.ts';
import { DriftTeller } from './apply/drift-teller.ts';
import { MendPace } from './apply/mend-pace.ts';
import { PayloadWorker } from './apply/worker.ts';
import { Kinds } from './cluster/kinds.ts';
import { LiveObjects } from './cluster/live-objects.ts';
import { RequestBudget } from './cluster/request-budget.ts';
import { buildContextOf, type ClusterSettings, clusterSettings, featuresOf } from './cluster/settings.ts';
import { Wakeups } from './cluster/wakeups.ts';
import { serveVersionMetrics } from './metrics/version-metrics.ts';
import { type GivenRelease, readFirstRelease } from './payload/first-release.ts';
import { startPrefetch } from './payload/prefetch.ts';
import { readRelease } from './payload/release.ts';
import type { SourceSurroundings } from './payload/release-source.ts';
import { ReleaseTaker } from './payload/release-taker.ts';
import type { ReleaseFiles, ReleaseSource } from './payload/source.ts';
import type { VersionCaches } from './reconcilers/cluster-version/observe.ts';
import { startVersionReconciler } from './reconcilers/cluster-version/reconciler.ts';
import { startClusterUpdates, type UpdateSources } from './updates/cluster-updates.ts';

/** What an operator is made of. */
export interface VersionOperatorOptions {
  readonly client: Client;
  /** The release that the operator is started with. */
  readonly given: GivenRelease;
  /** Files of the release that the cluster runs, where that is another one. */
  readonly reopen: (image: string, signal: AbortSignal) => Promise<ReleaseFiles>;
  readonly source: (surroundings: SourceSurroundings) => ReleaseSource;
  /** Whether the release that a pre-cache is for is read ahead; default no. */
  readonly isPrefetching?: boolean;
  readonly profile: string;
  readonly excludeIdentifier?: string;
  readonly alwaysEnabled: readonly string[];
  /** Whether a degraded ClusterOperator holds an update to a version up. */
  readonly degradedBlocks: (version: string) => boolean;
  readonly passEveryMs: number;
  /** Other features are on than in the run before: everything is applied in order. Default false. */
  readonly isChanged?: boolean;
  /** Where updates are asked for; default nowhere. */
  readonly updates?: UpdateSources;
  /** Told of each write that is not done; then nothing is written. */
  readonly observe?: (write: WouldWrite) => void;
  /** Name of the process in events. */
  readonly instance: string;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock: Clock;
}

/** What is told so close together is looked at once, milliseconds: a pass tells of each of its thousand manifests twice. */
const GATHER_MS = 50;

/**
 * Applies releases as the cluster's ClusterVersion asks until the signal aborts, or until other features are on than the release was read with:
 * then it is to be run again, with `isChanged`.
 */
export async function runVersionOperator(options: VersionOperatorOptions, stop: AbortSignal): Promise<void> {
  const { client, logger, metrics, clock } = options;
  const outdated = new AbortController();
  const signal = AbortSignal.any([stop, outdated.signal]);
  const surroundings = { logger, metrics, clock };
  const settings = clusterSettings(client, surroundings);
  const caches = versionCaches(client, surroundings);
  const started = [...Object.values(settings), ...Object.values(caches)];
  for (const cache of started) cache.start(signal);
  await Promise.all(started.map((cache) => cache.synced()));

  const version = () => caches.versions.get({ name: CLUSTER_VERSION_NAME });
  const context = () => buildContextOf(settings, version()?.metadata.uid);
  const wakeups = new Wakeups(clock);
  const budget = new RequestBudget(8);
  const live = new LiveObjects(client, wakeups, { ...surroundings, kinds: new Kinds(client, wakeups, clock) });
  live.start(signal);
  await seen(caches.versions, logger, signal);
  if (signal.aborted) return;

  const { given, reopen, profile, excludeIdentifier, alwaysEnabled, degradedBlocks, passEveryMs, observe } = options;
  const reading = () => {
    const { featureSet } = featuresOf(settings, '');
    return { profile, featureSet, gatesOf: (of: string) => featuresOf(settings, of).listed, excludeIdentifier };
  };
  const release = await readFirstRelease(
    { given, reopen, clusterVersion: version, isObserving: observe !== undefined, client, clock, logger },
    (files, { image, verified }) => readRelease(files, { ...reading(), image, verified, local: true, signal }),
    signal,
  );
  logger.info(
    {
      release: release.release.version,
      image: release.release.image,
      manifests: release.manifests.length,
      excluded: release.excluded.length,
    },
    'Loaded the release',
  );
  const features = featureKey(settings, release.release.version);
  const followed = settings.featureGates.subscribe(() => {
    if (featureKey(settings, release.release.version) === features) return;
    logger.info({ release: release.release.version }, 'Other features are on, reading the release again');
    outdated.abort(new Error('other features are on'));
  });

  const told = createChannel();
  const tellVersion = (): void => told.enqueue(CLUSTER_VERSION_NAME, GATHER_MS);
  const events = createEventRecorder({ client, controller: 'version-operator', instance: options.instance, logger, metrics, clock });
  const writer: ClusterWriter = observe ? createObserver(observe) : createClusterWriter(client, budget);
  const worker = new PayloadWorker({
    tools: {
      client,
      live,
      writer,
      budget,
      deletions: new Deletions(client),
      drift: new DriftTeller({ clock, logger, tell: (event) => events.record(eventOf(event, version())) }),
    },
    wakeups,
    clock,
    logger,
    context,
    degradedBlocks,
    passEveryMs,
    onReport: tellVersion,
  });
  const source = options.source({
    applied: () => taker.taken.manifests,
    clusterVersion: version,
    proxy: () => settings.proxies.get({ name: CONFIG_NAME }),
  });
  const taker: ReleaseTaker = new ReleaseTaker(release, {
    source,
    reading,
    clock,
    logger,
    signal,
    tell: (event) => !observe && events.record(eventOf(event, version())),
    onProgress: tellVersion,
  });

  const onTrouble = troubleEvents(observe ? { record: () => {} } : events, () => subjectOf(version()));
  const prefetch = options.isPrefetching ? startPrefetch({ client, source, onTrouble, logger, metrics, clock, signal }) : undefined;

  const drift = createChannel();
  const pace = new MendPace(clock);
  live.onDrift = ({ key }) => drift.enqueue(key, pace.delayMs(key));
  const mending = startReconciler({
    name: 'drift',
    watches: [drift],
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
    onTrouble,
  });
  const updates =
    options.updates &&
    startClusterUpdates(
      {
        client,
        versions: caches.versions,
        proxies: settings.proxies,
        running: () => worker.work?.release.release,
        sources: options.updates,
        asksAlerts: () => worker.work?.release.featureGates.has(ACCEPT_RISKS) ?? false,
        onChange: tellVersion,
        onTrouble,
        ...surroundings,
      },
      signal,
    );
  using served =
    metrics &&
    serveVersionMetrics({
      metrics,
      client,
      versions: caches.versions,
      operators: caches.operators,
      work: () => ({ release: releaseOf(worker), progress: worker.report() }),
      updatesFreshAtMs: () => updates?.freshAtMs(),
      clock,
    });
  const reconciler = startVersionReconciler(
    {
      client,
      worker,
      taker,
      alwaysEnabled,
      isChanged: options.isChanged ?? false,
      caches,
      told,
      pendingDeletions: () => worker.pendingDeletions(),
      updates: updates?.known,
      onFailure: served?.countFailure,
      isObserving: observe !== undefined,
      clock,
      logger,
      metrics,
    },
    signal,
  );
  const built = [settings.proxies, settings.apiServers, settings.infrastructures, caches.versions];
  const unsubscribe = [followed, ...built.map((cache) => cache.subscribe(() => worker.lookAgain()))];
  try {
    await worker.run(signal);
  } finally {
    for (const end of unsubscribe) end();
    await Promise.all([
      reconciler.stopped,
      updates?.stopped,
      prefetch?.stopped,
      mending.stopped,
      live.stopped(),
      ...started.map((cache) => cache.stopped()),
    ]);
    await events.close();
  }
}

/** Changes when other features are on under a version. */
function featureKey(settings: ClusterSettings, version: string): string {
  const { featureSet, listed } = featuresOf(settings, version);
  return JSON.stringify([featureSet, listed && [...listed].sort()]);
}

/** What is applied, for the metrics. */
function releaseOf({ work }: PayloadWorker) {
  const { release, createdAt } = work?.release ?? {};
  return release && { version: release.version, image: release.image, createdAt };
}

function versionCaches(
  client: Client,
  surroundings: { readonly logger: Logger; readonly metrics?: Metrics; readonly clock: Clock },
): VersionCaches {
  const configMap = (namespace: string, name: string) =>
    new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
  return {
    versions: new WatchCache(client, ClusterVersion, { ...surroundings, optional: true, absentRetryMs: 2_000 }),
    operators: new WatchCache(client, ClusterOperator, { ...surroundings, optional: true, absentRetryMs: 2_000 }),
    adminGates: configMap('openshift-config-managed', 'admin-gates'),
    adminAcks: configMap('openshift-config', 'admin-acks'),
  };
}

/** Waits until there is a ClusterVersion: somebody has to ask for a release. */
async function seen(versions: WatchCache<ClusterVersion>, logger: Logger, signal: AbortSignal): Promise<void> {
  if (versions.get({ name: CLUSTER_VERSION_NAME })) return;
  logger.warn({ clusterVersion: CLUSTER_VERSION_NAME }, 'Waiting for somebody to create the ClusterVersion');
  await new Promise<void>((resolve) => {
    const end = versions.subscribe(({ object }) => {
      if (object.metadata.name !== CLUSTER_VERSION_NAME) return;
      end();
      resolve();
    });
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const eventOf = ({ type, reason, message }: AcceptanceEvent, version: ClusterVersion | undefined) => ({
  type,
  reason,
  action: reason,
  note: message,
  regarding: subjectOf(version),
});

const subjectOf = (version: ClusterVersion | undefined) => ({
  apiVersion: ClusterVersion.apiVersion,
  kind: ClusterVersion.kind,
  // whoever looks for these events looks there, although the kind has no namespace
  namespace: VERSION_NAMESPACE,
  name: CLUSTER_VERSION_NAME,
  uid: version?.metadata.uid,
});
