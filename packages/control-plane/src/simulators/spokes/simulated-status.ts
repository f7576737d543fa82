import { isJsonObject, isSameJson, mergePatched } from '@flotilla/api';
import type { ServedResource } from '@flotilla/runtime';
import type { TimerHeap } from '../timer-heap.ts';
import type { SpokeFaults, WorkShape } from './faults.ts';
import type { SpokeStore, StoredObject } from './spoke-store.ts';

type Json = Record<string, unknown>;

interface StatusSurroundings {
  readonly spoke: string;
  readonly store: SpokeStore;
  readonly timers: TimerHeap;
  readonly random: () => number;
  readonly shape: WorkShape;
  readonly faults: SpokeFaults;
}

/** Plays the controllers of a spoke: an object whose spec is new or changed takes its next status after a while. */
export function playControllers(served: ServedResource, object: StoredObject, around: StatusSurroundings): void {
  const { store, timers, shape, faults } = around;
  if (faults.statusNeverChanges || !nextStatus(served, object, around)) return;
  const { generation } = object.metadata;
  const afterMs = (faults.workSeconds ?? shape.seconds) * 1000 * (1 + shape.jitter * (2 * around.random() - 1));
  timers.after(afterMs, () => {
    const { namespace, name, uid } = object.metadata;
    const now = store.read(served, namespace, name);
    // Changed again meanwhile: that change has its own time.
    if (!now || now.metadata.uid !== uid || now.metadata.generation !== generation) return;
    const status = nextStatus(served, now, around);
    const merged = mergePatched(now.status, status);
    if (status && isJsonObject(merged) && !isSameJson(merged, now.status)) store.setStatus(served, now.metadata, merged);
    if (served.kind === 'InstallPlan') finishSubscriptions(store, now);
  });
}

function nextStatus(served: ServedResource, object: StoredObject, { shape, spoke }: StatusSurroundings): Json | undefined {
  const told = shape.status?.[served.kind];
  if (told) return typeof told === 'function' ? told(object, spoke) : told;
  if (served.kind === 'InstallPlan') return isJsonObject(object.spec) && object.spec.approved === true ? { phase: 'Complete' } : undefined;
  return served.group === 'apps' ? READY[served.kind]?.(object) : undefined;
}

/** The Subscriptions that waited for an InstallPlan are up to date. */
function finishSubscriptions(store: SpokeStore, plan: StoredObject): void {
  const served = store.kinds.find(({ kind, group }) => kind === 'Subscription' && group === 'operators.coreos.com');
  for (const subscription of served ? store.list(served) : []) {
    const status = isJsonObject(subscription.status) ? subscription.status : {};
    const waitedFor = isJsonObject(status.installPlanRef) ? status.installPlanRef.name : undefined;
    if (!served || waitedFor !== plan.metadata.name || subscription.metadata.namespace !== plan.metadata.namespace) continue;
    store.setStatus(served, subscription.metadata, { ...status, state: 'AtLatestKnown', installedCSV: status.currentCSV });
  }
}

const replicasOf = ({ spec }: StoredObject): number => (isJsonObject(spec) && typeof spec.replicas === 'number' ? spec.replicas : 1);

/** Status of the workloads whose pods run. */
const READY: Readonly<Record<string, (object: StoredObject) => Json>> = {
  Deployment(object) {
    const replicas = replicasOf(object);
    return {
      observedGeneration: object.metadata.generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      conditions: [
        { type: 'Available', status: 'True', reason: 'MinimumReplicasAvailable', message: 'Deployment has minimum availability.' },
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', message: 'The new ReplicaSet has progressed.' },
      ],
    };
  },
  StatefulSet(object) {
    const replicas = replicasOf(object);
    return {
      observedGeneration: object.metadata.generation,
      replicas,
      readyReplicas: replicas,
      availableReplicas: replicas,
      updatedReplicas: replicas,
    };
  },
  DaemonSet: (object) => ({
    observedGeneration: object.metadata.generation,
    desiredNumberScheduled: 1,
    currentNumberScheduled: 1,
    updatedNumberScheduled: 1,
    numberReady: 1,
    numberAvailable: 1,
    numberMisscheduled: 0,
  }),
};
