/** An update reports each of its waits: object, numbers, time since, and the reason that a pod gives. */
import { KubeObject, untyped } from '@flotilla/api';
import { startApiServer } from '@flotilla/control-plane/servers';
import { startFakeOperators } from '@flotilla/control-plane/simulators';
import { type Clock, systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { component, imageOf, kinds, scriptOf, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const MINUTE = 60_000;

const pods = untyped('v1', 'Pod', 'pods');
const statefulSets = untyped('apps/v1', 'StatefulSet', 'statefulsets');

/** The machine's clock, which may be put forward. */
class AheadClock implements Clock {
  #aheadMs = 0;
  now(): number {
    return systemClock.now() + this.#aheadMs;
  }
  setTimer(ms: number, fn: () => void): Disposable {
    return systemClock.setTimer(ms, fn);
  }
  forward(ms: number): void {
    this.#aheadMs += ms;
  }
}

const release = (version: string, more: TestRelease['files'] = {}): TestRelease => ({
  version,
  files: { ...component('alpha', version, '20'), ...component('omega', version, '30'), ...more },
});
const play = async (world: World) =>
  world.plays(
    await startFakeOperators({
      client: world.client,
      releases: ['4.20.1', '4.20.2'].map((version) => scriptOf(version, ['alpha', 'omega'])),
      updateDelayMs: 100,
    }),
  );

/** A pod of a workload whose image nobody has. */
async function createStuckPod(world: World, namespace: string, labels: Json): Promise<void> {
  const metadata = { name: 'stuck', namespace, labels };
  await world.client.create(pods, KubeObject.parse({ metadata, spec: { containers: [{ name: 'main', image: 'i' }] } }));
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "i"' } };
  const containerStatuses = [{ name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, state }];
  await world.client.patch(pods, metadata, { status: { phase: 'Pending', containerStatuses } }, { type: 'merge', subresource: 'status' });
}
const TROUBLE = 'pod stuck: container main: ImagePullBackOff: Back-off pulling image "i"';

test('an operator that is degraded for a moment, and is only told of, holds nothing up and is told no longer', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world);
  const [first, second] = [release('4.20.1'), release('4.20.2')];
  const clock = new AheadClock();
  await using _operator = world.run(first, [second], { clock, degradedBlocks: () => false });
  await world.completed(first);
  operators.setOperator('alpha', { degraded: true });
  operators.setOperator('omega', { isSlow: true });
  await world.ask({ desiredUpdate: { version: '4.20.2', image: imageOf(second) } });
  await world.until(async () => (await world.condition('Progressing')).includes('waiting up to 40 minutes on alpha; waiting on omega'));
  expect(await world.condition('Progressing')).toMatch(/^True \w+: Working towards 4\.20\.2: /);
  expect(await world.condition('Failing')).toBe('False : ');
  clock.forward(41 * MINUTE);
  operators.setOperator('omega', undefined);
  await world.completed(second);
  await world.until(
    async () =>
      (await world.condition('Failing')) ===
      'True ClusterOperatorDegraded: Cluster operator alpha is degraded: PodsFailing: 1 of 3 pods fails.',
  );
  operators.setOperator('alpha', undefined);
  await world.until(async () => (await world.condition('Failing')) === 'False : ');
  expect(await world.condition('Progressing')).toBe('False : Cluster version is 4.20.2');
});

test('an operator that recovers while the rest of an update is applied is told no longer', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world);
  const [first, second] = [release('4.20.1'), release('4.20.2')];
  await using _operator = world.run(first, [second], { degradedBlocks: () => false });
  await world.completed(first);
  operators.setOperator('alpha', { degraded: true });
  operators.setOperator('omega', { isSlow: true });
  await world.ask({ desiredUpdate: { version: '4.20.2', image: imageOf(second) } });
  await world.until(async () => (await world.condition('Progressing')).includes('waiting up to 40 minutes on alpha'));
  operators.setOperator('alpha', undefined);
  await world.until(async () => (await world.condition('Progressing')).endsWith('complete), waiting on omega'), 10_000);
  expect(await world.condition('Failing')).toBe('False : ');
  operators.setOperator('omega', undefined);
  await world.completed(second);
});

test('a Deployment that cannot roll out is told with what its pod says', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world);
  const [first, second] = [release('4.20.1'), release('4.20.2')];
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  await createStuckPod(world, 'openshift-alpha', { app: 'alpha' });
  operators.setStuck('openshift-alpha/alpha', true);
  await world.ask({ desiredUpdate: { version: '4.20.2', image: imageOf(second) } });
  await world.until(async () => (await world.condition('Failing')).endsWith(`; ${TROUBLE}`));
  expect(await world.condition('Failing')).toMatch(
    /^True WorkloadNotProgressing: deployment openshift-alpha\/alpha is Progressing=False: ProgressDeadlineExceeded: /,
  );
  operators.setStuck('openshift-alpha/alpha', false);
  await world.completed(second);
  expect(await world.condition('Failing')).toBe('False : ');
});

test('a StatefulSet that gets no further is waited for, told with how far it is, and a failure after half an hour', async () => {
  await using world = await World.start(await startApiServer());
  const store = (image: string) => ({
    '0000_25_store_00_set.json': [
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'store', namespace: 'openshift-alpha' },
        spec: {
          replicas: 3,
          serviceName: 'store',
          selector: { matchLabels: { app: 'store' }, matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['web'] }] },
          template: { metadata: { labels: { app: 'store' } }, spec: { containers: [{ name: 'main', image }] } },
        },
      },
    ],
  });
  const [first, second] = [release('4.20.1', store('i:1')), release('4.20.2', store('i:2'))];
  const clock = new AheadClock();
  const operators = await startFakeOperators({
    client: world.client,
    releases: ['4.20.1', '4.20.2'].map((version) => scriptOf(version, ['alpha', 'omega'])),
    updateDelayMs: 100,
    statefulSets: false,
  });
  world.plays(operators);
  await using _operator = world.run(first, [second], { clock });
  await world.completed(first);
  await createStuckPod(world, 'openshift-alpha', { app: 'store' });
  const ref = { namespace: 'openshift-alpha', name: 'store' };
  const roll = async (updated: number, available: number) => {
    const { generation } = (await world.client.get(statefulSets, ref))?.metadata ?? {};
    const status = {
      observedGeneration: generation,
      replicas: 3,
      updatedReplicas: updated,
      readyReplicas: available,
      availableReplicas: available,
    };
    await world.client.patch(statefulSets, ref, { status }, { type: 'merge', subresource: 'status' });
  };
  await world.ask({ desiredUpdate: { version: '4.20.2', image: imageOf(second) } });
  await world.until(async () => ((await world.client.get(statefulSets, ref))?.metadata.generation ?? 0) > 1);
  await world.until(async () =>
    (await world.condition('Progressing')).includes('openshift-alpha/store (statefulset: the change has not been seen yet'),
  );
  await roll(1, 2);
  await world.until(async () =>
    /waiting on openshift-alpha\/store \(statefulset: 1 of 3 replicas are updated, since [\dTZ:-]+\)$/.test(
      await world.condition('Progressing'),
    ),
  );
  expect(await world.condition('Failing')).toBe('False : ');
  clock.forward(MINUTE);
  await roll(1, 1);
  await world.until(async () => (await world.condition('Progressing')).includes(`; ${TROUBLE})`));
  expect(await world.condition('Failing')).toBe('False : ');
  clock.forward(30 * MINUTE);
  await roll(1, 2);
  await world.until(async () =>
    (await world.condition('Failing')).startsWith(
      'True WorkloadNotProgressing: openshift-alpha/store has got no further for 30 minutes: statefulset: 1 of 3 replicas are updated, since ',
    ),
  );
  expect(await world.condition('Progressing')).toContain('1 of 3 replicas are updated');
  await roll(2, 2);
  await world.until(async () => (await world.condition('Failing')) === 'False : ');
  expect(await world.client.get(kinds.deployment, { namespace: 'openshift-omega', name: 'omega' })).toMatchObject({
    spec: { template: { spec: { containers: [{ image: 'omega:4.20.1' }] } } },
  });
  await roll(3, 3);
  await world.completed(second);
});
