/** Connects the services behind the ports when the operator runs. */

import { hostname } from 'node:os';
import { refKey } from '@flotilla/api';
import { CLUSTER_VERSION_NAME } from '@flotilla/api/config';
import { PodDisruptionBudget } from '@flotilla/api/core';
import { OPERATOR_NAME, UPGRADE_CONFIG_NAME } from '@flotilla/api/managed';
import { createPrometheus, type HttpSurroundings, NO_RETRY } from '@flotilla/http';
import { createEventRecorder, watch } from '@flotilla/runtime';
import { currentVersion, isUnderWay } from '@flotilla/upgrade';
import type { Caches } from './caches.ts';
import { createAlertmanager } from './clients/alertmanager.ts';
import { createDependencyProbe } from './clients/dependencies.ts';
import { createMonitoringAccess, type MonitoringAccess, SERVICES, type ServiceEntry } from './clients/monitoring-access.ts';
import { createClusterIdentity, createOcm, type OcmClient, type OcmOptions } from './clients/ocm.ts';
import { createCachedReleases, createReleaseSource } from './clients/release-source.ts';
import { createNodeReports } from './drain/node-drains.ts';
import { createAlertHistory } from './health/alerts.ts';
import { createDeploymentValidation } from './health/disruption-budgets.ts';
import { createHealthChecks } from './health/health-checks.ts';
import { createSilences } from './maintenance/silences.ts';
import { createProvider } from './managers/provider.ts';
import { runSync } from './managers/sync-loop.ts';
import { createOperatorMetrics } from './metrics/upgrade-metrics.ts';
import { createNotifier } from './notify/notifier.ts';
import type { OperatorDeps, PortsFactory } from './operator.ts';
import { watchOperatorConfig } from './operator-config/read-config.ts';
import type { Ports } from './ports.ts';

/** Time limit of calls to services, and their retries. */
type Patience = Pick<HttpSurroundings, 'retry' | 'timeoutMs'>;

/** Connects the services of the cluster, and syncs with the provider until the signal aborts. */
export const createPorts =
  (patience: Patience = {}): PortsFactory =>
  (deps, caches, signal) =>
    connect(deps, caches, { signal, ...patience });

function connect(
  { client, settings, logger, metrics, clock }: OperatorDeps,
  caches: Caches,
  { signal, ...patience }: Patience & { readonly signal: AbortSignal },
): Ports {
  const { namespace, proxy } = settings;
  const stack = new AsyncDisposableStack();
  signal.addEventListener('abort', () => void stack.disposeAsync(), { once: true });
  const surroundings: HttpSurroundings = { clock, proxy, ...patience };
  /** Calls of a pass or the sync are not retried: both come again by themselves, and what they hold must not wait. */
  const once: HttpSurroundings = { ...surroundings, retry: NO_RETRY };
  const key = refKey({ namespace, name: UPGRADE_CONFIG_NAME });

  const configuration = watchOperatorConfig(client, namespace, { logger, metrics, clock });
  const config = { current: configuration.current, watch: watch(configuration.cache, { enqueue: () => [key] }) };
  const clusterId = () => caches.clusterVersions.get({ name: CLUSTER_VERSION_NAME })?.spec.clusterID || undefined;
  const operatorMetrics = createOperatorMetrics(metrics.registry, clusterId);
  // At once: a process may lead again, and another one that leads says the same by then.
  signal.addEventListener('abort', () => operatorMetrics[Symbol.dispose](), { once: true });

  const access = createMonitoringAccess({ client, clock });
  const prometheus = stack.use(createPrometheus({ ...once, ...reach(access, SERVICES.prometheus, settings.prometheusUrl) }));
  const alertmanager = stack.use(createAlertmanager({ ...once, ...reach(access, SERVICES.alertmanager, settings.alertmanagerUrl) }));
  const { deploymentValidationUrl: given } = settings;
  const findValidation = async () => (given ? new URL(given) : access.find(SERVICES.deploymentValidation));
  const validation = stack.use(createDeploymentValidation({ ...once, url: findValidation }));
  const identity = createClusterIdentity({ client, clusterId, clock });
  const ocm = stack.use(createOcmSwitch({ ...surroundings, identity }));
  const policies = stack.use(createOcmSwitch({ ...once, identity }));

  const events = createEventRecorder({ client, controller: OPERATOR_NAME, instance: hostname(), logger, metrics, clock });
  stack.defer(() => events.close());
  const provider = createProvider({ client, namespace, config, ocm: policies.at, logger: logger.child({ controller: 'provider' }) });
  const synced = Promise.all([configuration.cache.synced(), caches.clusterVersions.synced()]);
  const onWake = (listener: () => void): void => {
    configuration.cache.subscribe(listener);
    // A change that waited for the end of an upgrade counts from that moment on.
    caches.upgradeConfigs.subscribe(({ object }) => {
      if (provider.problem()?.reason === 'ChangeHeld' && !isUnderWay(object)) listener();
    });
  };
  const onSynced = (atMs: number) => operatorMetrics.synced(atMs);
  // After a stop the caches never sync, and there is nothing left to ask the provider for.
  void synced.then(
    () => runSync({ provider, config, clock, logger, onSynced, onWake }, signal),
    () => undefined,
  );

  return {
    config,
    notifier: createNotifier({
      config,
      ocm: ocm.at,
      record: (event) => events.record(event),
      logger: logger.child({ controller: 'notifier' }),
    }),
    silences: createSilences(alertmanager, clock),
    health: createHealthChecks({
      prometheus,
      budgets: {
        list: async (stop) => (await client.list(PodDisruptionBudget, { signal: stop })).items,
        validation: (stop) => validation.metrics(stop),
      },
      report: operatorMetrics.healthCheck,
      versionOf: ({ cluster }) => currentVersion(cluster.clusterVersion),
    }),
    dependencies: stack.use(createDependencyProbe(once)),
    cachedReleases: createCachedReleases(client, namespace),
    provider,
    alerts: createAlertHistory(prometheus, () => clock.now()),
    nodes: createNodeReports(client, clock),
    metrics: operatorMetrics,
    events,
    releases: stack.use(createReleaseSource({ ...once, client })),
  };
}

/** Address and credentials of a service of the cluster's monitoring; a configured address gets no credentials. */
const reach = (access: MonitoringAccess, service: ServiceEntry, url: string | undefined) =>
  url === undefined ? { url: () => access.url(service), ca: access.ca, authorize: access.authorize } : { url: async () => new URL(url) };

/** OCM at the address that is configured; one at a time is open. */
function createOcmSwitch(options: Omit<OcmOptions, 'baseUrl'>): AsyncDisposable & { readonly at: (baseUrl: string) => OcmClient } {
  let open: { readonly baseUrl: string; readonly client: OcmClient } | undefined;
  return {
    at(baseUrl) {
      if (open?.baseUrl === baseUrl) return open.client;
      void open?.client[Symbol.asyncDispose]();
      open = { baseUrl, client: createOcm({ ...options, baseUrl }) };
      return open.client;
    },
    [Symbol.asyncDispose]: async () => open?.client[Symbol.asyncDispose](),
  };
}
