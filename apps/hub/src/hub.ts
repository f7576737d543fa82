import { hostname } from 'node:os';
import { refKey, refOfKey } from '@flotilla/api';
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
import { BY_UID, createCaches, createLimitsCache, createWorkerCaches, fillCaches } from './caches.ts';
import type { HubConfig } from './config.ts';
import { graphAccess } from './graph-access.ts';
import { Limits } from './limits/limits.ts';
import { createPlaces, type FleetPlaces } from './limits/places.ts';
import { ByteShares } from './limits/shares.ts';
import { serveFleetMetrics } from './metrics/samples.ts';
import { Placing } from './placements/placing.ts';
import { createPolicyReader } from './policy-reader.ts';
import { startRegistration } from './registration/reconciler.ts';
import { Cleaning } from './spokes/cleaning.ts';
import { createSpokeStep } from './spokes/jobs/apply.ts';
import type { JobState, SpokeJob } from './spokes/jobs/kind.ts';
import { type BackupJobs, type BackupSettings, backupCleaning, createBackupJob } from './spokes/jobs/kinds/backup/job.ts';
import type { PrecacheSettings } from './spokes/jobs/kinds/precache/inputs.ts';
import { createPrecacheJob, type PrecacheJobs, precacheCleaning } from './spokes/jobs/kinds/precache/job.ts';
import { Unpinning } from './spokes/jobs/kinds/unpin/part.ts';
import { SpokeJobs } from './spokes/jobs/part.ts';
import { type CleanedJob, subjectOfLeftover } from './spokes/leftovers.ts';
import type { SpokeStep } from './spokes/part.ts';
import { Problems } from './spokes/problems.ts';
import { SpokeReconciler } from './spokes/reconciler.ts';
import { SpokeRollouts } from './spokes/rollout/part.ts';
import { createRolloutStep } from './spokes/rollout/step.ts';
import { createUpdateGraph } from './update-graph.ts';
import { UpgradeJobs } from './upgrades/jobs.ts';
import { UpgradeReconciler } from './upgrades/reconciler.ts';
import { upgradesOf, watchesOf } from './upgrades/watches.ts';
import { HandOver, startWorker } from './workers/hand-over.ts';

/** Dependencies of a hub, leader or worker. */
interface HubDeps {
  readonly client: Client;
  readonly store: QueueStore;
  readonly config: HubConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A moment for spokes that are clean at the same time, in milliseconds. */
const CLEAN_GATHER_MS = 200;

/** Leads until the signal aborts. */
export async function lead({ client, store, config, logger, metrics, clock }: HubDeps, signal: AbortSignal): Promise<void> {
  const now = () => clock.now();
  const caches = createCaches(client, { logger, metrics, clock }, config.tenancy, config.standalone, config.namespace);
  const settings = precacheSettings(config);
  const requeues = createChannel();
  const requeueOf = (uid: string, afterMs = 0) => {
    for (const { metadata } of caches.upgrades.byIndex(BY_UID, uid)) requeues.enqueue(refKey(metadata), afterMs);
  };
  const problems = new Problems({ onChange: requeueOf, now });
  const jobsDeps = { client, caches, logger, now, clock, signal, onFree: requeueOf, enqueue: (key: string) => spokes.enqueue(key) };
  const jobsOf = <S extends JobState, I>(job: SpokeJob<S, I>) =>
    new SpokeJobs(job, { ...jobsDeps, problems: (uid) => problems.of(job.work, uid) });
  const shares = new ByteShares({ caches, clock, limits: () => limits.now.limits });
  const precache = jobsOf(createPrecacheJob(settings, caches.configs, config.talmStrict ? undefined : shares.capOf));
  const backup = jobsOf(createBackupJob(backupSettings(config)));
  await fillCaches(caches, logger, signal);

  const stepDeps = { client, caches, logger, now, viewSeconds: config.jobViewSeconds, talmStrict: config.talmStrict };
  const step = createRolloutStep(stepDeps, store.isShared);
  const rollout = new SpokeRollouts({ ...stepDeps, step, problems });
  const recorder = createEventRecorder({ client, controller: ClusterGroupUpgrade.kind, instance: hostname(), logger, metrics, clock });
  const cleaningOf = (job: CleanedJob, claims: PrecacheJobs | BackupJobs) =>
    new Cleaning({ ...jobsDeps, job, claims, onClean: (uid) => requeueOf(uid, CLEAN_GATHER_MS) });
  const cleaning = [cleaningOf(precacheCleaning(settings.profile), precache), cleaningOf(backupCleaning(backupSettings(config)), backup)];
  const parts = [precache, backup, rollout, ...cleaning, new Unpinning({ ...jobsDeps, claims: precache, settings, recorder })];
  const work = { concurrency: config.stepConcurrency, signal, logger, metrics, clock };
  const take: SpokeStep = (key, taking) => spokes.take(key, taking);
  const worker = store.queue && startWorker([take], { ...work, queue: store.queue, isRemote: false });
  const spokes = new SpokeReconciler({
    ...work,
    parts,
    problems,
    isGone: (uid) => caches.upgrades.byIndex(BY_UID, uid).length === 0,
    onTrouble: troubleEvents(recorder, (key) => subjectOfLeftover(caches, key)),
    handOver: worker && new HandOver(worker, clock),
  });
  const spokesReconciler = spokes.start();
  const settled = (uid: string) => spokes.settled(uid);
  const { namespace, limitPulling: pulling, limitUpgrading: upgrading } = config;
  const limits = new Limits({ caches, options: { pulling, upgrading }, namespace, recorder, logger });
  // The reference knows no limits.
  const places = config.talmStrict ? undefined : createPlaces({ caches, limits, now, onFree: requeueOf });
  using _fleet = serveFleetMetrics({ metrics, caches, jobs: [precache, backup], places, clock });
  if (!config.talmStrict) shares.follow(caches.limits, spokes.enqueue, signal);
  const pass = { ...jobsDeps, metrics, config, settings, recorder, requeues };
  const upgrades = startUpgrades({ ...pass, precache, backup, rollout, cleaning, problems, settled, places });
  const own = { client, logger, metrics, clock };
  // Automatic upgrades reach the policies of all namespaces.
  const autoUpgrades =
    config.autoUpgrades && !config.tenancy
      ? startAutoUpgrades({ ...own, caches, recorder, talmStrict: config.talmStrict }, signal)
      : undefined;
  const registration = config.standalone
    ? startRegistration({ ...own, clusters: caches.clusters, recorder, namespace: config.namespace }, signal)
    : undefined;
  await Promise.all([
    ...[upgrades, spokesReconciler].map(({ stopped }) => stopped),
    worker?.stopped,
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
  readonly cleaning: readonly Cleaning[];
  readonly problems: Problems;
  readonly settled: (upgradeUid: string) => Promise<void>;
  readonly recorder: EventRecorder;
  readonly places: FleetPlaces | undefined;
  readonly signal: AbortSignal;
  /** Channel of upgrades whose status is out of date. */
  readonly requeues: Channel;
}

/** Starts the reconciler of upgrades, and what it asks. */
function startUpgrades(deps: UpgradesDeps) {
  const { caches, logger, metrics, clock, signal, config, settings, rollout, recorder, requeues } = deps;
  const { updateGraphAllow: allow, updateGraphUrl, tenancy, talmStrict, standalone, proxy, insecureGraphCall: insecure } = config;
  const graph = createUpdateGraph({
    onAnswer: requeues.enqueue,
    onFailure: (err) => logger.warn({ err }, 'Asking an update graph failed'),
    access: graphAccess({ allow, updateGraphUrl, tenancy, talmStrict }),
    proxy,
    insecure,
  });
  const policies = createPolicyReader({ policies: caches.parents, onRead: requeues.enqueue, talmStrict });
  const onPlaced = (upgrade: ClusterGroupUpgrade, error: unknown) => rollout.placed(upgrade, error);
  const precaching = { jobs: deps.precache, settings };
  const backup = { jobs: deps.backup, settings: backupSettings(config) };
  const reconciler = new UpgradeReconciler({
    ...deps,
    placing: new Placing({ ...deps, talmStrict, onPlaced }),
    jobs: new UpgradeJobs({ ...deps, precaching, backup }),
    problems: (uid) => deps.problems.ofAll(uid),
    standalone,
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
  const surroundings = { logger, metrics, clock };
  const caches = createWorkerCaches(client, surroundings, config.tenancy);
  const limitsCaches = { limits: createLimitsCache(client, surroundings, config.namespace) };
  await fillCaches({ ...caches, ...limitsCaches }, logger, signal);
  const limits = new Limits({
    caches: limitsCaches,
    options: {},
    namespace: config.namespace,
    recorder: { record: () => undefined },
    logger,
  });
  const shares = new ByteShares({ caches, clock, limits: () => limits.now.limits });
  const deps = { client, caches, logger, now: () => clock.now() };
  const steps = [
    createSpokeStep(createPrecacheJob(precacheSettings(config), caches.configs, config.talmStrict ? undefined : shares.capOf), deps),
    createSpokeStep(createBackupJob(backupSettings(config)), deps),
    createRolloutStep({ ...deps, viewSeconds: config.jobViewSeconds, talmStrict: config.talmStrict }, true),
  ];
  const { stepConcurrency: concurrency } = config;
  const worker = startWorker(steps, { queue: store.queue, concurrency, signal, logger, metrics, clock, isRemote: true });
  logger.info({ concurrency }, 'Worker takes steps');
  await worker.stopped;
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
