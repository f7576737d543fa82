/** Replicas of a workload that an autoscaler names are the autoscaler's, at no cost to steady passes. */
import { KubeObject, type Resource, untyped } from '@flotilla/api';
import { HorizontalPodAutoscaler } from '@flotilla/api/core';
import { startApiServer } from '@flotilla/control-plane/servers';
import { createLogger } from '@flotilla/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countedCalls } from '../testing/counted-calls.ts';
import { playWorkloads } from '../testing/played-workloads.ts';
import { imageOf, kinds, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const NS = 'openshift-scaled';
const ref = { namespace: NS, name: 'web' };
const statefulSet = untyped('apps/v1', 'StatefulSet', 'statefulsets');

const workload = (kind: string, image: string): Json => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: ref,
  spec: {
    replicas: 3,
    ...(kind === 'StatefulSet' && { serviceName: 'web' }),
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image }] } },
  },
});
const releaseOf = (version: string): TestRelease => ({
  version,
  files: {
    '0000_10_scaled_00.json': [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NS } }],
    '0000_20_scaled_00.json': [workload('Deployment', `web:${version}`), workload('StatefulSet', `web:${version}`)],
  },
});
const [before, after] = [releaseOf('4.1.0'), releaseOf('4.1.1')];
const both = [kinds.deployment, statefulSet];

let world: World;
let operator: RunningOperator;
const calls: { verb: string; kind: string }[] = [];
const lines: string[] = [];
const logger = createLogger({ name: 'test', level: 'debug', destination: { write: (line) => void lines.push(line) } });
const start = (release: TestRelease, others: readonly TestRelease[] = []): RunningOperator =>
  world.run(release, others, { client: countedCalls(world.client, (call) => void calls.push(call)), logger, passEveryMs: 100 });

const read = async (kind: Resource) => KubeObject.parse(await world.client.get(kind, ref));
const replicasOf = async (kind: Resource): Promise<unknown> => Object((await read(kind)).spec).replicas;
const scale = (kind: Resource, replicas: number) => world.client.patch(kind, ref, { spec: { replicas } }, { type: 'merge' });
const have = (replicas: number) => world.until(async () => (await Promise.all(both.map(replicasOf))).every((one) => one === replicas));
const passes = async (more: number): Promise<void> => {
  const count = () => lines.filter((line) => line.includes('Applied the release')).length;
  const first = count();
  await world.until(async () => count() >= first + more, 60_000);
};
const autoscaler = (kind: string) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { namespace: NS, name: kind.toLowerCase() },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind, name: 'web' }, minReplicas: 2, maxReplicas: 9 },
});

beforeAll(async () => {
  world = await World.start(await startApiServer());
  playWorkloads(world);
  operator = start(before, [after]);
  await world.completed(before);
}, 120_000);
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

test('replicas that nobody is named for are put back', async () => {
  for (const kind of both) await scale(kind, 5);
  await have(3);
});

test('replicas of an autoscaler stay, and steady passes neither read nor write', async () => {
  for (const { kind } of both) await world.client.create(HorizontalPodAutoscaler, autoscaler(kind));
  for (const kind of both) await scale(kind, 5);
  await passes(3);
  const readOrWritten = async (replicas: number) => {
    calls.length = 0;
    for (const kind of both) await scale(kind, replicas);
    await passes(5);
    await have(replicas);
    return calls.filter(({ kind }) => kind !== 'ClusterVersion');
  };
  // A watch that is cut lists once more, whatever the passes do.
  const found = await readOrWritten(6);
  expect(found.length === 0 ? found : await readOrWritten(7), JSON.stringify(found)).toEqual([]);
  for (const kind of both) await scale(kind, 7);
});

test('an update leaves them as they are, and so does a start', { timeout: 120_000 }, async () => {
  await world.ask({ desiredUpdate: { version: after.version, image: imageOf(after) } });
  await world.completed(after);
  await have(7);
  for (const kind of both) expect(JSON.stringify((await read(kind)).spec)).toContain('web:4.1.1');
  await operator.stop();
  const versions = async () => Promise.all(both.map(async (kind) => (await read(kind)).metadata.resourceVersion));
  const stored = await versions();
  operator = start(after, [before]);
  await passes(3);
  expect(await versions()).toEqual(stored);
});

test('what else somebody changes beside them is put back', async () => {
  const paused = { spec: { replicas: 6, minReadySeconds: 7 } };
  for (const kind of both) await world.client.patch(kind, ref, paused, { type: 'merge' });
  await world.until(async () => (await Promise.all(both.map(read))).every(({ spec }) => !Object(spec).minReadySeconds));
  await have(6);
});

test('a zero by which somebody has turned the autoscaler off is put back', async () => {
  for (const kind of both) await scale(kind, 0);
  await have(3);
});

test('without the autoscaler the replicas are those of the release', async () => {
  for (const kind of both) await scale(kind, 5);
  await passes(2);
  await have(5);
  for (const { kind } of both) await world.client.delete(HorizontalPodAutoscaler, { namespace: NS, name: kind.toLowerCase() });
  await have(3);
});
