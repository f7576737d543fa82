import { join } from 'node:path';
import { registerStop } from '../../processes/exit-cleanup.ts';
import { freePorts } from '../../processes/free-port.ts';
import { type ServerProcess, startServerProcess } from '../../processes/server-process.ts';
import type { Log } from '../../toolchain/go-build.ts';
import { ensureTools } from '../../toolchain/tools.ts';
import type { ApiServer } from './api-server.ts';

/** Options of a controller manager. */
export interface ControllerManagerOptions {
  /** Controllers to run; default: those that delete namespaces and garbage. */
  readonly controllers?: readonly string[];
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** A kube-controller-manager; stop it before its API server. */
export interface ControllerManager extends AsyncDisposable {
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts controllers beside an API server, for suites in which deleted namespaces and owned objects must really go. It is
 * at work about a second later; wait for its effect.
 */
export async function startControllerManager(apiServer: ApiServer, options: ControllerManagerOptions = {}): Promise<ControllerManager> {
  const { controllers = ['namespace-controller', 'garbage-collector-controller'], log } = options;
  const tools = await ensureTools(['kube-controller-manager'], log && { log });
  const [port] = await freePorts(1);
  const server: ServerProcess = await startServerProcess({
    name: 'kube-controller-manager',
    program: tools.path('kube-controller-manager'),
    args: [
      `--kubeconfig=${apiServer.kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(apiServer.dir, 'controller-manager')}`,
    ],
    logFile: join(apiServer.dir, 'controller-manager.log'),
  });
  const stop = registerStop(() => server.stop({ signal: 'SIGKILL' }));
  return { pid: server.pid, stop, [Symbol.asyncDispose]: stop };
}
