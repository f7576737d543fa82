import {
  ClusterGroupUpgrade,
  ConfigMap,
  errorMessage,
  Label,
  ManagedCluster,
  OVERRIDES_CONFIG_MAP,
  Policy,
  PreCachingConfig,
  refKey,
  UpgradeCondition,
} from '@flotilla/api';
import { type QueueStore, queues, startStepQueue } from '@flotilla/queues';
import { type Client, type Logger, type Metrics, startController, WatchCache, WorkQueue } from '@flotilla/runtime';
import type { HubConfig } from './config.ts';
import { BY_CLUSTER, transportCaches } from './precache/caches.ts';
import { PrecacheEngine } from './precache/engine.ts';
import type { PrecacheSettings } from './precache/settings.ts';
import { CHILD_POLICIES, trimChild } from './reconcilers/cluster-group-upgrade/observe.ts';
import { UpgradeReconciler } from './reconcilers/cluster-group-upgrade/reconciler.ts';
import { createUpdateGraph } from './upgrade/update-graph.ts';

export interface HubDeps {
  readonly client: Client;
  readonly store: QueueStore;
  readonly config: HubConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** All watches of the hub. */
function createCaches(client: Client, logger: Logger, metrics: Metrics) {
  const shared = { logger, metrics };
  const byCluster = { [BY_CLUSTER]: ({ metadata }: Policy) => [metadata.namespace ?? ''] };
  return {
    upgrades: new WatchCache(client, ClusterGroupUpgrade, shared),
    clusters: new WatchCache(client, ManagedCluster, shared),
    configs: new WatchCache(client, PreCachingConfig, shared),
    overrides: new WatchCache(client, ConfigMap, { ...shared, fieldSelector: `metadata.name=${OVERRIDES_CONFIG_MAP}` }),
    parents: new WatchCache(client, Policy, { ...shared, labelSelector: `!${CHILD_POLICIES}`, optional: true }),
    children: new WatchCache(client, Policy, {
      ...shared,
      labelSelector: CHILD_POLICIES,
      transform: trimChild,
      indexes: byCluster,
      optional: true,
    }),
    ...transportCaches(client, shared),
  };
}

type Caches = ReturnType<typeof createCaches>;

/** Leads: reconciles until the signal aborts. */
export async function lead({ client, store, config, logger, metrics }: HubDeps, signal: AbortSignal): Promise<void> {
  const caches = createCaches(client, logger, metrics);
  const settings = precacheSettings(config);
  const queue = new WorkQueue({ name: 'cluster-group-upgrade', concurrency: 4, metrics });
  const look = (upgrade: { readonly namespace?: string; readonly name: string }) => queue.add(refKey(upgrade));
  const engine = new PrecacheEngine({ client, caches, settings, logger, now: Date.now, onChange: look });
  for (const cache of Object.values(caches)) cache.start(signal);
  await Promise.all(Object.values(caches).map((cache) => cache.synced()));
  logger.info({ upgrades: caches.upgrades.size, clusters: caches.clusters.size, views: caches.views.size }, 'Caches are filled');

  const steps = startStepQueue({
    store,
    queue: queues.precacheStep,
    concurrency: settings.concurrency,
    process: engine.process,
    onOutcome: (step, outcome) => {
      if (outcome.kind === 'done') engine.settle(step, outcome.result);
      else if ('error' in outcome)
        logger.warn(
          { cluster: step.cluster, upgrade: step.upgrade.name, reason: errorMessage(outcome.error) },
          'Step failed, trying again',
        );
    },
    signal,
    log: logger,
  });
  engine.start(steps);
  const graph = createUpdateGraph({ proxy: config.proxy, insecure: config.insecureGraphCall });
  const reconciler = new UpgradeReconciler({
    client,
    caches,
    engine,
    settings,
    logger,
    now: Date.now,
    talmStrict: config.talmStrict,
    precacheImage: settings.image,
    updateGraphUrl: config.updateGraphUrl,
    resolvePlatformImage: graph.resolvePlatformImage,
  });
  enqueueOnChange(caches, queue);
  const controller = startController({
    name: 'cluster-group-upgrade',
    queue,
    reconcile: (key) => reconciler.reconcile(key),
    logger,
    signal,
    metrics,
  });
  await controller.stopped;
  await steps.close();
  await graph.close();
}

function precacheSettings(config: HubConfig): PrecacheSettings {
  return {
    image: config.precacheImage,
    profile: config.precacheJobProfile,
    registryConfig: config.precacheRegistryConfig,
    jobViewSeconds: config.jobViewSeconds,
    progressViewSeconds: config.progressViewSeconds,
    graceMs: config.precacheGraceSeconds * 1000,
    concurrency: config.stepConcurrency,
  };
}

/** What changes what an upgrade should say: itself, and whatever its plan is made from. */
function enqueueOnChange(caches: Caches, queue: WorkQueue): void {
  const lookAt = (upgrade: ClusterGroupUpgrade) => queue.add(refKey(upgrade.metadata));
  const lookAtAll = () => caches.upgrades.list().forEach(lookAt);
  const lookAtNamespace = (namespace: string | undefined) =>
    caches.upgrades
      .list()
      .filter((upgrade) => upgrade.metadata.namespace === namespace)
      .forEach(lookAt);
  caches.upgrades.subscribe(({ object }) => lookAt(object));
  caches.clusters.subscribe(({ type, object, previous }) => {
    // A heartbeat changes neither what is selected nor how it is planned.
    const same = type === 'set' && previous && JSON.stringify(object.metadata.labels) === JSON.stringify(previous.metadata.labels);
    if (!same) lookAtAll();
  });
  caches.configs.subscribe(({ object }) => {
    for (const upgrade of caches.upgrades.list()) if (upgrade.spec?.preCachingConfigRef?.name === object.metadata.name) lookAt(upgrade);
  });
  caches.overrides.subscribe(({ object }) => lookAtNamespace(object.metadata.namespace));
  const policyChanged = (name: string) => {
    for (const upgrade of caches.upgrades.list()) if (upgrade.spec?.managedPolicies?.includes(name)) lookAt(upgrade);
  };
  caches.parents.subscribe(({ object }) => policyChanged(object.metadata.name));
  caches.children.subscribe(({ object }) => policyChanged(object.metadata.name.slice(object.metadata.name.indexOf('.') + 1)));
  // While an upgrade is torn down, it goes on when its last objects change.
  for (const cache of [caches.actions, caches.views])
    cache.subscribe(({ object }) => {
      const uid = object.metadata.labels?.[Label.upgradeUid];
      const upgrade = caches.upgrades.list().find(({ metadata }) => metadata.uid === uid);
      if (upgrade?.metadata.deletionTimestamp || upgrade?.status?.conditions?.some(({ type }) => type === UpgradeCondition.succeeded))
        lookAt(upgrade);
    });
  lookAtAll();
}
