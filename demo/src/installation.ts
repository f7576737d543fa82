import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transportCrds } from '@flotilla/api';
import { ensureTools, runCommand } from '@flotilla/control-plane';
import { z } from 'zod';
import type { Fleet, HubSite, Site, SpokeSite } from './fleet.ts';
import { renderKubeconfig } from './kubeconfig.ts';
import type { ProgramImages } from './program-images.ts';

const CHARTS = fileURLToPath(new URL('../../charts', import.meta.url));
/** Namespace of hub and agents. */
export const NAMESPACE = 'flotilla';
/** Generous: a pod's first start pulls 50 MB and unpacks it, beside everything else on this machine. */
const ROLLOUT = '--timeout=150s';

/** What a fleet is installed with. */
export interface Installation {
  readonly fleet: Fleet;
  readonly images: ProgramImages;
  readonly signal: AbortSignal;
  /** Further values of charts/spoke. */
  readonly agentValues?: Readonly<Record<string, unknown>>;
}

/**
 * Installs the hub from `charts/hub` and registers every spoke: its ManagedCluster, its namespace on the hub, an agent
 * from `charts/spoke` that may use that namespace alone. Resolves when the hub is up and every spoke is available.
 */
export async function installFlotilla(installation: Installation): Promise<void> {
  const { fleet, images, signal } = installation;
  const { hub, spokes } = fleet;
  await apply(hub, transportCrds());
  await hub.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  await apply(hub, spokes.flatMap(registration));
  await helmInstall(hub, 'hub', hubValues(fleet, images), fleet.dir, signal);
  await Promise.all(spokes.map((spoke) => installAgent(spoke, installation)));
  await hub.kubectl(['-n', NAMESPACE, 'rollout', 'status', 'deployment/flotilla-hub', ROLLOUT], { timeoutMs: 180_000 });
  const clusters = spokes.map(({ name }) => `managedcluster/${name}`);
  await hub.kubectl(['wait', '--for=condition=ManagedClusterConditionAvailable', ...clusters, '--timeout=60s'], { timeoutMs: 90_000 });
}

/** The spoke on the hub: who it is, which group it belongs to, and where its node's runtime is. */
const registration = ({ name, annotations }: SpokeSite): Record<string, unknown>[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  {
    apiVersion: 'cluster.open-cluster-management.io/v1',
    kind: 'ManagedCluster',
    metadata: { name, labels: { fleet: 'edge' }, annotations },
    spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 },
  },
];

const repository = (fleet: Fleet, app: string) => `${fleet.registryName}/flotilla/${app}`;

const hubValues = (fleet: Fleet, images: ProgramImages) => ({
  image: { repository: repository(fleet, 'hub'), digest: images.hub },
  precacheImage: { repository: repository(fleet, 'image-puller'), digest: images['image-puller'] },
  extraEnv: [{ name: 'PRECACHE_REGISTRY_CONFIG', value: fleet.registryConfig }],
  agents: { clusters: fleet.spokes.map(({ name }) => name) },
});

/** Gives the agent its credentials for the hub, in a Secret, and installs it. */
async function installAgent(spoke: SpokeSite, { fleet, images, signal, agentValues }: Installation): Promise<void> {
  const kubeconfig = await agentKubeconfig(fleet.hub, spoke.name);
  await apply(spoke, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hub-kubeconfig', namespace: NAMESPACE }, stringData: { kubeconfig } },
  ]);
  const values = {
    clusterName: spoke.name,
    hub: { kubeconfigSecret: 'hub-kubeconfig' },
    image: { repository: repository(fleet, 'spoke-agent'), digest: images['spoke-agent'] },
    ...agentValues,
  };
  await helmInstall(spoke, 'spoke', values, fleet.dir, signal);
  await spoke.kubectl(['-n', NAMESPACE, 'rollout', 'status', 'deployment/flotilla-spoke', ROLLOUT], { timeoutMs: 180_000 });
}

const Token = z.object({ status: z.object({ token: z.string().min(1) }) });

/** A kubeconfig of the spoke's service account on the hub, which charts/hub limits to the spoke's namespace; for a day. */
async function agentKubeconfig(hub: HubSite, spoke: string): Promise<string> {
  const path = `/api/v1/namespaces/${spoke}/serviceaccounts/spoke-agent/token`;
  const answer = await hub.client.request('POST', path, { body: { spec: { expirationSeconds: 86_400 } } });
  return renderKubeconfig({ server: hub.url, certificateAuthority: hub.certificateAuthority, token: Token.parse(answer).status.token });
}

async function apply(site: Site, objects: readonly unknown[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  await site.kubectl(['apply', '--server-side', '-f', '-'], { input });
}

/** `helm upgrade --install` with values as a user would have them in a file; does not wait for pods. */
async function helmInstall(site: Site, chart: 'hub' | 'spoke', values: unknown, dir: string, signal: AbortSignal): Promise<void> {
  const tools = await ensureTools(['helm']);
  const home = join(dir, `helm-${site.name}`);
  const args = ['upgrade', '--install', `flotilla-${chart}`, join(CHARTS, chart), '--namespace', NAMESPACE, '--create-namespace'];
  await runCommand(tools.path('helm'), [...args, '--kubeconfig', site.kubeconfig, '--values', '-'], {
    input: JSON.stringify(values),
    env: { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home },
    timeoutMs: 120_000,
    signal,
  });
}
