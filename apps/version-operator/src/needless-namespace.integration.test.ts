/** Manifests of kinds without namespaces that name one all the same: the scope under which a kind is served decides. */
import { KubeObject, untyped } from '@flotilla/api';
import { startApiServer } from '@flotilla/control-plane/servers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMap, imageOf, type TestRelease, World } from '../testing/world-case.ts';

type Json = Readonly<Record<string, unknown>>;
const RBAC = 'rbac.authorization.k8s.io/v1';
const bindings = untyped(RBAC, 'ClusterRoleBinding', 'clusterrolebindings', false);
const buoys = untyped('test.flotilla.io/v1', 'Buoy', 'buoys', false);
const namespace = 'lab';

let world: World;
beforeAll(async () => {
  world = await World.start(await startApiServer());
});
afterAll(async () => world?.[Symbol.asyncDispose]());

const binding = (name: string, annotations: Json = {}): Json => ({
  apiVersion: RBAC,
  kind: 'ClusterRoleBinding',
  metadata: { name, namespace, annotations },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
});
const definition: Json = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'buoys.test.flotilla.io', namespace },
  spec: {
    group: 'test.flotilla.io',
    names: { kind: 'Buoy', plural: 'buoys' },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { lit: { type: 'boolean' } } } } } },
      },
    ],
  },
};
const buoy: Json = { apiVersion: 'test.flotilla.io/v1', kind: 'Buoy', metadata: { name: 'north', namespace }, spec: { lit: false } };
const inLab = configMap('last', { a: '1' }, {}, namespace);
const lab: Json = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, namespace: 'elsewhere' } };
const first: TestRelease = {
  version: '4.1.0',
  files: { '0000_10_a_00.json': [lab], '0000_20_a_00.json': [binding('old-one'), definition], '0000_30_a_00.json': [buoy, inLab] },
};
const second: TestRelease = {
  version: '4.2.0',
  files: {
    '0000_10_a_00.json': [lab],
    '0000_20_a_00.json': [binding('old-one', { 'release.openshift.io/delete': 'true' }), binding('new-one'), definition],
    // the same object, which a file names as it is
    '0000_25_a_00.json': [{ ...binding('new-one'), metadata: { name: 'new-one', labels: { last: 'yes' } } }],
    '0000_30_a_00.json': [buoy, inLab],
  },
};

test('they are made, put back and deleted as any other', { retry: 0 }, async () => {
  await using operator = world.run(first, [second]);
  await world.completed(first);
  const subjects = async (name: string) =>
    KubeObject.loose().parse((await world.client.get(bindings, { name })) ?? { metadata: { name } }).subjects;
  expect(await subjects('old-one')).toHaveLength(1);

  await world.client.patch(bindings, { name: 'old-one' }, { subjects: [] }, { type: 'merge' });
  await world.until(async () => Array.isArray(await subjects('old-one')) && ((await subjects('old-one')) as unknown[]).length === 1);
  await world.client.patch(buoys, { name: 'north' }, { spec: { lit: true } }, { type: 'merge' });
  await world.until(
    async () =>
      KubeObject.loose().parse(await world.client.get(buoys, { name: 'north' })).spec !== undefined &&
      JSON.stringify(await world.client.get(buoys, { name: 'north' })).includes('"lit":false'),
  );
  await world.client.delete(buoys, { name: 'north' });
  await world.until(async () => (await world.client.get(buoys, { name: 'north' })) !== undefined);

  await world.ask({ desiredUpdate: { version: second.version, image: imageOf(second), force: true } });
  await world.completed(second);
  expect(await world.client.get(bindings, { name: 'old-one' })).toBeUndefined();
  expect((await world.client.get(bindings, { name: 'new-one' }))?.metadata.labels).toEqual({ last: 'yes' });
  await operator.stop();
});
