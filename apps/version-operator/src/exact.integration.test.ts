/** A cluster has what the server makes of the release, exactly. */
import { isJsonObject, KubeObject, type Resource, untyped } from '@flotilla/api';
import { VERSION_FIELD_MANAGER } from '@flotilla/api/config';
import { buildOpenDefinition } from '@flotilla/api/testing';
import { startApiServer } from '@flotilla/control-plane/servers';
import { createLogger, WatchCache } from '@flotilla/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { imageOf, type RunningOperator, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;

const NS = 'openshift-exact';
const named = (apiVersion: string, kind: string, name: string, fields: Json): Json => ({
  apiVersion,
  kind,
  metadata: { name, namespace: NS },
  ...fields,
});
const policy = (spec: Json) => named('networking.k8s.io/v1', 'NetworkPolicy', 'np', { spec });
const store = (pod: Json, container: Json) =>
  named('apps/v1', 'StatefulSet', 'z', {
    spec: {
      serviceName: 'z',
      replicas: 0,
      selector: { matchLabels: { app: 'z' } },
      template: { metadata: { labels: { app: 'z' } }, spec: { ...pod, containers: [{ name: 'c', image: 'x/y:1', ...container }] } },
    },
  });
const budget = named('policy/v1', 'PodDisruptionBudget', 'guard', {
  spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'x' } } },
});
const webhooks = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'exact' },
  webhooks: [
    {
      name: 'one.exact.test',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [{ apiGroups: ['exact.test'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
      namespaceSelector: {},
    },
  ],
};
const boats = (minimum: Json) => {
  const { spec, ...rest } = buildOpenDefinition({
    group: 'exact.test',
    kind: 'Boat',
    plural: 'boats',
    scope: 'Namespaced',
    properties: {
      spec: {
        type: 'object',
        properties: {
          sails: { type: 'integer', ...minimum },
          telemetry: { type: 'boolean' },
          crew: { type: 'object', properties: { cook: { type: 'string' } } },
        },
      },
    },
  });
  const [version] = spec.versions;
  return { ...rest, spec: { ...spec, versions: [version, { ...version, name: 'v1beta1', storage: false }] } };
};
const boat = (spec: Json) => named('exact.test/v1', 'Boat', 'one', { spec });
/** An object of the first release in an older version, with fields that the second has dropped with that version. */
const movedBoat = (version: string, fields: Json, labels: Json = {}): Json => ({
  apiVersion: `exact.test/${version}`,
  kind: 'Boat',
  metadata: { name: 'moved', namespace: NS, labels },
  ...fields,
});
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'elsewhere' };
const scaler = (version: string, spec: Json) =>
  named(`autoscaling/${version}`, 'HorizontalPodAutoscaler', 'moved', { spec: { scaleTargetRef, ...spec } });
const twice = [
  { name: 'A', value: '1' },
  { name: 'A', value: '2' },
];
const hardened = {
  automountServiceAccountToken: false,
  nodeSelector: { 'node-role.kubernetes.io/master': '' },
  volumes: [{ name: 'v', emptyDir: {} }],
};
const secured = { runAsNonRoot: true, allowPrivilegeEscalation: false };

const releaseOf = (version: string, objects: readonly Json[]): TestRelease => ({
  version,
  files: {
    '0000_10_exact_00.json': [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NS } }],
    ...Object.fromEntries(objects.map((object, index) => [`0000_${20 + index}_exact_00.json`, [object]])),
  },
});
const before = releaseOf('4.1.0', [
  boats({}),
  policy({ podSelector: { matchLabels: { app: 'x' } }, policyTypes: ['Ingress'], ingress: [{}] }),
  store({}, { env: twice, securityContext: { runAsNonRoot: true } }),
  boat({ sails: 1, telemetry: true, undeclared: { deep: false } }),
  budget,
  webhooks,
  movedBoat('v1beta1', { spec: { sails: 1, telemetry: true }, older: { a: 1 } }, { old: 'yes' }),
  scaler('v1', { maxReplicas: 3, minReplicas: 2 }),
]);
const after = releaseOf('4.1.1', [
  boats({ minimum: 0 }),
  policy({ podSelector: {}, policyTypes: ['Ingress'], ingress: [] }),
  store(hardened, { env: twice, securityContext: secured }),
  boat({ sails: 1, telemetry: false, undeclared: { deep: false } }),
  budget,
  webhooks,
  movedBoat('v1', { spec: { sails: 1 } }),
  scaler('v2', { maxReplicas: 3 }),
]);

const kinds = {
  policy: untyped('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  store: untyped('apps/v1', 'StatefulSet', 'statefulsets'),
  scaler: untyped('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers'),
  boat: untyped('exact.test/v1', 'Boat', 'boats'),
  budget: untyped('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  webhooks: untyped('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', false),
  definition: untyped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false),
};
const Line = z.looseObject({ msg: z.string(), object: z.string().optional(), fields: z.array(z.string()).optional() });

let world: World;
let operator: RunningOperator;
const said: z.output<typeof Line>[] = [];
const told = (text: string) => said.filter(({ msg }) => msg.includes(text));
const logger = createLogger({
  name: 'test',
  level: 'debug',
  destination: { write: (line) => void said.push(Line.parse(JSON.parse(line))) },
});

const find = async (kind: Resource, name: string): Promise<KubeObject> => {
  const found = await world.client.get<KubeObject>({ ...kind, schema: KubeObject }, { namespace: NS, name });
  if (!found) throw new Error(`${name} is not there`);
  return found;
};
const specOf = async (kind: Resource, name: string): Promise<unknown> => (await find(kind, name)).spec;
/** Waits until as many passes as that have ended. */
const passes = async (more: number): Promise<void> => {
  const start = told('Applied the release').length;
  await world.until(async () => told('Applied the release').length >= start + more, 60_000);
};

/** Plays the controller of StatefulSets without replicas: it has seen each change. */
function playStore(): void {
  const ending = new AbortController();
  const stores = new WatchCache(world.client, { ...kinds.store, schema: KubeObject });
  stores.subscribe(({ object: { metadata, status } }) => {
    const { generation: observedGeneration } = metadata;
    if (isJsonObject(status) && status.observedGeneration === observedGeneration) return;
    const patch = { status: { observedGeneration, replicas: 0 } };
    world.client.patch(kinds.store, metadata, patch, { type: 'merge', subresource: 'status' }).catch(() => undefined);
  });
  stores.start(ending.signal);
  world.plays({
    async stop() {
      ending.abort();
      await stores.stopped();
    },
  });
}

beforeAll(async () => {
  world = await World.start(await startApiServer());
  playStore();
  operator = world.run(before, [after], { logger, passEveryMs: 100 });
  await world.completed(before);
  await world.ask({ desiredUpdate: { version: after.version, image: imageOf(after) } });
  await world.completed(after);
});
afterAll(async () => {
  await operator?.stop();
  await world?.[Symbol.asyncDispose]();
});

test('an update brings values that are empty, false or zero', async () => {
  expect(await specOf(kinds.policy, 'np')).toEqual({ podSelector: {}, policyTypes: ['Ingress'] });
  expect(await specOf(kinds.store, 'z')).toMatchObject({
    template: { spec: { automountServiceAccountToken: false, containers: [{ securityContext: secured }] } },
  });
  expect(await specOf(kinds.boat, 'one')).toEqual({ sails: 1, telemetry: false });
  expect(JSON.stringify(await specOf(kinds.definition, 'boats.exact.test'))).toContain('"minimum":0');
});

test('fields that go together with a version of their kind are gone', async () => {
  const moved = await find(kinds.boat, 'moved');
  expect([moved.spec, moved.older, moved.metadata.labels]).toEqual([{ sails: 1 }, undefined, undefined]);
  expect(await specOf(kinds.scaler, 'moved')).toMatchObject({ minReplicas: 1, maxReplicas: 3 });
});

test('duplicate variables and undeclared fields are taken as the server takes them', async () => {
  expect(await specOf(kinds.store, 'z')).toMatchObject({ template: { spec: { containers: [{ env: twice }] } } });
  expect(await world.condition('Failing')).toBe('False : ');
});

interface Edit {
  readonly name: string;
  readonly kind: Resource;
  readonly object: string;
  readonly patch: unknown;
  readonly type?: 'merge' | 'json';
}
const template = '/spec/template/spec';
const edits: readonly Edit[] = [
  { name: 'a deny-all that is opened', kind: kinds.policy, object: 'np', patch: { spec: { ingress: [{}] } } },
  { name: 'a selector that is narrowed', kind: kinds.policy, object: 'np', patch: { spec: { podSelector: { matchLabels: { a: 'b' } } } } },
  {
    name: 'a webhook whose namespaces are narrowed',
    kind: kinds.webhooks,
    object: 'exact',
    type: 'json',
    patch: [{ op: 'add', path: '/webhooks/0/namespaceSelector', value: { matchLabels: { a: 'b' } } }],
  },
  {
    name: 'a webhook that is added',
    kind: kinds.webhooks,
    object: 'exact',
    type: 'json',
    patch: [{ op: 'add', path: '/webhooks/-', value: { ...webhooks.webhooks[0], name: 'two.exact.test' } }],
  },
  {
    name: 'an emptyDir that becomes a hostPath',
    kind: kinds.store,
    object: 'z',
    type: 'json',
    patch: [{ op: 'replace', path: `${template}/volumes/0`, value: { name: 'v', hostPath: { path: '/', type: '' } } }],
  },
  {
    name: 'a security context that loses a false',
    kind: kinds.store,
    object: 'z',
    type: 'json',
    patch: [{ op: 'remove', path: `${template}/containers/0/securityContext/allowPrivilegeEscalation` }],
  },
  {
    name: 'a container that is added',
    kind: kinds.store,
    object: 'z',
    type: 'json',
    patch: [{ op: 'add', path: `${template}/containers/-`, value: { name: 'theirs', image: 'theirs:1' } }],
  },
  {
    name: 'a variable that is added',
    kind: kinds.store,
    object: 'z',
    type: 'json',
    patch: [{ op: 'add', path: `${template}/containers/0/env/-`, value: { name: 'B', value: '1' } }],
  },
  {
    name: 'a host path that is added',
    kind: kinds.store,
    object: 'z',
    type: 'json',
    patch: [{ op: 'add', path: `${template}/volumes/-`, value: { name: 'host', hostPath: { path: '/' } } }],
  },
  {
    name: 'the other member of a union',
    kind: kinds.budget,
    object: 'guard',
    patch: { spec: { maxUnavailable: null, minAvailable: 1 } },
  },
  { name: 'a flag that is turned on', kind: kinds.boat, object: 'one', patch: { spec: { telemetry: true } } },
  { name: 'a flag that is taken away', kind: kinds.boat, object: 'one', patch: { spec: { telemetry: null } } },
  { name: 'a field that is added', kind: kinds.boat, object: 'one', patch: { spec: { crew: { cook: 'eve' } } } },
];

async function isPutBack({ kind, object, patch, type = 'merge' }: Edit): Promise<void> {
  const normal = await specOf(kind, object);
  const content = async () => {
    const { metadata: _metadata, status: _status, ...rest } = await find(kind, object);
    return rest;
  };
  const wanted = await content();
  const changed = await world.client.patch(kind, { namespace: NS, name: object }, patch, { type });
  const { metadata: _metadata, status: _status, ...edited } = KubeObject.parse(changed);
  expect(edited).not.toEqual(wanted);
  await world.until(async () => JSON.stringify(await content()) === JSON.stringify(wanted), 20_000);
  expect(await specOf(kind, object)).toEqual(normal);
}

describe('is put back by the process that wrote it', () => {
  test.each(edits)('$name', isPutBack);

  test('with an event that says what was done', () => {
    expect(told('Putting back').flatMap(({ fields }) => fields ?? [])).toEqual(
      expect.arrayContaining([
        'spec.ingress removed',
        'spec.template.spec.containers[theirs] removed',
        'spec.template.spec.volumes[v].hostPath removed',
        'spec.minAvailable removed',
        'spec.maxUnavailable added',
      ]),
    );
  });
});

describe('is put back by a process that was not there', () => {
  test('when it starts', async () => {
    const { kind, object, patch } = edits[0] as Edit;
    await operator.stop();
    await world.client.patch(kind, { namespace: NS, name: object }, patch, { type: 'merge' });
    const crew = { spec: { crew: { cook: 'eve' } } };
    await world.client.patch(kinds.boat, { namespace: NS, name: 'one' }, crew, { type: 'merge' });
    said.length = 0;
    operator = world.run(after, [], { logger, passEveryMs: 100 });
    await world.until(async () => JSON.stringify(await specOf(kinds.policy, 'np')).includes('ingress') === false, 60_000);
    await world.until(async () => JSON.stringify(await specOf(kinds.boat, 'one')).includes('crew') === false);
  });

  test.each(edits)('$name', isPutBack);
});

test('and passes over what is as it should be write nothing', async () => {
  const versions = async () =>
    Promise.all(
      [
        find(kinds.policy, 'np'),
        find(kinds.store, 'z'),
        find(kinds.boat, 'one'),
        find(kinds.budget, 'guard'),
        find(kinds.webhooks, 'exact'),
        find(kinds.definition, 'boats.exact.test'),
      ].map(async (object) => (await object).metadata.resourceVersion),
    );
  const start = await versions();
  await passes(5);
  expect(await versions()).toEqual(start);
});

test('what an older version of this operator applied on the server goes with the release that brought it', async () => {
  const ref = { namespace: NS, name: 'one' };
  const old = { ...boat({ sails: 1, telemetry: false }), metadata: { ...ref, labels: { old: 'yes' } }, older: { a: 1 } };
  await world.client.apply(kinds.boat, KubeObject.parse(old), { fieldManager: VERSION_FIELD_MANAGER, force: true });
  await world.until(async () => {
    const object = await find(kinds.boat, 'one');
    return object.metadata.labels?.old === undefined && object.older === undefined;
  }, 20_000);
});
