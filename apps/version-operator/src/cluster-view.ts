import type { KubeObject, Resource } from '@flotilla/api';
import {
  APIServer,
  CLUSTER_VERSION_NAME,
  ClusterOperator,
  ClusterProxy,
  ClusterVersion,
  CONFIG_NAME,
  FeatureGate,
  Infrastructure,
} from '@flotilla/api/config';
import { ConfigMap } from '@flotilla/api/core';
import { type BuildContext, buildContextOf, listedGates } from '@flotilla/release';
import { type Client, type Clock, type Logger, type Metrics, Semaphore, WatchCache, type WatchSurroundings } from '@flotilla/runtime';
import { Kinds } from './cluster/kinds.ts';
import { LiveObjects } from './cluster/live-objects.ts';
import { Wakeups } from './cluster/wakeups.ts';
import type { VersionCaches } from './reconcilers/cluster-version/observe.ts';

/** The operator's view of its cluster. */
export interface ClusterView {
  readonly settings: ClusterSettings;
  readonly caches: VersionCaches;
  readonly live: LiveObjects;
  readonly wakeups: Wakeups;
  readonly budget: Semaphore;
  /** Undefined before somebody creates it. */
  readonly version: () => ClusterVersion | undefined;
  /** The values of this moment that go into the objects of a release. */
  readonly context: () => BuildContext;
  /** Resolves when nothing is read any more, after the signal has aborted. */
  readonly stopped: () => Promise<void>;
}

interface ClusterViewOptions {
  readonly client: Client;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly clock: Clock;
}

/** Begins to read the cluster until the signal aborts; resolves when its settings and its ClusterVersion have been read. */
export async function readCluster({ client, logger, metrics, clock }: ClusterViewOptions, signal: AbortSignal): Promise<ClusterView> {
  const surroundings = { logger, metrics, clock };
  const settings = clusterSettings(client, surroundings);
  const caches = versionCaches(client, surroundings);
  const wakeups = new Wakeups(clock);
  const live = new LiveObjects(client, wakeups, { ...surroundings, kinds: new Kinds(client, wakeups, clock) });
  const started = [...Object.values(settings), ...Object.values(caches)];
  for (const part of [...started, live]) part.start(signal);
  await Promise.all(started.map((cache) => cache.synced()));
  const version = () => caches.versions.get({ name: CLUSTER_VERSION_NAME });
  return {
    settings,
    caches,
    live,
    wakeups,
    budget: new Semaphore(8),
    version,
    context: () => contextOf(settings, version()?.metadata.uid),
    stopped: async () => {
      await Promise.all([...started, live].map((part) => part.stopped()));
    },
  };
}

/** Waits for the ClusterVersion, because nobody has asked for a release before. */
export async function versionCreated({ versions }: Pick<VersionCaches, 'versions'>, logger: Logger, signal: AbortSignal): Promise<void> {
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

/** A release brings these kinds. A server that has lost one must not look like a cluster without its settings: others would be applied. */
const installedLater = { optional: 'until-served' } as const;

function versionCaches(client: Client, surroundings: WatchSurroundings): VersionCaches {
  const installed = { ...surroundings, ...installedLater, absentRetryMs: 2_000 };
  const configMap = (namespace: string, name: string) =>
    new WatchCache(client, ConfigMap, { ...surroundings, namespace, fieldSelector: `metadata.name=${name}` });
  return {
    versions: new WatchCache(client, ClusterVersion, installed),
    operators: new WatchCache(client, ClusterOperator, installed),
    adminGates: configMap('openshift-config-managed', 'admin-gates'),
    adminAcks: configMap('openshift-config', 'admin-acks'),
  };
}

/** The one object of each kind that says how a cluster is set up. A cluster may be without any of them. */
interface ClusterSettings {
  readonly featureGates: WatchCache<FeatureGate>;
  readonly proxies: WatchCache<ClusterProxy>;
  readonly infrastructures: WatchCache<Infrastructure>;
  readonly apiServers: WatchCache<APIServer>;
}

/** A cluster's settings, not read yet. */
function clusterSettings(client: Client, surroundings: WatchSurroundings): ClusterSettings {
  const only = <T extends KubeObject>(kind: Resource<T>) =>
    new WatchCache(client, kind, {
      ...surroundings,
      ...installedLater,
      fieldSelector: `metadata.name=${CONFIG_NAME}`,
      absentRetryMs: 5_000,
    });
  return {
    featureGates: only(FeatureGate),
    proxies: only(ClusterProxy),
    infrastructures: only(Infrastructure),
    apiServers: only(APIServer),
  };
}

const REF = { name: CONFIG_NAME };

/** Settings that go into the objects of a release. */
const contextOf = ({ proxies, infrastructures, apiServers }: ClusterSettings, ownerUid: string | undefined): BuildContext =>
  buildContextOf({ proxy: proxies.get(REF), infrastructure: infrastructures.get(REF), apiServer: apiServers.get(REF), ownerUid });

/** The feature set of a cluster, and the gates that are on under a version; undefined where the cluster lists none for it. */
export function featuresOf({ featureGates }: ClusterSettings, version: string) {
  const gate = featureGates.get(REF);
  return { featureSet: gate?.spec?.featureSet ?? '', listed: listedGates(gate, version) };
}
