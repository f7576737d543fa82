import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readEnvironment, runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import type { Fleet, Site, SpokeSite } from './fleet.ts';
import type { InstalledImages } from './program-images.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Namespace of hub and agents. */
export const NAMESPACE = 'flotilla';
/** Generous: a pod's first start pulls 50 MB and unpacks it, beside everything else on this machine. */
const START_SECONDS = 150;

/** What a fleet is installed with. */
interface Installation {
  readonly fleet: Fleet;
  readonly images: InstalledImages;
  readonly signal: AbortSignal;
  /** Further values of charts/hub. */
  readonly hubValues?: Readonly<Record<string, unknown>>;
  /** Values of charts/spoke; default those of `examples/rollout/spoke/values.yaml`. */
  readonly agentValues?: Readonly<Record<string, unknown>>;
}

/**
 * Installs a standalone hub from `charts/hub` and joins every spoke with the documented command, which makes its credentials for
 * its own namespace on the hub and installs the agent from `charts/spoke`. Resolves when every spoke is available.
 */
export async function installFlotilla(installation: Installation): Promise<void> {
  const { fleet } = installation;
  const { hub, spokes } = fleet;
  await installHub(installation);
  await hub.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  try {
    await Promise.all(spokes.map((spoke) => joinSpoke(spoke, installation)));
  } catch (error) {
    throw new Error(`not every spoke has joined\n${await describeSite(hub, ['get', 'managedclusters', '-o', 'yaml'])}`, { cause: error });
  }
  await untilAvailable(fleet, spokes);
}

/** Waits until the hub calls spokes available. Throws an Error with what hub and agents say of it, since their clusters go with it. */
export async function untilAvailable({ hub }: Pick<Fleet, 'hub'>, spokes: readonly SpokeSite[]): Promise<void> {
  const clusters = spokes.map(({ name }) => `managedcluster/${name}`);
  const wait = ['wait', '--for=condition=ManagedClusterConditionAvailable', ...clusters, `--timeout=${START_SECONDS}s`];
  try {
    await hub.kubectl(wait, { timeoutMs: (START_SECONDS + 20) * 1000 });
  } catch (error) {
    const state = await Promise.all([
      describeSite(hub, ['get', 'managedclusters', '-o', 'yaml']),
      ...spokes.map((spoke) => describeSite(spoke)),
    ]);
    throw new Error(`not every spoke is available\n${state.join('\n')}`, { cause: error });
  }
}

/** Pods of a cluster and the last lines of ours; what cannot be read says why in its place. */
async function describeSite(site: Site, ...further: string[][]): Promise<string> {
  const pods = ['get', 'pods', '--all-namespaces', '-o', 'wide'];
  const events = ['get', 'events', '--namespace', NAMESPACE];
  const log = ['logs', '--namespace', NAMESPACE, '--selector', 'app.kubernetes.io/part-of=flotilla', '--prefix', '--tail', '40'];
  const read = (args: readonly string[]) => site.kubectl(args).catch((error: unknown) => String(error));
  const answers = await Promise.all([pods, events, log, ...further].map(read));
  return [`== ${site.name}`, ...answers].join('\n');
}

/** Where the image of a program is, for nodes. */
export const repository = ({ registryName }: Pick<Fleet, 'registryName'>, app: string): string => `${registryName}/flotilla/${app}`;

/** `helm upgrade --install` with values as a user would have them in a file; does not wait for pods. */
async function installHub({ fleet, images, signal, hubValues }: Installation): Promise<void> {
  const values = {
    image: { repository: repository(fleet, 'hub'), digest: images.hub },
    precacheImage: { repository: repository(fleet, 'image-puller'), digest: images['image-puller'] },
    standalone: true,
    precacheRegistryConfig: fleet.registryConfig,
    ...hubValues,
  };
  const { program, env } = await helm(fleet, 'hub');
  const args = ['upgrade', '--install', 'flotilla-hub', join(ROOT, 'charts/hub'), '--namespace', NAMESPACE, '--create-namespace'];
  await runCommand(program, [...args, '--kubeconfig', fleet.hub.kubeconfig, '--values', '-'], {
    input: JSON.stringify(values),
    env,
    timeoutMs: 120_000,
    signal,
  });
}

/** `npm run join`, without npm; again with other values when the spoke has joined. */
export async function joinSpoke(spoke: SpokeSite, { fleet, images, signal, agentValues }: Omit<Installation, 'hubValues'>): Promise<void> {
  const { program, env } = await helm(fleet, spoke.name);
  const values = agentValues ? join(fleet.dir, `${spoke.name}-values.json`) : join(ROOT, 'examples/rollout/spoke/values.yaml');
  if (agentValues) await writeFile(values, JSON.stringify(agentValues));
  const options = {
    ...joinOptions(fleet, spoke),
    'hub-server': fleet.hub.url,
    image: `${repository(fleet, 'spoke-agent')}@${images['spoke-agent']}`,
    namespace: NAMESPACE,
    values,
    'timeout-seconds': String(START_SECONDS),
  };
  const args = Object.entries(options).flatMap(([option, value]) => [`--${option}`, value]);
  await runCommand(process.execPath, ['--disable-warning=ExperimentalWarning', join(ROOT, 'apps/cli/src/main.ts'), 'join', ...args], {
    env: { ...env, PATH: [dirname(program), readEnvironment().path].join(delimiter) },
    timeoutMs: (START_SECONDS + 60) * 1000,
    signal,
  });
}

/** What of the command's options tells one spoke from another. */
export const joinOptions = ({ hub }: Pick<Fleet, 'hub'>, { name, kubeconfig }: Pick<SpokeSite, 'name' | 'kubeconfig'>) => ({
  'hub-kubeconfig': hub.kubeconfig,
  'spoke-kubeconfig': kubeconfig,
  name,
  label: 'fleet=edge',
});

/** The program, and an environment in which it leaves nothing outside the folder of the fleet. */
async function helm({ dir }: Fleet, user: string): Promise<{ program: string; env: Record<string, string> }> {
  const home = join(dir, `helm-${user}`);
  const program = (await ensureTools(['helm'])).path('helm');
  return { program, env: { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home } };
}
