import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiServer, ensureTools, runCommand, startApiServer } from '@flotilla/control-plane';
import { type RunningProgram, startHub } from '../fixtures/programs.ts';

const charts = fileURLToPath(new URL('../../charts', import.meta.url));
const NAMESPACE = 'flotilla';
const HUB = `system:serviceaccount:${NAMESPACE}:hub-flotilla-hub`;

/** A real API server on which the hub's chart is installed, and hubs that have no rights but those the chart grants. */
export interface ChartHub extends AsyncDisposable {
  readonly server: ApiServer;
  /** Path of the helm program. */
  readonly helm: string;
  /** Gone after the disposal. */
  readonly dir: string;
  /** Starts a hub; resolves when it leads. */
  startHub(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunningProgram>;
}

/** `values` are helm's, as `key=value`. `prepare` runs before the chart is installed. */
export async function startChartHub(options: {
  readonly values: readonly string[];
  readonly flags?: readonly string[];
  readonly prepare?: (server: ApiServer) => Promise<void>;
}): Promise<ChartHub> {
  const stack = new AsyncDisposableStack();
  try {
    const tools = await ensureTools(['helm']);
    const dir = await mkdtemp(join(tmpdir(), 'flotilla-chart-hub-'));
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    const users = [{ name: HUB, groups: ['system:serviceaccounts', 'system:authenticated'] }];
    const server = stack.use(await startApiServer({ users, ...(options.flags && { flags: options.flags }) }));
    await options.prepare?.(server);
    const args = ['install', 'hub', join(charts, 'hub'), '-n', NAMESPACE, '--create-namespace'];
    await runCommand(tools.path('helm'), [...args, ...options.values.flatMap((value) => ['--set', value])], {
      env: { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir, KUBECONFIG: server.kubeconfig },
      timeoutMs: 60_000,
    });
    const kubeconfig = await server.kubeconfigFor(HUB);
    let running: RunningProgram | undefined;
    stack.defer(async () => running?.stop());
    return {
      server,
      helm: tools.path('helm'),
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
