import { errorMessage } from '@flotilla/api';
import { cleanupOnExit, findProgram, sweepLeftovers } from '@flotilla/control-plane/processes';
import { clusterObstacle, OCM_TOOLS } from '@flotilla/control-plane/servers';
import {
  BUILD_PACKAGES,
  describeTools,
  ensureDebianPackages,
  ensureTools,
  type Log,
  MONITORING_PACKAGES,
  NODE_PACKAGES,
  type ToolName,
} from '@flotilla/control-plane/toolchain';
import { prepareBase } from './images/build-images.ts';
import { hostArchitecture } from './images/cache-folder.ts';

const EVERYWHERE: readonly ToolName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl', 'registry', 'helm'];
/** Where whole clusters run; end-to-end tests roll out beside the components of Open Cluster Management. */
const FOR_CLUSTERS: readonly ToolName[] = ['kube-scheduler', 'kubelet', 'kube-proxy', 'crio', 'pinns', 'import-image', ...OCM_TOOLS];

/**
 * Does all set-up of this machine for tests and the demo: Debian packages (as root), programs built or found in the cache, the base of
 * our images where whole clusters run, leftovers of killed runs removed. Says what it does. Throws PackagesMissingError,
 * ToolsUnavailableError or `FLOTILLA_IMAGES_*`.
 */
export async function setUp(log: Log): Promise<void> {
  const swept = await sweepLeftovers();
  if (swept.length > 0) log(`Removed what ${swept.length} killed ${swept.length === 1 ? 'run' : 'runs'} left behind`);
  const obstacle = clusterObstacle();
  if (obstacle) {
    log(`No whole clusters here: ${obstacle}`);
    if (!(await findProgram('redis-server')))
      log('No redis-server on PATH: tests that need it are skipped; install the package redis-server');
  } else {
    await ensureDebianPackages(
      [
        ...new Set([
          ...NODE_PACKAGES.containerd,
          ...NODE_PACKAGES.crio,
          ...BUILD_PACKAGES,
          ...MONITORING_PACKAGES,
          'redis-server' as const,
        ]),
      ],
      log,
    );
  }
  const tools = await ensureTools(obstacle ? EVERYWHERE : [...EVERYWHERE, ...FOR_CLUSTERS], { log });
  if (!obstacle) await prepareBase(hostArchitecture(), log);
  log(`Programs: ${describeTools(tools)}`);
}

if (import.meta.main) {
  cleanupOnExit();
  const log: Log = (line) => void process.stdout.write(`${line}\n`);
  try {
    await setUp(log);
    log('Set-up is complete');
  } catch (error) {
    process.stderr.write(`Set-up failed: ${errorMessage(error)}\n`);
    process.exitCode = 1;
  }
}
