import type { WorkCadence } from '@flotilla/agent';
import type { KubeObject, Resource } from '@flotilla/api';
import type { SpokeStore } from '@flotilla/control-plane/simulators';
import { startSimulatedFleet } from './simulated-fleet.ts';
import type { SpokeObserver, TransportSubject } from './transport-subject.ts';

const CLUSTER = 'simulated-1';

/** A simulated spoke on a hub in memory. Nobody but the suite writes the status of what works apply, as on a bare API server. */
export async function startSimulatedSubject(workCadence?: WorkCadence, speed?: number): Promise<TransportSubject> {
  const fleet = await startSimulatedFleet({
    names: [CLUSTER],
    seed: 1,
    job: { seconds: 1, jitter: 0 },
    faults: { [CLUSTER]: { statusNeverChanges: true } },
    workCadence,
    makesPullerAccount: true,
    speed,
  });
  const { hub, spokes } = fleet;
  return {
    hub,
    cluster: CLUSTER,
    spoke: observeStore(() => spokes.store(CLUSTER)),
    async stopAgent() {
      spokes.disconnect(CLUSTER);
    },
    async startAgent() {
      spokes.restartAgent(CLUSTER);
      spokes.reconnect(CLUSTER);
    },
    refusedCreates: async () =>
      spokes.events(CLUSTER).filter(({ type, name }) => type === 'action-failed' && name.startsWith('action-')).length,
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}

function observeStore(store: () => SpokeStore): SpokeObserver {
  const served = async (kind: Resource) => {
    const found = await store().findKind(kind.apiVersion, kind.kind);
    if (!found) throw new Error(`the simulated spoke does not serve ${kind.kind}`);
    return found;
  };
  return {
    async get(kind, { namespace, name }): Promise<KubeObject | undefined> {
      return store().read(await served(kind), namespace, name);
    },
    async create(kind, object) {
      store().put(await served(kind), object.metadata.namespace, object);
    },
    async patch(kind, { namespace, name }, patch) {
      store().patch(await served(kind), namespace, name, patch);
    },
    async delete(kind, { namespace, name }) {
      store().remove(await served(kind), namespace, name);
    },
    async setStatus(kind, { namespace, name }, status) {
      const object = store().read(await served(kind), namespace, name);
      if (!object || !store().setStatus(await served(kind), object.metadata, status)) throw new Error(`no ${kind.kind} ${name}`);
    },
  };
}
