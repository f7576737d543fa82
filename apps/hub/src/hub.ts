import { hostname } from 'node:os';
import { type Ref, refKey, refOfKey } from '@flotilla/api';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import type { QueueStore } from '@flotilla/queues';
import { repositoryOf } from '@flotilla/rollout';
import {
  type Channel,
  type Client,
  type Clock,
  createChannel,
  createEventRecorder,
  type EventRecorder,
  eventSubject,
  type Logger,
  type Metrics,
  startReconciler,
  troubleEvents,
} from '@flotilla/runtime';
import { startAutoUpgrades } from './auto-upgrades/reconciler.ts';
import { createCaches, createWorkerCaches, fillCaches } from './caches.ts';
import type { HubConfig } from './config.ts';
import { graphAccess } from './graph-access.ts';
import { startLeftovers } from './leftovers/reconciler.ts';
import { serveFleetMetrics } from './metrics/fleet-metrics.ts';
import { startPins } from './pins/reconciler.ts';
import { Placing } from './placements/apply.ts';
import { createPolicyReader } from './policy-reader.ts';
import { startRegistration } from './registration/reconciler.ts';
import { type BackupJobs, backupTeardown, createBackupJob } from './spoke-jobs/kinds/backup/job.ts';
import type { BackupSettings } from './spoke-jobs/kinds/backup/settings.ts';
import { createPrecacheJob, type PrecacheJobs, precacheTeardown } from './spoke-jobs/kinds/precache/job.ts';
import type { PrecacheSettings } from './spoke-jobs/kinds/precache/settings.ts';
import { SpokeJobs } from './spoke-jobs/reconciler.ts';
import { startSpokeJobs, startSpokeJobWorker } from './spoke-jobs/steps.ts';
import { SpokeRollouts } from './spoke-rollouts/reconciler.ts';
import { createRolloutStep, startRolloutSteps } from './spoke-rollouts/steps.ts';
import { createUpdateGraph } from './update-graph.ts';
import { UpgradeJobs } from './upgrades/jobs.ts';
import { UpgradeReconciler } from './upgrades/reconciler.ts';
import { upgradesOf, watchesOf } from './upgrades/watches.ts';

/** Dependencies of a hub, leader or worker. */
interface HubDeps {
  readonly client: Client;
  readonly store: QueueStore;
  readonly config: HubConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Leads until the signal aborts. */
export async function lead({ client, store, config, logger, metrics, clock }: HubDeps, signal: AbortSignal): Promise<void> {
  const now = () => clock.now();
  const caches = createCaches(client, { logger, metrics, clock }, config.tenancy, config.standalone);
  const settings = precacheSettings(config);
  const requeues = createChannel();
  const requeue = (upgrade: Ref) => requeues.enqueue(refKey(upgrade));
  const jobsDeps = { client, caches, logger, metrics, now, clock, onChange: requeue };
  const precache = new SpokeJobs(createPrecacheJob(settings, caches.configs), jobsDeps);
  const backup = new SpokeJobs(createBackupJob(backupSettings(config)), jobsDeps);
  await fillCaches(caches, logger, signal);
  using _fleet = serveFleetMetrics({ metrics, caches, jobs: [precache, backup], clock });

  const steps = { queue: store.queue, concurrency: config.stepConcurrency, signal, logger, metrics, clock };
  const stepDeps = { client, caches, logger, now, viewSeconds: config.jobViewSeconds, talmStrict: config.talmStrict };
  // Only Redis may have workers.
  const rolloutStep = createRolloutStep(stepDeps, store.kind === 'redis');
  const rolloutSteps = startRolloutSteps(rolloutStep, { ...steps, isRemote: false });
  const stepQueues = [startSpokeJobs(precache, steps), startSpokeJobs(backup, steps), rolloutSteps];
  const rollout = new SpokeRollouts({
    caches,
    queue: rolloutSteps,
    apply: rolloutStep,
    onProblem: requeue,
    clock,
    logger,
    metrics,
    signal,
    talmStrict: config.talmStrict,
  });
  const recorder = createEventRecorder({ client, controller: ClusterGroupUpgrade.kind, instance: hostname(), logger, metrics, clock });
  const spokeRollouts = rollout.start();
  const upgrades = startUpgrades({ ...jobsDeps, config, settings, precache, backup, rollout, recorder, requeues }, signal);
  const shared = { client, logger, metrics, clock };
  // Automatic upgrades reach the policies of all namespaces.
  const autoUpgrades = config.autoUpgrades && !config.tenancy ? startAutoUpgrades({ ...shared, caches, recorder }, signal) : undefined;
  const registration = config.standalone
    ? startRegistration({ ...shared, clusters: caches.clusters, recorder, namespace: config.namespace }, signal)
    : undefined;
  const teardowns = [
    { jobs: precache, ...precacheTeardown(settings.profile) },
    { jobs: backup, ...backupTeardown(backupSettings(config)) },
  ];
  const leftovers = [
    ...teardowns.map(({ jobs, deletions }) => startLeftovers({ ...shared, caches, recorder, now, jobs, deletions }, signal)),
    startPins({ ...shared, caches, recorder, now, jobs: precache, settings }, signal),
  ];
  await Promise.all([
    spokeRollouts.stopped,
    ...[upgrades, ...leftovers, ...stepQueues].map(({ stopped }) => stopped),
    autoUpgrades?.stopped,
    registration?.stopped,
  ]);
  await recorder.close();
  await upgrades.close();
}

/** Dependencies of `startUpgrades`. */
interface UpgradesDeps extends Omit<HubDeps, 'store'> {
  readonly caches: ReturnType<typeof createCaches>;
  readonly now: () => number;
  readonly settings: PrecacheSettings;
  readonly precache: PrecacheJobs;
  readonly backup: BackupJobs;
  readonly rollout: SpokeRollouts;
  readonly recorder: EventRecorder;
  /** Channel of upgrades whose status is out of date. */
  readonly requeues: Channel;
}

/** Starts the reconciler of upgrades, and what it asks. */
function startUpgrades(deps: UpgradesDeps, signal: AbortSignal) {
  const { client, caches, logger, metrics, now, clock, config, settings, precache, backup, rollout, recorder, requeues } = deps;
  const { updateGraphAllow: allow, updateGraphUrl, tenancy, talmStrict, proxy, insecureGraphCall: insecure } = config;
  const graph = createUpdateGraph({
    onAnswer: requeues.enqueue,
    onFailure: (err) => logger.warn({ err }, 'Asking an update graph failed'),
    access: graphAccess({ allow, updateGraphUrl, tenancy, talmStrict }),
    proxy,
    insecure,
  });
  const policies = createPolicyReader({ current: (ref) => caches.parents.get(ref), onRead: requeues.enqueue, talmStrict });
  const onPlaced = (upgrade: ClusterGroupUpgrade, error: unknown) => rollout.placed(upgrade, error);
  const reconciler = new UpgradeReconciler({
    client,
    caches,
    placing: new Placing({ client, caches, logger, signal, now, talmStrict, onPlaced }),
    jobs: new UpgradeJobs({
      client,
      caches,
      now,
      signal,
      precaching: { jobs: precache, settings },
      backup: { jobs: backup, settings: backupSettings(config) },
    }),
    rollout,
    recorder,
    standalone: config.standalone,
    logger,
    now,
    talmStrict,
    precacheImage: settings.image,
    precacheImageAllow: settings.imageAllow,
    updateGraphUrl,
    lookUpRelease: graph.lookUp,
    readPolicy: policies.read,
    isBusy: () => running.size().waiting > 0,
  });
  const running = startReconciler({
    name: 'cluster-group-upgrade',
    for: upgradesOf(caches),
    watches: [requeues, ...watchesOf(caches)],
    concurrency: 4,
    reconcile: (key) => reconciler.reconcile(key),
    onTrouble: troubleEvents(recorder, (key) => eventSubject(ClusterGroupUpgrade, caches.upgrades.get(refOfKey(key)))),
    logger,
    signal,
    metrics,
    clock,
  });
  return { stopped: running.stopped, close: () => graph.close() };
}

/** Runs the steps that a leader requests, until the signal aborts. It decides nothing and writes no status. */
export async function runWorker({ client, store, config, logger, metrics, clock }: HubDeps, signal: AbortSignal): Promise<void> {
  const caches = createWorkerCaches(client, { logger, metrics, clock }, config.tenancy);
  await fillCaches(caches, logger, signal);
  const deps = { client, caches, logger, now: () => clock.now() };
  const steps = { queue: store.queue, concurrency: config.stepConcurrency, signal, logger, metrics, clock };
  const rolloutStep = createRolloutStep({ ...deps, viewSeconds: config.jobViewSeconds, talmStrict: config.talmStrict }, true);
  const workers = [
    startSpokeJobWorker(createPrecacheJob(precacheSettings(config), caches.configs), deps, steps),
    startSpokeJobWorker(createBackupJob(backupSettings(config)), deps, steps),
    startRolloutSteps(rolloutStep, { ...steps, isRemote: true }),
  ];
  logger.info({ concurrency: config.stepConcurrency }, 'Worker takes steps');
  await Promise.all(workers.map(({ stopped }) => stopped));
}

function precacheSettings(config: HubConfig): PrecacheSettings {
  return {
    image: config.precacheImage,
    profile: config.precacheJobProfile,
    talmStrict: config.talmStrict,
    transport: config.talmStrict ? 'actions' : config.transport,
    imageAllow: config.precacheImageAllow.length > 0 ? config.precacheImageAllow : [repositoryOf(config.precacheImage)].filter(Boolean),
    variables: {
      REGISTRY_CONFIG: config.precacheRegistryConfig,
      HTTP_PROXY: config.precacheHttpProxy,
      HTTPS_PROXY: config.precacheHttpsProxy,
      NO_PROXY: config.precacheNoProxy,
      RETRY_FOR_SECONDS: String(config.precacheRetrySeconds ?? ''),
    },
    caBundle: config.precacheCaBundle,
    jobViewSeconds: config.jobViewSeconds,
    progressViewSeconds: config.progressViewSeconds,
    graceMs: config.precacheGraceSeconds * 1000,
  };
}

const backupSettings = ({ backupImage, jobViewSeconds, talmStrict }: HubConfig): BackupSettings => ({
  image: backupImage,
  jobViewSeconds,
  talmStrict,
});
