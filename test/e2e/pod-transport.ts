import type { Cluster } from '@flotilla/control-plane/servers';
import { countRefusedCreates, observeServer } from '../conformance/observer.ts';
import { describeTransport } from '../conformance/transport.ts';
import type { TransportSubject } from '../conformance/transport-subject.ts';
import type { PrecacheFleet } from '../fixtures/precache-fleet.ts';
import { NAMESPACE } from '../support/installation.ts';

const AGENT = ['-n', NAMESPACE, 'deployment/flotilla-spoke'];

/** The suite asks about kinds and namespaces that pre-caching has nothing to do with. */
const ANYTHING = {
  confinement: { enabled: false },
  rbac: { extraRules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'create', 'patch', 'delete'] }] },
};

/** The short form for the agent as the chart installs it, a pod of a whole cluster; from then on it may do anything there. */
export function describePodTransport(get: () => PrecacheFleet): void {
  describeTransport({ name: 'our agent as a pod', extent: 'short', setup: () => podSubject(get()) });
}

async function podSubject(world: PrecacheFleet): Promise<TransportSubject> {
  const { fleet } = world;
  const [spoke] = fleet.spokes;
  const cluster = spoke && fleet.clusters.get(spoke.name);
  if (!spoke || !cluster) throw new TypeError('the fleet has no spoke');
  await spoke.setRate(undefined);
  await world.rejoin(spoke, ANYTHING);
  await cluster.kubectl(['rollout', 'status', ...AGENT, '--timeout=60s'], { timeoutMs: 70_000 });
  return {
    hub: fleet.hub.client,
    cluster: spoke.name,
    spoke: observeServer(spoke.client),
    stopAgent: () => killAgent(cluster),
    async startAgent() {
      await cluster.kubectl(['scale', '--replicas=1', ...AGENT]);
      await cluster.kubectl(['rollout', 'status', ...AGENT, '--timeout=60s'], { timeoutMs: 70_000 });
    },
    refusedCreates: () => countRefusedCreates(spoke.client),
    // The fleet is not ours.
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Frozen first: then it cannot say anything between the kubelet's SIGTERM and SIGKILL. */
async function killAgent(cluster: Cluster): Promise<void> {
  const script = 'for f in $(grep -lz "^HUB_KUBECONFIG=" /proc/[0-9]*/environ 2>/dev/null); do kill -STOP $(basename $(dirname $f)); done';
  await cluster.run('/bin/sh', ['-c', script]);
  await cluster.kubectl(['scale', '--replicas=0', ...AGENT]);
  const pods = ['-n', NAMESPACE, 'pods', '-l', 'app.kubernetes.io/instance=flotilla-spoke'];
  await cluster.kubectl(['delete', ...pods, '--force', '--grace-period=0', '--wait=true']);
}
