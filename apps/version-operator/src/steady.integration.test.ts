/** A cluster that is as it should be stays so to its ClusterVersion, whatever its nodes and pods do. */
import { KubeObject, type Resource, untyped } from '@flotilla/api';
import { ClusterOperator, ClusterVersion } from '@flotilla/api/config';
import { startApiServer } from '@flotilla/control-plane/servers';
import { createLogger } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { deployment, kinds, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const NS = 'openshift-web';
const PASSES = 100;

const daemonSet = untyped('apps/v1', 'DaemonSet', 'daemonsets');
const statefulSet = untyped('apps/v1', 'StatefulSet', 'statefulsets');

const template = (name: string) => ({
  selector: { matchLabels: { app: name } },
  template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: `${name}:1` }] } },
});
const workload = (kind: string, name: string, spec: Json = {}): Json => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: NS },
  spec: { ...template(name), ...spec },
});
const release: TestRelease = {
  version: '4.1.0',
  files: {
    '0000_20_web_00_namespace.json': [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NS } }],
    '0000_20_web_10_workloads.json': [
      { ...deployment('web', 'web:1'), spec: { replicas: 10, ...template('web') } },
      workload('Deployment', 'single', { strategy: { type: 'Recreate' } }),
      workload('DaemonSet', 'agent'),
      workload('StatefulSet', 'store', { replicas: 3, serviceName: 'store' }),
    ],
    '0000_20_web_20_job.json': [
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'migrate', namespace: NS },
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      },
    ],
    '0000_20_web_30_operator.json': [
      {
        apiVersion: 'config.openshift.io/v1',
        kind: 'ClusterOperator',
        metadata: { name: 'web' },
        status: { versions: [{ name: 'operator', version: '4.1.0' }] },
      },
    ],
  },
};

const at = '2026-01-01T00:00:00Z';
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: reason,
  lastTransitionTime: at,
  lastUpdateTime: at,
});
const progressed = condition('Progressing', 'True', 'NewReplicaSetAvailable');

/** Plays the controllers of the workloads: so many replicas of each are there, updated and available. */
class Controllers {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  async #status(kind: Resource, name: string, status: (generation: number) => Json): Promise<void> {
    const ref = { namespace: NS, name };
    await this.#world.until(async () => {
      const object = await this.#world.client.get<KubeObject>({ ...kind, schema: KubeObject }, ref);
      const { generation = 0 } = object?.metadata ?? {};
      const patch = { status: { observedGeneration: generation, ...status(generation) } };
      return object && (await this.#world.client.patch(kind, ref, patch, { type: 'merge', subresource: 'status' }));
    });
  }

  deployment(name: string, wanted: number, available: number, more: readonly Json[] = [], replicas = wanted): Promise<void> {
    const isAvailable = available >= Math.ceil(wanted * 0.75);
    return this.#status(kinds.deployment, name, () => ({
      replicas,
      updatedReplicas: replicas,
      readyReplicas: available,
      availableReplicas: available,
      unavailableReplicas: Math.max(wanted - available, 0) || null,
      conditions: [
        condition('Available', isAvailable ? 'True' : 'False', isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable'),
        progressed,
        ...more,
      ],
    }));
  }

  daemonSet(desired: number, updated: number, available: number): Promise<void> {
    return this.#status(daemonSet, 'agent', () => ({
      desiredNumberScheduled: desired,
      currentNumberScheduled: desired,
      numberMisscheduled: 0,
      updatedNumberScheduled: updated,
      numberReady: available,
      numberAvailable: available,
      numberUnavailable: desired - available || null,
    }));
  }

  statefulSet(available: number): Promise<void> {
    const counts = { replicas: 3, updatedReplicas: 3, currentReplicas: 3 };
    return this.#status(statefulSet, 'store', () => ({ ...counts, readyReplicas: available, availableReplicas: available }));
  }

  async settle(): Promise<void> {
    await this.deployment('web', 10, 10);
    await this.deployment('single', 1, 1);
    await this.daemonSet(10, 10, 10);
    await this.statefulSet(3);
  }

  async job(status: Json): Promise<void> {
    const ref = { namespace: NS, name: 'migrate' };
    await this.#world.until(() => this.#world.client.get(kinds.job, ref));
    await this.#world.client.patch(kinds.job, ref, { status }, { type: 'merge', subresource: 'status' });
  }

  async operator(): Promise<void> {
    const conditions = ['Available', 'Progressing', 'Degraded'].map((type) => {
      const is = type === 'Available' ? 'True' : 'False';
      return { type, status: is, reason: 'AsExpected', message: 'All is well', lastTransitionTime: at };
    });
    const status = { versions: [{ name: 'operator', version: '4.1.0' }], conditions };
    await this.#world.until(() => this.#world.client.get(ClusterOperator, { name: 'web' }));
    await this.#world.client.patch(ClusterOperator, { name: 'web' }, { status }, { type: 'merge', subresource: 'status' });
  }
}

const complete = (time: string): Json => ({
  succeeded: 1,
  startTime: time,
  completionTime: time,
  conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({
    type,
    status: 'True',
    reason: 'CompletionsReached',
    lastTransitionTime: time,
  })),
});

/** Every Failing and Progressing that is written, until it is stopped. */
async function remember(world: World, told: Set<string>, signal: AbortSignal): Promise<void> {
  const { resourceVersion } = await world.client.list(ClusterVersion);
  for await (const event of world.client.watch(ClusterVersion, { resourceVersion, signal }))
    for (const { type, status, reason, message } of (event.type === 'BOOKMARK' ? undefined : event.object.status?.conditions) ?? [])
      if (type === 'Failing' || type === 'Progressing') told.add(`${type}=${status} ${reason}: ${message}`);
}

test('a steady cluster whose nodes and pods restart through a hundred passes is never Failing', async () => {
  await using world = await World.start(await startApiServer());
  const play = new Controllers(world);
  const lines: string[] = [];
  const logger = createLogger({ name: 'version-operator', level: 'debug', destination: { write: (line) => void lines.push(line) } });
  await using _operator = world.run(release, [], { passEveryMs: 10, logger });
  await play.job(complete(`${new Date().toISOString().slice(0, 19)}Z`));
  await play.operator();
  await world.completed(release);
  await play.settle();
  const told = new Set<string>();
  const watching = new AbortController();
  const remembering = remember(world, told, watching.signal);
  const count = (text: string): number => lines.filter((line) => line.includes(text)).length;
  const passes = () => count('Applied the release');
  /** Lets passes look at what the cluster is like now. */
  const looked = async (more: number): Promise<void> => {
    const before = passes();
    await world.until(async () => passes() >= before + more, 60_000);
  };
  const refused = condition('ReplicaFailure', 'True', 'FailedCreate');
  const rounds: readonly (readonly [what: string, play: () => Promise<unknown>])[] = [
    ['a node is away', () => Promise.all([play.deployment('web', 10, 9), play.daemonSet(10, 10, 9), play.statefulSet(2)])],
    ['the only pod restarts', () => play.deployment('single', 1, 0)],
    ['its pod is being made again', () => play.deployment('single', 1, 0, [], 0)],
    ['a node is new', () => play.daemonSet(11, 10, 10)],
    ['half of the nodes restart', () => Promise.all([play.deployment('web', 10, 5), play.daemonSet(10, 10, 5), play.statefulSet(1)])],
    [
      'somebody scales by hand',
      () => world.client.patch(kinds.deployment, { namespace: NS, name: 'web' }, { spec: { replicas: 4 } }, { type: 'merge' }),
    ],
    ['somebody deletes a Job', () => world.client.delete(kinds.job, { namespace: NS, name: 'migrate' })],
    ['all is well', () => play.settle()],
  ];
  for (let round = 0; passes() < PASSES; round++) {
    const [, happen] = rounds[round % rounds.length] ?? [];
    await happen?.();
    await looked(3);
  }
  // pods are refused for a moment, as their webhook was on the node that is away
  await play.deployment('web', 10, 9, [refused]);
  await world.until(async () => count('has a replica failure FailedCreate') > 0);
  await play.settle();
  await looked(2);
  expect(passes()).toBeGreaterThanOrEqual(PASSES);
  watching.abort();
  await remembering;
  expect([...told].filter((one) => !one.startsWith('Failing=False') && !one.startsWith('Progressing=False'))).toEqual([]);
  expect(await world.condition('Failing')).toBe('False : ');
  expect(await world.condition('Progressing')).toBe('False : Cluster version is 4.1.0');
});
