import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '@flotilla/control-plane/processes';
import { type ApiServer, type ApiServerOptions, startApiServer } from '@flotilla/control-plane/servers';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { type RunningProgram, startHub } from '../support/programs.ts';

/** No chart has an image by default. */
export const HUB_IMAGES = [
  'image.repository=registry.example.com/flotilla/hub',
  'precacheImage.repository=registry.example.com/flotilla/image-puller',
] as const;
/** The same of the spoke's chart. */
export const SPOKE_IMAGES = [
  'image.repository=registry.example.com/flotilla/spoke-agent',
  'upgradeOperator.image.repository=registry.example.com/flotilla/upgrade-operator',
  'versionOperator.image.repository=registry.example.com/flotilla/version-operator',
] as const;

/** Folder of the charts. */
export const CHARTS = fileURLToPath(new URL('../../charts', import.meta.url));
/** Namespace of all releases. */
export const NAMESPACE = 'flotilla';
/** User of the hub. */
export const HUB = `system:serviceaccount:${NAMESPACE}:hub-flotilla-hub`;

/** Groups of every ServiceAccount. */
export const SERVICE_ACCOUNT = ['system:serviceaccounts', 'system:authenticated'];

/** Flag that OpenShift's API server has: an owner reference takes the right to finalize the owner. */
export const OWNER_REFERENCES_ENFORCED = '--enable-admission-plugins=OwnerReferencesPermissionEnforcement';

/** A real API server on which the hub's chart is installed, and hubs that have no rights but those the chart grants. */
export interface ChartHub extends AsyncDisposable {
  readonly server: ApiServer;
  /** Path of the helm program. */
  readonly helm: string;
  /** Gone after the disposal. */
  readonly dir: string;
  /** Runs helm against the server; returns what it prints. */
  runHelm(args: readonly string[]): Promise<string>;
  /** Starts a hub; resolves when it leads. */
  startHub(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunningProgram>;
}

/** `values` are helm's, as `key=value`. */
export async function startChartHub(options: {
  readonly values: readonly string[];
  /** More of how the API server is started; `users` are beside the hub's. */
  readonly apiServer?: ApiServerOptions;
}): Promise<ChartHub> {
  const stack = new AsyncDisposableStack();
  try {
    const tools = await ensureTools(['helm']);
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-chart-hub-'));
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const { apiServer } = options;
    const users = [...(apiServer?.users ?? []), { name: HUB, groups: SERVICE_ACCOUNT }];
    const server = stack.use(await startApiServer({ ...apiServer, users }));
    const env = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir, KUBECONFIG: server.kubeconfig };
    const runHelm = (args: readonly string[]) => runCommand(tools.path('helm'), args, { env, timeoutMs: 60_000 });
    const args = ['install', 'hub', join(CHARTS, 'hub'), '-n', NAMESPACE, '--create-namespace'];
    await runHelm([...args, ...[...HUB_IMAGES, ...options.values].flatMap((value) => ['--set', value])]);
    const kubeconfig = await server.kubeconfigFor(HUB);
    let running: RunningProgram | undefined;
    stack.defer(async () => running?.stop());
    return {
      server,
      helm: tools.path('helm'),
      runHelm,
      dir,
      async startHub(more, env) {
        running = await startHub(kubeconfig, dir, ['--namespace', NAMESPACE, ...more], env);
        return running;
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
