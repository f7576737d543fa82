import { isSameJson, type KubeObject, untyped } from '@flotilla/api';
import { REFERENCE_OPERATOR } from '@flotilla/api/config';
import { startApiServer } from '@flotilla/control-plane/servers';
import { createLogger, WatchCache } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { configMap, imageOf, kinds, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const NAMESPACE = 'openshift-left';
const tolerates = (key: string) => ({ key, operator: 'Exists' });
const inNamespace = (name: string, more: Json = {}) => ({ name, namespace: NAMESPACE, ...more });

/** A workload of the first release, or of the second, which has less of everything. */
function workload(kind: 'Deployment' | 'DaemonSet', isFirst: boolean): Json {
  const labels = { app: kind.toLowerCase() };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: inNamespace(kind.toLowerCase(), { labels: { ...labels, ...(isFirst && { old: 'yes' }) } }),
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels: { ...labels, ...(isFirst && { old: 'yes' }) } }, spec: podOf(isFirst) },
    },
  };
}

const podOf = (isFirst: boolean): Json => ({
  ...(isFirst && {
    hostPID: true,
    hostIPC: true,
    runtimeClassName: 'old',
    serviceAccountName: 'old',
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['old'] }],
  }),
  nodeSelector: { kept: 'yes', ...(isFirst && { old: 'yes' }) },
  tolerations: [tolerates('kept'), ...(isFirst ? [tolerates('old')] : [])],
  securityContext: {
    runAsNonRoot: true,
    ...(isFirst && { supplementalGroups: [7], sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] }),
  },
  containers: [
    {
      name: 'main',
      image: 'main:1',
      ...(isFirst && { lifecycle: { preStop: { exec: { command: ['old'] } } }, workingDir: '/old' }),
      securityContext: {
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'], ...(isFirst && { add: ['SYS_ADMIN'] }) },
        ...(isFirst && { runAsGroup: 7 }),
      },
    },
  ],
});

const cronJob = (isFirst: boolean): Json => ({
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata: inNamespace('cronjob'),
  spec: {
    schedule: '0 0 1 1 *',
    suspend: true,
    jobTemplate: { spec: { template: { spec: { restartPolicy: 'Never', ...podOf(isFirst) } } } },
  },
});

const releaseOf = (version: string, isFirst: boolean): TestRelease => ({
  version,
  files: {
    '0000_10_left_00_namespace.json': [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, annotations: { kept: 'yes', ...(isFirst && { old: 'yes' }) } } },
    ],
    '0000_20_left_00_config.json': [configMap('config', { kept: 'yes', ...(isFirst && { old: 'yes' }) }, {}, NAMESPACE)],
    '0000_20_left_01_taken.json': [configMap('taken', { kept: 'yes' }, {}, NAMESPACE)],
    '0000_30_left_00_deployment.json': [workload('Deployment', isFirst)],
    '0000_30_left_01_daemonset.json': [workload('DaemonSet', isFirst)],
    '0000_30_left_02_cronjob.json': [cronJob(isFirst)],
    '0000_40_left_00_shared.json': [
      configMap('shared', { kept: 'yes', ...(isFirst && { old: 'yes', common: 'yes' }) }, {}, NAMESPACE),
      { ...workload('Deployment', isFirst), metadata: inNamespace('shared', { labels: { app: 'shared' } }) },
    ],
  },
});
const [first, second, third] = [releaseOf('4.1.0', true), releaseOf('4.1.1', false), releaseOf('4.1.2', false)];
const daemonSet = untyped('apps/v1', 'DaemonSet', 'daemonsets');
const PodOwner = z.object({ spec: z.object({ template: z.object({ spec: z.record(z.string(), z.unknown()) }) }) });
const all = { configMap: kinds.configMap, deployment: kinds.deployment, namespace: kinds.namespace };

let world: World;
let operator: RunningOperator;
const said: string[] = [];

const get = async (kind: (typeof all)[keyof typeof all], name: string): Promise<KubeObject & Json> => {
  const found = await world.client.get(kind, { name, ...(kind !== kinds.namespace && { namespace: NAMESPACE }) });
  if (!found) throw new Error(`no ${kind.kind} ${name}`);
  return found;
};
const patch = (kind: (typeof all)[keyof typeof all], name: string, change: Json) =>
  world.client.patch(kind, { namespace: NAMESPACE, name }, change, { type: 'merge' });
const update = async (release: TestRelease) => {
  await world.ask({ desiredUpdate: { version: release.version, image: imageOf(release) } });
  await world.completed(release);
};

/** Says of every workload that it is rolled out. */
function playWorkloads(): void {
  const stop = new AbortController();
  const caches = [kinds.deployment, daemonSet].map((kind) => {
    const cache = new WatchCache(world.client, kind, {});
    cache.subscribe(({ type, object: { metadata } }) => {
      if (type === 'deleted') return;
      const seen = { observedGeneration: metadata.generation };
      const all = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
      const none = { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 };
      void world.client
        .patch(kind, metadata, { status: { ...seen, ...(kind === daemonSet ? none : all) } }, { type: 'merge', subresource: 'status' })
        .catch(() => undefined);
    });
    cache.start(stop.signal);
    return cache;
  });
  world.plays({
    async stop() {
      stop.abort();
      await Promise.all(caches.map((cache) => cache.stopped()));
    },
  });
}

beforeAll(async () => {
  world = await World.start(await startApiServer());
  playWorkloads();
  await world.created(kinds.namespace, { metadata: { name: NAMESPACE } });
  // The reference operator left this object of an older release.
  await world.client.create(kinds.configMap, configMap('taken', { kept: 'yes', older: 'yes' }, {}, NAMESPACE) as KubeObject, {
    fieldManager: REFERENCE_OPERATOR,
  });
  const logger = createLogger({ name: 'test', level: 'info', destination: { write: (line: string) => void said.push(line) } });
  operator = world.run(first, [second, third], { logger });
  await world.completed(first);
  // Somebody else adds fields of their own, and claims one of ours with the same value.
  await patch(kinds.configMap, 'shared', { data: { theirs: 'yes' }, metadata: { labels: { theirs: 'yes' } } });
  await world.client.apply(kinds.configMap, configMap('shared', { common: 'yes' }, {}, NAMESPACE) as KubeObject, {
    fieldManager: 'somebody',
    force: false,
  });
  const { tolerations } = (await podSpec('shared')) as { tolerations: Json[] };
  await patch(kinds.deployment, 'shared', { spec: { template: { spec: { tolerations: [...tolerations, tolerates('theirs')] } } } });
  await update(second);
});
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

const podSpec = async (name: string, kind = kinds.deployment): Promise<Json> => {
  const { spec } = PodOwner.parse(await get(kind, name));
  return spec.template.spec;
};

describe('what a release no longer has goes out of an object that is merged', () => {
  test('keys of a ConfigMap, and what the reference operator wrote', async () => {
    expect((await get(kinds.configMap, 'config')).data).toEqual({ kept: 'yes' });
    expect((await get(kinds.configMap, 'taken')).data).toEqual({ kept: 'yes' });
  });

  test('labels and annotations, but for those of the server', async () => {
    const { metadata } = await get(kinds.namespace, NAMESPACE);
    expect(metadata.annotations).not.toHaveProperty('old');
    expect(metadata.labels).toMatchObject({ 'kubernetes.io/metadata.name': NAMESPACE });
    expect((await get(kinds.deployment, 'deployment')).metadata.labels).toEqual({ app: 'deployment' });
  });

  test.each(['deployments', 'daemonsets', 'cronjobs'])('host namespaces, tolerations, selectors, capabilities in %s', async (plural) => {
    const [group, name] = plural === 'cronjobs' ? ['batch/v1', 'cronjob'] : ['apps/v1', plural.slice(0, -1)];
    const object = (await world.client.request('GET', `/apis/${group}/namespaces/${NAMESPACE}/${plural}/${name}`)) as Json;
    const text = JSON.stringify(object.spec);
    for (const gone of [
      'hostPID',
      'hostIPC',
      'runtimeClassName',
      'hostAliases',
      '"old"',
      'SYS_ADMIN',
      'supplementalGroups',
      'sysctls',
      'lifecycle',
      '/old',
      'runAsGroup',
      'serviceAccount',
    ])
      expect(text, gone).not.toContain(gone);
    for (const kept of ['"key":"kept"', '"kept":"yes"', '"drop":["ALL"]', 'runAsNonRoot']) expect(text, kept).toContain(kept);
  });

  test('and nothing that another manager set, or says too', async () => {
    const shared = await get(kinds.configMap, 'shared');
    expect(shared.data).toEqual({ kept: 'yes', theirs: 'yes', common: 'yes' });
    expect(shared.metadata.labels).toEqual({ theirs: 'yes' });
    const { tolerations, hostPID } = await podSpec('shared');
    expect(tolerations).toContainEqual(tolerates('theirs'));
    expect(hostPID).toBeUndefined();
  });

  test('and a list that the operator had to write into keeps what another manager put there', async () => {
    const { tolerations } = (await podSpec('shared')) as { tolerations: Json[] };
    // Somebody takes a toleration of the release away: it is put back into his list.
    await patch(kinds.deployment, 'shared', {
      spec: { template: { spec: { tolerations: tolerations.filter(({ key }) => key !== 'kept') } } },
    });
    await world.until(async () => isSameJson(((await podSpec('shared')).tolerations as Json[]).at(-1), tolerates('kept')));
    await update(third);
    expect((await podSpec('shared')).tolerations).toContainEqual(tolerates('theirs'));
  });

  test('and nothing is written twice', async () => {
    const told = said.filter((line) => line.includes('keeps an object otherwise')).map((line) => String(Object(JSON.parse(line)).object));
    expect(told).toEqual([]);
  });
});
