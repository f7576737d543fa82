import { KubeObject, untyped } from '@flotilla/api';
import { ClusterOperator, FeatureGate } from '@flotilla/api/config';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { clientWith } from '@flotilla/control-plane/memory';
import { startApiServer } from '@flotilla/control-plane/servers';
import { startFakeOperators } from '@flotilla/control-plane/simulators';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { component, configMap, deployment, filesOf, imageOf, kinds, scriptOf, type TestRelease, World } from '../testing/world-case.ts';
import { keepRunning } from './operator.ts';

const own = { namespace: 'openshift-cluster-version' };
const createOnly = { annotations: { 'release.openshift.io/create-only': 'true' } };
const removed = { annotations: { 'release.openshift.io/delete': 'true' } };
const boats = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.test.flotilla.io' },
  spec: {
    group: 'test.flotilla.io',
    names: { kind: 'Boat', plural: 'boats' },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { sails: { type: 'integer' }, colour: { type: 'string', default: 'white' } } },
            },
          },
        },
      },
    ],
  },
};
/** Another definition, and an object of its kind. */
const rafts = {
  ...boats,
  metadata: { name: 'rafts.test.flotilla.io' },
  spec: { ...boats.spec, names: { kind: 'Raft', plural: 'rafts' } },
};
const raft = { apiVersion: 'test.flotilla.io/v1', kind: 'Raft', metadata: { name: 'r' }, spec: { sails: 0 } };
const boat = { apiVersion: 'test.flotilla.io/v1', kind: 'Boat', metadata: { name: 'b' }, spec: { sails: 2 } };

const gates = buildOpenDefinition({ group: 'config.openshift.io', kind: 'FeatureGate', plural: 'featuregates', scope: 'Cluster' });

const release = (version: string, more: TestRelease['files'] = {}): TestRelease => ({
  version,
  files: {
    ...component('alpha', version, '20'),
    ...component('omega', version, '30'),
    '0000_10_boats_00_definition.json': [boats],
    '0000_10_boats_10_boat.json': [boat],
    ...more,
  },
});
const play = async (world: World, releases: ReturnType<typeof scripts>) =>
  world.plays(await startFakeOperators({ client: world.client, releases, updateDelayMs: 100 }));
const scripts = (...versions: string[]) => versions.map((version) => scriptOf(version, ['alpha', 'omega']));

test('installs a release, owns it, and leaves alone what is only created', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  const first = release('4.1.0', {
    '0000_40_late_00_config.json': [configMap('settings', { a: '1' }, createOnly), configMap('kept', { a: '1' })],
    // an install makes definitions first, wherever they stand
    '0000_50_rafts_00_raft.json': [raft],
    '0000_50_rafts_10_definition.json': [rafts],
  });
  await using _operator = world.run(first);
  const version = await world.completed(first);
  expect(await world.condition('Available')).toBe('True : Done applying 4.1.0');
  expect(await world.condition('Progressing')).toBe('False : Cluster version is 4.1.0');
  expect(await world.condition('Failing')).toBe('False : ');
  expect(version.status).toMatchObject({ desired: { version: '4.1.0', image: imageOf(first) }, observedGeneration: 1 });
  const stored = await world.client.get(kinds.configMap, { ...own, name: 'kept' });
  const owner = { apiVersion: 'config.openshift.io/v1', kind: 'ClusterVersion', name: 'version', uid: version.metadata.uid };
  expect(stored?.metadata.ownerReferences).toEqual([{ ...owner, controller: true }]);
  const created = await world.client.get(kinds.configMap, { ...own, name: 'settings' });
  expect(created?.metadata.ownerReferences).toEqual([owner]);
  expect((await world.client.get(ClusterOperator, { name: 'alpha' }))?.status?.relatedObjects).toEqual([
    { group: '', resource: 'namespaces', name: 'openshift-alpha' },
  ]);
  await world.client.patch(kinds.configMap, { ...own, name: 'settings' }, { data: { a: 'mine' } }, { type: 'merge' });
  await world.client.patch(kinds.configMap, { ...own, name: 'kept' }, { data: { a: 'drifted' } }, { type: 'merge' });
  await world.until(async () => JSON.stringify((await world.client.get(kinds.configMap, { ...own, name: 'kept' }))?.data) === '{"a":"1"}');
  expect((await world.client.get(kinds.configMap, { ...own, name: 'settings' }))?.data).toEqual({ a: 'mine' });
});

test('updates level by level, waits for what rolls out, and deletes what is no longer wanted', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world, scripts('4.1.0', '4.1.1'));
  const first = release('4.1.0', { '0000_40_late_00_old.json': [configMap('old', { a: '1' })] });
  const second = release('4.1.1', { '0000_40_late_00_old.json': [configMap('old', { a: '1' }, removed)] });
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  await world.client.patch(
    kinds.configMap,
    { ...own, name: 'old' },
    { metadata: { finalizers: ['test.flotilla.io/held'] } },
    { type: 'merge' },
  );
  operators.setOperator('alpha', { isSlow: true });
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  await world.until(async () => (await world.condition('Progressing')).endsWith('waiting on alpha'));
  expect(await world.condition('Failing')).toBe('False : ');
  const image = async (name: string) =>
    JSON.stringify((await world.client.get(kinds.deployment, { namespace: `openshift-${name}`, name }))?.spec).match(
      /"image":"([^"]*)"/,
    )?.[1];
  expect([await image('alpha'), await image('omega')]).toEqual(['alpha:4.1.1', 'omega:4.1.0']);
  operators.setOperator('alpha', undefined);
  await world.until(async () => (await image('omega')) === 'omega:4.1.1');
  const version = await world.completed(second);
  await world.until(async () => (await world.condition('Upgradeable')).includes('resources=configmap "openshift-cluster-version/old"'));
  await world.client.patch(kinds.configMap, { ...own, name: 'old' }, { metadata: { finalizers: null } }, { type: 'merge' });
  await world.until(async () => (await world.condition('Upgradeable')) === '');
  expect(version.status?.history?.map(({ version: of, state, verified }) => [of, state, verified])).toEqual([
    ['4.1.1', 'Completed', true],
    ['4.1.0', 'Completed', false],
  ]);
  // an object that somebody makes again is theirs
  await world.created(kinds.configMap, configMap('old', { a: 'mine' }));
  expect((await world.client.get(kinds.configMap, { ...own, name: 'old' }))?.data).toEqual({ a: 'mine' });
});

test('tells of an operator that fails, and goes on as soon as it recovers', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world, scripts('4.1.0', '4.1.1'));
  const [first, second] = [release('4.1.0'), release('4.1.1')];
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  operators.setOperator('alpha', { available: false });
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  const unable = 'True ClusterOperatorNotAvailable: Unable to apply 4.1.1: the cluster operator alpha is not available';
  await world.until(async () => (await world.condition('Progressing')) === unable);
  expect(await world.condition('Failing')).toBe(
    'True ClusterOperatorNotAvailable: Cluster operator alpha is not available: NoPods: No pod is ready. The last one ended with 137.',
  );
  operators.setOperator('alpha', { degraded: true });
  await world.until(async () => (await world.condition('Progressing')).includes('waiting up to 40 minutes on alpha'));
  expect(await world.condition('Failing')).toBe('False : ');
  operators.setOperator('alpha', undefined);
  const recovered = Date.now();
  await world.completed(second);
  expect(Date.now() - recovered).toBeLessThan(15_000);
});

test('tells of a Deployment that cannot roll out, and goes on when it can', async () => {
  await using world = await World.start(await startApiServer());
  const operators = await play(world, scripts('4.1.0', '4.1.1'));
  const [first, second] = [release('4.1.0'), release('4.1.1')];
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  operators.setStuck('openshift-alpha/alpha', true);
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  await world.until(async () =>
    (await world.condition('Failing')).startsWith('True WorkloadNotProgressing: deployment openshift-alpha/alpha is Progressing=False'),
  );
  operators.setStuck('openshift-alpha/alpha', false);
  await world.completed(second);
  expect(await world.condition('Failing')).toBe('False : ');
});

test('tells of a Job that fails, runs nothing behind it, and takes one that succeeds', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'migrate', ...own },
    spec: { backoffLimit: 0, template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
  };
  const first = release('4.1.0', { '0000_50_job_00_job.json': [job], '0000_60_after_00_config.json': [configMap('after', { a: '1' })] });
  await using _operator = world.run(first);
  const found = await world.until(() => world.client.get(kinds.job, { ...own, name: 'migrate' }));
  expect(await world.client.get(kinds.configMap, { ...own, name: 'after' })).toBeUndefined();
  const status = (condition: object, counts: object) => ({
    ...counts,
    startTime: found.metadata.creationTimestamp,
    conditions: [
      { type: 'FailureTarget', status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: found.metadata.creationTimestamp },
      { status: 'True', lastTransitionTime: found.metadata.creationTimestamp, ...condition },
    ],
  });
  await world.client.patch(
    kinds.job,
    { ...own, name: 'migrate' },
    { status: status({ type: 'Failed', reason: 'BackoffLimitExceeded', message: 'too often' }, { failed: 1 }) },
    { type: 'merge', subresource: 'status' },
  );
  await world.until(async () =>
    (await world.condition('Failing')).includes(
      'job openshift-cluster-version/migrate: failed, reason: "BackoffLimitExceeded", message: "too often"',
    ),
  );
  await world.client.delete(kinds.job, { ...own, name: 'migrate' });
  const again = await world.until(async () => {
    const other = await world.client.get(kinds.job, { ...own, name: 'migrate' });
    return other?.metadata.uid !== found.metadata.uid && other;
  });
  const time = again.metadata.creationTimestamp;
  const complete = (type: string) => ({ type, status: 'True', reason: 'CompletionsReached', lastTransitionTime: time });
  await world.client.patch(
    kinds.job,
    { ...own, name: 'migrate' },
    { status: { succeeded: 1, startTime: time, completionTime: time, conditions: [complete('SuccessCriteriaMet'), complete('Complete')] } },
    { type: 'merge', subresource: 'status' },
  );
  await world.completed(first);
  expect((await world.client.get(kinds.configMap, { ...own, name: 'after' }))?.data).toEqual({ a: '1' });
});

test('tells of a definition that is not established, and goes on when it is', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0', '4.1.1'));
  const other = {
    ...boats,
    metadata: { name: 'ships.test.flotilla.io' },
    spec: { ...boats.spec, names: { kind: 'Ship', plural: 'ships' } },
  };
  const [first, second] = [release('4.1.0'), release('4.1.1', { '0000_15_ships_00_definition.json': [other] })];
  // its short name is taken
  const taken = {
    ...other,
    metadata: { name: 'rafts.test.flotilla.io' },
    spec: { ...other.spec, names: { kind: 'Ship', plural: 'rafts' } },
  };
  await world.created(kinds.definition, taken);
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  await world.until(async () =>
    (await world.condition('Failing')).includes('CustomResourceDefinition ships.test.flotilla.io Established=False, NotAccepted'),
  );
  await world.client.delete(kinds.definition, { name: 'rafts.test.flotilla.io' });
  await world.completed(second);
});

test('takes up what a capability brings, and never lets go of it', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  const console = configMap('console', { a: '1' }, { annotations: { 'capability.openshift.io/name': 'Console' } });
  const first = release('4.1.0', { '0000_40_late_00_console.json': [console] });
  await world.ask({ capabilities: { baselineCapabilitySet: 'None' } });
  await using _operator = world.run(first);
  await world.completed(first);
  expect(await world.client.get(kinds.configMap, { ...own, name: 'console' })).toBeUndefined();
  await world.ask({ capabilities: { additionalEnabledCapabilities: ['Console'] } });
  await world.until(() => world.client.get(kinds.configMap, { ...own, name: 'console' }));
  await world.until(async () => (await world.version())?.status?.capabilities?.enabledCapabilities?.includes('Console'));
  await world.ask({ capabilities: { additionalEnabledCapabilities: [] } });
  await world.until(
    async () =>
      (await world.condition('ImplicitlyEnabledCapabilities')) ===
      'True CapabilitiesImplicitlyEnabled: The following capabilities could not be disabled: Console',
  );
});

test('leaves an overridden object alone, and takes it back', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  const first = release('4.1.0', { '0000_40_late_00_config.json': [configMap('kept', { a: '1' })] });
  await using _operator = world.run(first);
  await world.completed(first);
  const data = async () => JSON.stringify((await world.client.get(kinds.configMap, { ...own, name: 'kept' }))?.data);
  await world.ask({ overrides: [{ kind: 'ConfigMap', group: '', name: 'kept', namespace: own.namespace, unmanaged: true }] });
  await world.until(async () => (await world.condition('Upgradeable')).includes('overrides'));
  await world.client.patch(kinds.configMap, { ...own, name: 'kept' }, { data: { a: 'mine' } }, { type: 'merge' });
  expect(await data()).toBe('{"a":"mine"}');
  await world.ask({ overrides: null });
  await world.until(async () => (await data()) === '{"a":"1"}');
});

test('an API server that is away in the middle of an update changes nothing about its end', async () => {
  await using world = await World.start(await startApiServer({ own: true }));
  const operators = await play(world, scripts('4.1.0', '4.1.1'));
  const [first, second] = [release('4.1.0'), release('4.1.1')];
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  operators.setOperator('alpha', { isSlow: true });
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  await world.until(async () => (await world.condition('Progressing')).includes('waiting on alpha'));
  await world.server.restart({ forgets: true });
  operators.setOperator('alpha', undefined);
  await world.completed(second);
  expect(deployment('alpha', 'alpha:4.1.1')).toMatchObject({ metadata: { name: 'alpha' } });
  const stored = KubeObject.parse(await world.client.get(kinds.deployment, { namespace: 'openshift-omega', name: 'omega' }));
  expect(JSON.stringify(stored.spec)).toContain('omega:4.1.1');
});

test('only tells what it would do where it observes', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0', '4.1.1'));
  const [first, second] = [release('4.1.0'), release('4.1.1')];
  const installing = world.run(first);
  await world.completed(first);
  await installing.stop();
  await world.ask({ desiredUpdate: { version: '4.1.1', image: imageOf(second) } });
  const before = await world.version();
  const told: string[] = [];
  await using _observer = world.run(second, [], { observe: ({ verb, kind, name }) => void told.push(`${verb} ${kind} ${name}`) });
  await world.until(async () => told.length >= 2);
  expect(told.slice(0, 2)).toEqual(['change Deployment alpha', 'change Deployment omega']);
  expect((await world.version())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

test('tells each thing that an install would make once where it observes', async () => {
  await using world = await World.start(await startApiServer());
  const told: string[] = [];
  await using _observer = world.run(release('4.1.0'), [], { observe: ({ verb, kind, name }) => void told.push(`${verb} ${kind} ${name}`) });
  const boatsMade = 'create CustomResourceDefinition boats.test.flotilla.io';
  await world.until(async () => told.includes('create Deployment omega') && told.includes(boatsMade));
  expect(told.filter((one) => one.startsWith('create CustomResourceDefinition'))).toEqual([boatsMade]);
});

test('the features of the release that runs count, not those of the one that the operator began with', async () => {
  await using world = await World.start(await startApiServer());
  await world.created(kinds.definition, gates);
  const gate = untyped('config.openshift.io/v1', 'FeatureGate', 'featuregates', false);
  const list = (lists: Readonly<Record<string, readonly string[]>>) => ({
    status: {
      featureGates: Object.entries(lists).map(([version, on]) => ({ version, enabled: on.map((name) => ({ name })), disabled: [] })),
    },
  });
  await world.until(
    async () => (await world.created(gate, { metadata: { name: 'cluster' }, spec: {}, ...list({ '4.1.0': ['Old'] }) })) && true,
  );
  const gated = configMap('with', { a: '1' }, { annotations: { 'release.openshift.io/feature-gate': 'Sails' } });
  const [first, second] = ['4.1.0', '4.1.1'].map((version) => ({
    version,
    files: { '0000_40_late_00_gated.json': [configMap('mark', { version }), gated] },
  }));
  if (!first || !second) throw new Error('there are two releases');
  const stopping = new AbortController();
  const running = world.run(first, [second], {}, stopping.signal, keepRunning).ended;
  await world.completed(first);
  await world.ask({ desiredUpdate: { version: second.version, image: imageOf(second) } });
  await world.completed(second);
  const since = async () => (await world.version())?.status?.conditions?.find(({ type }) => type === 'Progressing')?.lastTransitionTime;
  await world.until(async () => (await world.condition('Progressing')) === 'False : Cluster version is 4.1.1');
  const before = await since();
  // a list that drops the version of before changes nothing
  await world.client.patch(gate, { name: 'cluster' }, list({ '4.1.1': [] }), { type: 'merge' });
  const mark = { ...own, name: 'mark' };
  await world.client.patch(kinds.configMap, mark, { data: { version: 'drifted' } }, { type: 'merge' });
  await world.until(async () => Object(await world.client.get(kinds.configMap, mark)).data.version === '4.1.1');
  expect(await since()).toBe(before);
  await world.client.patch(gate, { name: 'cluster' }, list({ '4.1.1': ['Sails'] }), { type: 'merge' });
  await world.until(async () => (await world.client.get(kinds.configMap, { ...own, name: 'with' })) !== undefined);
  await world.until(async () => (await world.condition('Progressing')) === 'False : Cluster version is 4.1.1');
  stopping.abort();
  await running;
});

test('reads a release again when the feature set has changed while it was read', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  await world.created(kinds.definition, gates);
  await world.until(async () => (await world.created(FeatureGate, { metadata: { name: 'cluster' }, spec: {} })) && true);
  const set = 'TechPreviewNoUpgrade';
  const preview = configMap('preview', { a: '1' }, { annotations: { 'release.openshift.io/feature-set': set } });
  const first = release('4.1.0', { '0000_40_late_00_preview.json': [preview] });
  // The operator's own watch has told it before the release is read.
  const seen = new Set<unknown>();
  const watched: Client['watch'] = async function* (kind, options) {
    for await (const event of world.client.watch(kind, options)) {
      yield event;
      if (kind.kind === FeatureGate.kind) seen.add(Object(event).object?.spec?.featureSet);
    }
  };
  const read = async function* () {
    yield* filesOf(first);
    await world.client.patch(FeatureGate, { name: 'cluster' }, { spec: { featureSet: set } }, { type: 'merge' });
    await world.until(async () => seen.has(set));
  };
  const options = { client: clientWith(world.client, { watch: watched }), given: { image: () => imageOf(first), read, isFolder: true } };
  await using _running = world.run(first, [], options, undefined, keepRunning);
  await world.until(async () => (await world.client.get(kinds.configMap, { ...own, name: 'preview' })) !== undefined);
});

test('reads a release again when other features are on', async () => {
  await using world = await World.start(await startApiServer());
  await play(world, scripts('4.1.0'));
  await world.created(kinds.definition, gates);
  const gate = untyped('config.openshift.io/v1', 'FeatureGate', 'featuregates', false);
  const enabled = (...names: string[]) => ({
    status: { featureGates: [{ version: '4.1.0', enabled: names.map((name) => ({ name })), disabled: [] }] },
  });
  await world.until(async () => (await world.created(gate, { metadata: { name: 'cluster' }, spec: {}, ...enabled() })) && true);
  const gated = (name: string, wants: string) =>
    configMap(name, { a: '1' }, { annotations: { 'release.openshift.io/feature-gate': wants } });
  const first = release('4.1.0', { '0000_40_late_00_gated.json': [gated('with', 'Sails'), gated('without', '-Sails')] });
  await using running = world.run(first, [], {}, undefined, keepRunning);
  await world.completed(first);
  const there = async (name: string) => (await world.client.get(kinds.configMap, { ...own, name })) !== undefined;
  expect([await there('with'), await there('without')]).toEqual([false, true]);
  await world.client.patch(gate, { name: 'cluster' }, enabled('Sails'), { type: 'merge' });
  await world.until(() => there('with'));
  await world.client.delete(kinds.configMap, { ...own, name: 'without' });
  await world.client.patch(gate, { name: 'cluster' }, enabled(), { type: 'merge' });
  await world.until(() => there('without'));
  await running.stop();

  // An observer goes on, too. An operator beside it would put objects back before it looks.
  for (const name of ['with', 'without']) await world.client.delete(kinds.configMap, { ...own, name });
  const told: string[] = [];
  const observe = ({ verb, kind, name }: { verb: string; kind: string; name: string }) => void told.push(`${verb} ${kind} ${name}`);
  await using _observing = world.run(first, [], { observe }, undefined, keepRunning);
  await world.until(async () => told.includes('create ConfigMap without'));
  expect(told).not.toContain('create ConfigMap with');
  await world.client.patch(gate, { name: 'cluster' }, enabled('Sails'), { type: 'merge' });
  await world.until(async () => told.includes('create ConfigMap with'));
});
