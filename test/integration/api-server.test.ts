import { type KubeObject, KubeObject as KubeObjectSchema, type Resource, resource } from '@flotilla/api';
import { configCrds } from '@flotilla/api/config';
import { ClusterRole, CustomResourceDefinition, Namespace } from '@flotilla/api/core';
import { PreCachingConfig, ranCrds } from '@flotilla/api/ran';
import { currentRun, leftovers } from '@flotilla/control-plane/processes';
import { type ApiServer, applyCrds, borrowApiServer, startApiServer, startServerPool } from '@flotilla/control-plane/servers';
import { eventually, settled } from '@flotilla/pace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const Widget = resource('test.flotilla.io/v1', 'Widget', 'widgets', true, KubeObjectSchema);

const widgets: KubeObject = {
  metadata: { name: 'widgets.test.flotilla.io' },
  spec: {
    group: 'test.flotilla.io',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } },
        },
      },
    ],
  },
};

describe('an API server alone', () => {
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServer({ own: true, users: [{ name: 'reader' }] });
    console.log(`etcd and kube-apiserver ready in ${server.startedInMs} ms`);
  });
  afterAll(() => server?.stop());

  test('is ready and serves an administrator', async () => {
    const client = await server.client();
    expect(await client.getText('/readyz')).toBe('ok');
    expect((await client.list(Namespace)).items.map(({ metadata }) => metadata.name)).toContain('kube-system');
  });

  test('refuses a user without a role', async () => {
    const client = await server.client('reader');
    await expect(client.list(Namespace)).rejects.toMatchObject({ status: 403 });
  });

  test('names the users there are when asked for another', async () => {
    await expect(server.kubeconfigFor('nobody')).rejects.toThrow('there are admin, reader');
  });

  test('keeps definitions and objects over a restart of all of it, at the same address', async () => {
    const client = await server.client();
    await client.create(CustomResourceDefinition, widgets);
    const widget = {
      apiVersion: 'test.flotilla.io/v1',
      kind: 'Widget',
      metadata: { name: 'one', namespace: 'default' },
      spec: { size: 3 },
    };
    const created = await settled(() => client.create(Widget, widget), { timeout: 20_000, interval: 100 });
    const { url } = server;
    await server.restart({ etcd: true });
    expect(server.url).toBe(url);
    const again = await server.client();
    const found = await settled(() => again.get(Widget, { namespace: 'default', name: 'one' }), { timeout: 20_000, interval: 100 });
    expect(found?.metadata.uid).toBe(created.metadata.uid);
  });
});

test('a stopped API server leaves no process and no folder', async () => {
  const server = await startApiServer({ own: true });
  const run = await currentRun();
  expect((await leftovers(run)).processes.length).toBeGreaterThanOrEqual(2);
  await server.stop();
  const left = await leftovers(run);
  expect(left.processes).toEqual([]);
  expect(left.folders).toEqual([]);
});

test('an API server with a wrong flag fails with the reason and leaves nothing', async () => {
  const run = await currentRun();
  await expect(startApiServer({ flags: ['--no-such-flag'] })).rejects.toThrow(/kube-apiserver ended while it started.*no-such-flag/s);
  expect(await leftovers(run)).toMatchObject({ processes: [], folders: [] });
});

describe('a pool of API servers', () => {
  test('lends each as if it had just been started, with the CRDs that are wanted', async () => {
    await using pool = await startServerPool(1);
    const kinds = ranCrds();
    const first = await borrowApiServer(pool.address, kinds);
    const client = await first.client();
    await client.create(Namespace, { metadata: { name: 'mine' } });
    await client.create(PreCachingConfig, { metadata: { namespace: 'mine', name: 'mine' }, spec: {} });
    const role = { name: 'system:basic-user' };
    const rules = (await client.get(ClusterRole, role))?.rules;
    await client.patch(ClusterRole, role, { rules: [] }, { type: 'merge' });
    await client.delete(ClusterRole, { name: 'system:discovery' });
    const [extra] = configCrds();
    await applyCrds(client, [extra]);
    await first.stop();

    const second = await borrowApiServer(pool.address, kinds);
    const again = await second.client();
    expect(second.url).toBe(first.url);
    const namesOf = async (kind: Resource) => (await again.list(kind)).items.map(({ metadata }) => metadata.name).toSorted();
    await eventually(async () => !(await namesOf(Namespace)).includes('mine'), 'the namespace to be forgotten', 10_000);
    expect(await namesOf(Namespace)).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
    expect(await namesOf(PreCachingConfig)).toEqual([]);
    expect(await namesOf(CustomResourceDefinition)).toEqual(kinds.map(({ metadata }) => metadata.name).toSorted());
    expect(rules).toHaveLength(2);
    expect(await again.get(ClusterRole, role)).toMatchObject({ rules });
    expect(await again.get(ClusterRole, { name: 'system:discovery' })).toBeDefined();
    // The kind that stayed is served, under the name that is free again.
    await again.create(Namespace, { metadata: { name: 'mine' } });
    await again.create(PreCachingConfig, { metadata: { namespace: 'mine', name: 'mine' }, spec: {} });
    await second.stop();

    await using third = await borrowApiServer(pool.address, []);
    expect((await (await third.client()).list(CustomResourceDefinition)).items).toEqual([]);
    await expect(third.restart()).rejects.toThrow('own: true');
  });
});
