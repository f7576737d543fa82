/** A part of a cluster that is away costs that part of a release: it is named, and the rest is applied. */
import { KubeObject, untyped } from '@flotilla/api';
import { startApiServer } from '@flotilla/control-plane/servers';
import { type Clock, systemClock } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { configMap, imageOf, kinds, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const NAMESPACE = 'openshift-cluster-version';
const RECORD = 'flotilla-version-operator-deletions';
const TO_DELETE = { annotations: { 'release.openshift.io/delete': 'true' } };

/** A refusal is told when it has stood for ten seconds: here time runs ten times as fast. */
const hurried: Clock = {
  now: () => systemClock.now() * 10,
  setTimer: (ms, fn) => systemClock.setTimer(ms / 10, fn),
};

const webhooks = untyped('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', false);
const services = untyped('apiregistration.k8s.io/v1', 'APIService', 'apiservices', false);

/** A webhook that nobody answers, for ConfigMaps of one name. */
const awayFor = (name: string): KubeObject =>
  KubeObject.parse({
    metadata: { name: 'away' },
    webhooks: [
      {
        name: 'away.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 1,
        clientConfig: { url: 'https://127.0.0.1:1/validate' },
        matchConditions: [{ name: 'one', expression: `request.name == '${name}'` }],
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] }],
      },
    ],
  });

const release = (version: string, more: readonly Json[]): TestRelease => ({
  version,
  files: {
    '0000_10_a_00_config.json': [configMap('release', { version })],
    ...Object.fromEntries(more.map((object, index) => [`0000_20_b${index}_00_object.json`, [object]])),
    '0000_90_z_00_config.json': [configMap('last', { version })],
  },
});
const start = async () => World.start(await startApiServer());
const ask = ({ version, ...more }: TestRelease, world: World) =>
  world.ask({ desiredUpdate: { version, image: imageOf({ version, ...more }) } });
const get = (world: World, name: string) => world.client.get<KubeObject & { data?: Json }>(kinds.configMap, { namespace: NAMESPACE, name });
const isApplied = (world: World, name: string, version: string) => async () => (await get(world, name))?.data?.version === version;
const old = (name: string, more: Json = {}) => configMap(name, {}, more);

test('a record of deletions that a webhook refuses holds nothing up', async () => {
  const first = release('4.1.0', [old('one'), old('two')]);
  const second = release('4.1.1', [old('one', TO_DELETE), old('two')]);
  const third = release('4.1.2', [old('two', TO_DELETE)]);
  await using world = await start();
  await using _operator = world.run(first, [second, third]);
  await world.completed(first);
  await ask(second, world);
  await world.completed(second);
  await world.client.create(webhooks, awayFor(RECORD));
  await world.until(() =>
    world.client.patch(kinds.configMap, { namespace: NAMESPACE, name: RECORD }, { data: { a: 'b' } }, { type: 'merge', dryRun: true }).then(
      () => false,
      () => true,
    ),
  );
  await ask(third, world);
  await world.completed(third);
  expect(await get(world, 'two')).toBeUndefined();
  await world.client.delete(webhooks, { name: 'away' });
  // the record catches up
  await world.until(async () => String((await get(world, RECORD))?.data?.deleted).includes('/two'));
});

test('an object to delete that its finalizer keeps is told in Upgradeable, and the update ends', async () => {
  const first = release('4.1.0', [old('kept', { finalizers: ['example.com/never'] })]);
  const second = release('4.1.1', [old('kept', TO_DELETE)]);
  await using world = await start();
  await using _operator = world.run(first, [second]);
  await world.completed(first);
  await ask(second, world);
  await world.completed(second);
  expect(await isApplied(world, 'last', '4.1.1')()).toBe(true);
  await world.until(async () => (await world.condition('Upgradeable')).startsWith('False ResourceDeletionInProgress'));
  expect(await world.condition('Upgradeable')).toContain(`resources=configmap "${NAMESPACE}/kept"`);
  expect(await world.condition('Failing')).toBe('False : ');
  await world.client.patch(kinds.configMap, { namespace: NAMESPACE, name: 'kept' }, { metadata: { finalizers: null } }, { type: 'merge' });
  await world.until(async () => (await world.condition('Upgradeable')) === '');
});

test('an update that a deletion under way forbids is refused by an operator that has just started, too', async () => {
  const first = release('4.1.0', [old('kept', { finalizers: ['example.com/never'] })]);
  const second = release('4.1.1', [old('kept', TO_DELETE)]);
  const third = release('4.2.0', [old('kept', TO_DELETE)]);
  await using world = await start();
  const operator = world.run(first, [second, third]);
  await world.completed(first);
  await ask(second, world);
  await world.completed(second);
  await world.until(async () => (await world.condition('Upgradeable')).startsWith('False ResourceDeletionInProgress'));
  await ask(third, world);
  await world.until(async () => (await world.condition('ReleaseAccepted')).startsWith('False PreconditionChecks'));
  await operator.stop();
  await world.client.delete(kinds.configMap, { namespace: NAMESPACE, name: 'last' });
  await using _again = world.run(first, [second, third]);
  const { data } = await world.until(() => get(world, 'last'));
  expect(data?.version).toBe('4.1.1');
  expect((await world.version())?.status?.history?.[0]?.version).toBe('4.1.1');
  expect(await world.condition('Upgradeable')).toMatch(/^False ResourceDeletionInProgress/);
});

test('a release with a mistyped delete annotation names the object, and can be left', async () => {
  const first = release('4.1.0', []);
  const second = release('4.1.1', [old('mistyped', { annotations: { 'release.openshift.io/delete': 'false' } })]);
  const third = release('4.1.2', []);
  await using world = await start();
  await using _operator = world.run(first, [second, third], { clock: hurried });
  await world.completed(first);
  await ask(second, world);
  await world.until(async () =>
    (await world.condition('Failing')).includes(`configmap "${NAMESPACE}/mistyped": invalid delete annotation`),
  );
  await ask(third, world);
  await world.completed(third);
});

test('an aggregated API that is away costs its objects, and is named', async () => {
  const thing = { apiVersion: 'away.example.com/v1', kind: 'Thing', metadata: { name: 'thing', namespace: NAMESPACE } };
  const first = release('4.1.0', []);
  const second = release('4.1.1', [thing]);
  await using world = await start();
  await using _operator = world.run(first, [second], { clock: hurried });
  await world.completed(first);
  const spec = {
    group: 'away.example.com',
    version: 'v1',
    service: { name: 'nobody', namespace: NAMESPACE },
    groupPriorityMinimum: 1_000,
    versionPriority: 10,
    insecureSkipTLSVerify: true,
  };
  await world.client.create(services, KubeObject.parse({ metadata: { name: 'v1.away.example.com' }, spec }));
  await ask(second, world);
  await world.until(isApplied(world, 'release', '4.1.1'));
  await world.until(async () => (await world.condition('Failing')).includes('APIService v1.away.example.com'));
  expect(await world.condition('Failing')).toMatch(/^True UpdatePayloadResourceTypeMissing: Could not update thing /);
});

test('a kind that cannot be listed costs its objects, and is named', async () => {
  const definition = (conversion: Json) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boats.lost.example.com' },
    spec: {
      group: 'lost.example.com',
      names: { kind: 'Boat', plural: 'boats' },
      scope: 'Namespaced',
      conversion,
      versions: ['v1', 'v1beta1'].map((name) => ({
        name,
        served: true,
        storage: name === 'v1beta1',
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
  });
  const boat = (version: string) => ({
    apiVersion: 'lost.example.com/v1',
    kind: 'Boat',
    metadata: { name: 'boat', namespace: NAMESPACE },
    data: { version },
  });
  await using world = await start();
  await world.client.create(kinds.definition, KubeObject.parse(definition({ strategy: 'None' })));
  const first = release('4.1.0', [boat('4.1.0')]);
  const second = release('4.1.1', [boat('4.1.1')]);
  let operator = world.run(first, [second], { clock: hurried });
  await world.completed(first);
  await operator.stop();
  const clientConfig = { url: 'https://127.0.0.1:1/convert' };
  await world.client.apply(
    kinds.definition,
    KubeObject.parse(definition({ strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } })),
    { fieldManager: 'test', force: true },
  );
  operator = world.run(first, [second], { clock: hurried });
  await using _ended = operator;
  await ask(second, world);
  await world.until(isApplied(world, 'release', '4.1.1'));
  await world.until(async () => (await world.condition('Failing')).includes('Could not update boat'));
  expect(await world.condition('Failing')).toContain('conversion webhook');
});
