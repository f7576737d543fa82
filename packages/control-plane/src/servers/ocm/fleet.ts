import { KubeObject, type Resource, resource } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { type Client, isAlreadyExists, type Logger } from '@flotilla/runtime';
import { registerSpokes } from '../../simulators/spokes/registration.ts';
import type { Log } from '../../toolchain/go-build.ts';
import { startPolicyCarrier } from './carrier.ts';
import type { OcmComponent } from './component.ts';
import {
  AGENT_NAMESPACE,
  startConfigPolicyController,
  startGovernancePropagator,
  startPlacementController,
  startWorkAgent,
} from './components.ts';
import { installOcmCrds } from './crds.ts';

/** A cluster, as its administrator reaches it. */
export interface OcmSite {
  /** Name of the cluster; a spoke's is that of its ManagedCluster. */
  readonly name: string;
  readonly kubeconfig: string;
  readonly client: Client;
}

/** Options of a fleet. */
export interface OcmFleetOptions {
  readonly hub: OcmSite;
  readonly spokes: readonly OcmSite[];
  /** Namespaces of policies: made, and bound to the cluster set. */
  readonly namespaces: readonly string[];
  /** Labels of the ManagedClusters besides `name` and the set's. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Folder for logs. */
  readonly dir: string;
  readonly logger?: Logger;
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** The components that run. Ends them in the order opposite to their start. */
export interface OcmFleet extends AsyncDisposable {
  readonly components: readonly OcmComponent[];
  stop(): Promise<void>;
}

/** Name of the ManagedClusterSet that has every spoke. */
const CLUSTER_SET = 'fleet';

const clusterApi = (kind: string, plural: string, namespaced: boolean): Resource =>
  resource('cluster.open-cluster-management.io/v1beta2', kind, plural, namespaced, KubeObject);
const ManagedClusterSet = clusterApi('ManagedClusterSet', 'managedclustersets', false);
const ManagedClusterSetBinding = clusterApi('ManagedClusterSetBinding', 'managedclustersetbindings', true);

/**
 * Makes a hub and spokes a fleet of real Open Cluster Management components: CRDs, registered and available clusters in one bound set,
 * placement controller and policy propagator on the hub, work agent and configuration policy controller on each spoke, and between them
 * the carrier of policies. Throws as `ensureTools` and `startComponent` do, and leaves nothing running then.
 */
export async function startOcmFleet(options: OcmFleetOptions): Promise<OcmFleet> {
  const { hub, spokes, log } = options;
  await Promise.all([installOcmCrds(hub, 'hub', log), ...spokes.map((spoke) => installOcmCrds(spoke, 'spoke', log))]);
  await register(options);
  const stack = new AsyncDisposableStack();
  try {
    const components = await startComponents(options, stack);
    for (const spoke of spokes) {
      const { name: cluster, client } = spoke;
      stack.use(await startPolicyCarrier({ hub: hub.client, spoke: client, cluster, ...(options.logger && { logger: options.logger }) }));
    }
    const stop = () => stack.disposeAsync();
    return { components, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** All at once; when one fails, those that came up are ended too. */
async function startComponents({ hub, spokes, dir, log }: OcmFleetOptions, stack: AsyncDisposableStack): Promise<OcmComponent[]> {
  const onHub = { hub: hub.kubeconfig, dir, ...(log && { log }) };
  const starts = [startPlacementController(onHub), startGovernancePropagator(onHub)];
  for (const { name: cluster, kubeconfig: spoke } of spokes) {
    const onSpoke = { ...onHub, cluster, spoke };
    starts.push(startWorkAgent(onSpoke), startConfigPolicyController(onSpoke));
  }
  const results = await Promise.allSettled(starts);
  const components = results.flatMap((result) => (result.status === 'fulfilled' ? [stack.use(result.value)] : []));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return components;
}

/** Creates the objects that registration and an administrator would have made. */
async function register({ hub, spokes, namespaces, labels }: OcmFleetOptions): Promise<void> {
  const { client } = hub;
  await ensure(client, ManagedClusterSet, { metadata: { name: CLUSTER_SET }, spec: {} });
  for (const namespace of namespaces) {
    await ensure(client, Namespace, { metadata: { name: namespace } });
    await ensure(client, ManagedClusterSetBinding, { metadata: { name: CLUSTER_SET, namespace }, spec: { clusterSet: CLUSTER_SET } });
  }
  const names = spokes.map(({ name }) => name);
  await registerSpokes(client, names, { labels: { ...labels, 'cluster.open-cluster-management.io/clusterset': CLUSTER_SET } });
  for (const spoke of spokes)
    for (const name of [AGENT_NAMESPACE, spoke.name]) await ensure(spoke.client, Namespace, { metadata: { name } });
}

async function ensure(client: Client, kind: Resource, object: KubeObject): Promise<void> {
  try {
    await client.create(kind, object);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
