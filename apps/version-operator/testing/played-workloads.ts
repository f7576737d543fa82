/** The controllers of workloads, of whom a cluster without nodes has none. */
import { isJsonObject, KubeObject, type Resource, untyped } from '@flotilla/api';
import { WatchCache } from '@flotilla/runtime';
import type { World } from './world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const at = '2026-01-01T00:00:00Z';
const condition = (type: string, reason: string): Json => ({ type, status: 'True', reason, message: reason, lastTransitionTime: at });

const counts = (replicas: number): Json => ({
  replicas,
  readyReplicas: replicas,
  availableReplicas: replicas,
  updatedReplicas: replicas,
});
const workloads: readonly (readonly [kind: Resource, status: (spec: Json) => Json])[] = [
  [
    untyped('apps/v1', 'Deployment', 'deployments'),
    ({ replicas }) => ({
      ...counts(Number(replicas ?? 1)),
      conditions: [condition('Available', 'MinimumReplicasAvailable'), condition('Progressing', 'NewReplicaSetAvailable')],
    }),
  ],
  [untyped('apps/v1', 'StatefulSet', 'statefulsets'), ({ replicas }) => counts(Number(replicas ?? 1))],
  [
    untyped('apps/v1', 'DaemonSet', 'daemonsets'),
    () => ({ desiredNumberScheduled: 0, currentNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 }),
  ],
  [
    untyped('batch/v1', 'Job', 'jobs'),
    () => ({
      succeeded: 1,
      startTime: at,
      completionTime: at,
      conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => condition(type, 'CompletionsReached')),
    }),
  ],
];

/** Has every workload as many replicas as it asks for, at once, until the world ends. A Job has ended well. */
export function playWorkloads(world: World): void {
  const ending = new AbortController();
  const caches = workloads.map(([kind, statusOf]) => {
    const cache = new WatchCache(world.client, { ...kind, schema: KubeObject });
    cache.subscribe(({ type, object: { metadata, spec, status } }) => {
      const { generation: observedGeneration } = metadata;
      if (type === 'deleted' || (isJsonObject(status) && status.observedGeneration === observedGeneration)) return;
      if (kind.kind === 'Job' && isJsonObject(status) && status.succeeded === 1) return;
      const own = kind.kind === 'Job' ? {} : { observedGeneration };
      const patch = { status: { ...own, ...statusOf(isJsonObject(spec) ? spec : {}) } };
      // whoever was faster is told of by the watch
      world.client.patch(kind, metadata, patch, { type: 'merge', subresource: 'status' }).catch(() => undefined);
    });
    cache.start(ending.signal);
    return cache;
  });
  world.plays({
    async stop() {
      ending.abort();
      await Promise.all(caches.map((cache) => cache.stopped()));
    },
  });
}
