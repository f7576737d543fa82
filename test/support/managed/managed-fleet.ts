import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { conditionTime, FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { ConfigMap, Namespace } from '@flotilla/api/core';
import {
  type AlertmanagerServer,
  type Cluster,
  type PrometheusServer,
  startAlertmanager,
  startPrometheus,
  startUpdateService,
  type UpdateService,
} from '@flotilla/control-plane/servers';
import type { RegistryClient } from '@flotilla/registry';
import { parse } from 'yaml';
import { z } from 'zod';
import { readExample } from '../examples.ts';
import { type Fleet, REGISTRY_NAME, type SpokeSite } from '../fleet.ts';
import { followObject } from '../follow-object.ts';
import { joinSpoke, NAMESPACE, repository, untilAvailable } from '../installation.ts';
import type { InstalledImages, ProgramImages } from '../program-images.ts';
import { type EdgeRelease, pushEdgeRelease } from './edge-release.ts';
import { createReleaseSigner } from './release-signer.ts';

/** The versions, and the channel that offers them. */
const VERSIONS = { current: '4.20.1', next: '4.20.2' } as const;
const CHANNEL = 'stable-4.20';
/** An installation pulls Node and starts it some times, on a machine that does other things. */
const INSTALLED_MS = 240_000;
/** ConfigMap with mirrors of registries, beside the version operator. */
const MIRRORS = 'registry-mirrors';

/** What the spokes' monitoring is: on their nodes, so that it is there while the link is not. */
interface SpokeMonitoring {
  readonly prometheus: PrometheusServer;
  readonly alertmanager: AlertmanagerServer;
}

/** A fleet whose spokes are run from releases, and can be sent to another one. */
export interface ManagedFleet extends AsyncDisposable {
  /** Those that are managed. */
  readonly spokes: readonly SpokeSite[];
  readonly current: EdgeRelease;
  readonly next: EdgeRelease;
  /** Placeholders of `examples/fleet-upgrade`, without the window. */
  readonly placeholders: Readonly<Record<string, string>>;
  readonly updates: UpdateService;
  /** By spoke. */
  readonly monitoring: ReadonlyMap<string, SpokeMonitoring>;
  /** Waits until a spoke's version operator has read what is pre-cached. */
  untilReadAhead(spoke: SpokeSite): Promise<void>;
}

/** What it is made from. */
interface ManagedFleetOptions {
  readonly fleet: Fleet;
  /** Spokes of it that are managed; those that have not joined the hub do so. Default: those that are registered. */
  readonly spokes?: readonly SpokeSite[];
  readonly images: InstalledImages & ProgramImages<'upgrade-operator' | 'version-operator'>;
  /** Speaks to the registry from this side. */
  readonly client: RegistryClient;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes a release and the next one, and has every spoke installed with the first: monitoring on its node, version operator and
 * upgrade operator from the chart. Resolves when all ClusterVersions are there and offer the next release. Leaves nothing when it fails.
 */
export async function startManagedFleet(options: ManagedFleetOptions): Promise<ManagedFleet> {
  const { fleet, client, say, signal, spokes = fleet.spokes } = options;
  const { pushHost, registryName, dir } = fleet;
  const stack = new AsyncDisposableStack();
  try {
    const signer = await createReleaseSigner();
    const push = (version: string) => pushEdgeRelease(version, { client, pushHost, registryName, dir, signer, say });
    const [current, next] = [await push(VERSIONS.current), await push(VERSIONS.next)];
    const updates = stack.use(await startUpdateService({ host: '0.0.0.0' }));
    const nodes = [current, next].map(({ version, pullSpec }) => ({ version, payload: pullSpec, metadata: {} }));
    updates.setGraph({ nodes, edges: [[0, 1]] });
    const parts = { ...options, current, next, upstream: `http://${clusterOf(fleet, 'hub').gatewayAddress}:${updates.port}/graph`, stack };
    const monitoring = new Map(await Promise.all(spokes.map(async (spoke) => [spoke.name, await manageSpoke(spoke, parts)] as const)));
    await untilAvailable(fleet, spokes);
    return {
      spokes,
      current,
      next,
      placeholders: {
        RELEASE_IMAGE: next.pullSpec,
        RELEASE_HASH: next.digest.slice('sha256:'.length),
        SIGNATURE: Buffer.from(next.signature).toString('base64'),
        VERSION: next.version,
        CHANNEL,
        UPGRADE_AT: conditionTime(Date.now()),
      },
      updates,
      monitoring,
      untilReadAhead: (spoke) => untilReadAhead(spoke, signal),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

function clusterOf({ clusters }: Fleet, name: string): Cluster {
  const cluster = clusters.get(name);
  if (!cluster) throw new TypeError(`no cluster ${name}`);
  return cluster;
}

interface Parts extends ManagedFleetOptions {
  readonly current: EdgeRelease;
  readonly next: EdgeRelease;
  readonly upstream: string;
  readonly stack: AsyncDisposableStack;
}

async function manageSpoke(spoke: SpokeSite, parts: Parts): Promise<SpokeMonitoring> {
  const { fleet, upstream, next, current, stack, signal, say } = parts;
  const { client } = spoke;
  const monitoring = await startMonitoring(clusterOf(fleet, spoke.name), stack);
  for (const name of [NAMESPACE, 'openshift-config', 'openshift-config-managed'])
    await client.apply(Namespace, { metadata: { name } }, { fieldManager: 'fleet' });
  const mirrors = { metadata: { name: MIRRORS, namespace: NAMESPACE }, data: { 'registries.conf': registriesConf(fleet) } };
  await client.create(ConfigMap, mirrors);
  await joinSpoke(spoke, { ...parts, agentValues: await valuesOf(parts, monitoring) });
  await spoke.kubectl(['wait', '--for=condition=Established', 'crd/clusterversions.config.openshift.io', '--timeout=60s'], {
    timeoutMs: 70_000,
  });
  const spec = { clusterID: randomUUID(), channel: CHANNEL, upstream };
  await client.create(ClusterVersion, { metadata: { name: CLUSTER_VERSION_NAME }, spec });
  const ref = { name: CLUSTER_VERSION_NAME };
  await followObject(client, ClusterVersion, ref, {
    onChange: ({ status }) => isApplied(status, current.version) && isOffered(status, next.version),
    explain: (version) => `${spoke.name} was not installed with ${current.version}: ${JSON.stringify(version?.status?.conditions)}`,
    withinMs: INSTALLED_MS,
    signal,
  });
  say(`${spoke.name} runs release ${current.version} and is offered ${next.version}`);
  return monitoring;
}

type Status = ClusterVersion['status'];
const isApplied = (status: Status, version: string): boolean =>
  status?.history?.[0]?.version === version && status.history[0].state === 'Completed';
const isOffered = (status: Status, version: string): boolean =>
  status?.availableUpdates?.some((update) => update.version === version) ?? false;

async function startMonitoring(on: Cluster, stack: AsyncDisposableStack): Promise<SpokeMonitoring> {
  const alertmanager = stack.use(await startAlertmanager({ on, port: 9093 }));
  const prometheus = stack.use(await startPrometheus({ on, port: 9090, alertmanager: `${on.address}:${alertmanager.port}` }));
  return { alertmanager, prometheus };
}

/** As nodes have it in /etc/containers. */
function registriesConf(fleet: Fleet): string {
  const address = `${clusterOf(fleet, 'hub').gatewayAddress}:${fleet.registry.port}`;
  return `[[registry]]\nlocation = "${REGISTRY_NAME}"\n[[registry.mirror]]\nlocation = "${address}"\ninsecure = true\n`;
}

const Values = z.looseObject({ upgradeOperator: z.looseObject({}), versionOperator: z.looseObject({}) });

/** Values of the example, and what differs from cluster to cluster. */
async function valuesOf({ fleet, images, current }: Parts, { prometheus, alertmanager }: SpokeMonitoring) {
  const values = Values.parse(parse(await readExample('fleet-upgrade/spoke/values', {})));
  const image = (app: 'upgrade-operator' | 'version-operator') => ({ repository: repository(fleet, app), digest: images[app] });
  const extraEnv = [
    { name: 'PROMETHEUS_URL', value: prometheus.url },
    { name: 'ALERTMANAGER_URL', value: alertmanager.url },
  ];
  return {
    ...values,
    upgradeOperator: { ...values.upgradeOperator, image: image('upgrade-operator'), extraEnv },
    versionOperator: {
      ...values.versionOperator,
      image: image('version-operator'),
      release: current.pullSpec,
      registry: { mirrorsConfigMap: MIRRORS },
    },
  };
}

const READ_AHEAD_MS = 60_000;
const LOOK_EVERY_MS = 500;

/** It shows nowhere but in the log. */
async function untilReadAhead(spoke: SpokeSite, signal: AbortSignal): Promise<void> {
  const until = performance.now() + READ_AHEAD_MS;
  const args = ['-n', NAMESPACE, 'logs', 'deployment/flotilla-spoke-version-operator'];
  while (!(await spoke.kubectl(args)).includes('The files of a release are at hand')) {
    if (performance.now() > until)
      throw new FlotillaError('FLOTILLA_DEMO_TIMEOUT', `${spoke.name} has not read the release ahead within ${READ_AHEAD_MS / 1000} s`);
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}
