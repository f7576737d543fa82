import { freePorts } from '../../processes/free-port.ts';
import type { Log } from '../../toolchain/go-build.ts';
import type { ToolName } from '../../toolchain/tool-sets.ts';
import { ensureTools } from '../../toolchain/tools.ts';
import { type OcmComponent, startComponent } from './component.ts';

/** Options of a component that reaches the hub. */
interface OnHub {
  /** Path of the hub's kubeconfig. */
  readonly hub: string;
  /** Folder for logs. */
  readonly dir: string;
  /** Progress of tool builds; default: standard error. */
  readonly log?: Log;
}

/** A component of one spoke. */
interface OnSpoke extends OnHub {
  /** Name of the ManagedCluster, and of its namespace on the hub. */
  readonly cluster: string;
  /** Path of the spoke's kubeconfig. */
  readonly spoke: string;
}

/** Programs of the components. */
export const OCM_TOOLS: readonly ToolName[] = ['ocm-work', 'ocm-placement', 'policy-propagator', 'config-policy-controller'];

/** Namespace on the spoke in which the work agent works. */
export const AGENT_NAMESPACE = 'open-cluster-management-agent';

const programOf = async (name: ToolName, { log }: OnHub): Promise<string> => (await ensureTools([name], log && { log })).path(name);

/** A free `127.0.0.1:PORT`. */
async function freeAddress(): Promise<string> {
  const [port] = await freePorts(1);
  return `127.0.0.1:${port}`;
}

/** Applies ManifestWorks of a cluster's namespace on the hub to its spoke, and reports feedback (spec/ocm 4.3). */
export async function startWorkAgent(options: OnSpoke): Promise<OcmComponent> {
  const { hub, spoke, cluster, dir } = options;
  const address = await freeAddress();
  return startComponent({
    name: `work-agent-${cluster}`,
    program: await programOf('ocm-work', options),
    args: [
      'agent',
      `--spoke-cluster-name=${cluster}`,
      `--kubeconfig=${spoke}`,
      '--workload-source-driver=kube',
      `--workload-source-config=${hub}`,
      `--agent-id=${cluster}`,
      `--namespace=${AGENT_NAMESPACE}`,
      '--disable-leader-election',
      `--listen=${address}`,
    ],
    dir,
    healthUrl: `https://${address}/healthz`,
  });
}

/** Decides Placements from ManagedClusters, sets and bindings (spec/ocm 2.4). */
export async function startPlacementController(options: OnHub): Promise<OcmComponent> {
  const address = await freeAddress();
  return startComponent({
    name: 'placement-controller',
    program: await programOf('ocm-placement', options),
    args: [
      'controller',
      `--kubeconfig=${options.hub}`,
      '--namespace=open-cluster-management',
      '--disable-leader-election',
      `--listen=${address}`,
    ],
    dir: options.dir,
    healthUrl: `https://${address}/healthz`,
  });
}

/** Copies root policies into the namespaces of their clusters, enforced as bindings say, and rolls their status up (spec/ocm 3.2-3.5). */
export async function startGovernancePropagator(options: OnHub): Promise<OcmComponent> {
  const address = await freeAddress();
  return startComponent({
    name: 'policy-propagator',
    program: await programOf('policy-propagator', options),
    args: ['--leader-elect=false', '--enable-webhooks=false', '--metrics-bind-address=0', `--health-probe-bind-address=${address}`],
    env: { KUBECONFIG: options.hub, WATCH_NAMESPACE: '' },
    dir: options.dir,
    healthUrl: `http://${address}/healthz`,
  });
}

/** Evaluates and enforces ConfigurationPolicies of the cluster's namespace on the spoke (spec/ocm 3.6). */
export async function startConfigPolicyController(options: OnSpoke): Promise<OcmComponent> {
  const { hub, spoke, cluster, dir } = options;
  const address = await freeAddress();
  return startComponent({
    name: `config-policy-controller-${cluster}`,
    program: await programOf('config-policy-controller', options),
    args: [
      'controller',
      '--leader-elect=false',
      `--cluster-name=${cluster}`,
      `--hub-kubeconfig-path=${hub}`,
      '--metrics-bind-address=0',
      `--health-probe-bind-address=${address}`,
    ],
    env: { KUBECONFIG: spoke, WATCH_NAMESPACE: cluster, OSDK_FORCE_RUN_MODE: 'local' },
    dir,
    healthUrl: `http://${address}/healthz`,
  });
}
