import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { WatchCache } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { PULLER, World } from './world.ts';

test.concurrent('profile talm: the hub objects of the reference, by name and spec', async () => {
  await using world = await World.start({ spokes: ['spoke'], hubArgs: ['--precache-job-profile', 'talm'] });
  const specs = new Map<string, unknown>();
  const watching = new AbortController();
  for (const kind of [ManagedClusterAction, ManagedClusterView]) {
    const cache = new WatchCache<ManagedClusterAction | ManagedClusterView>(world.client, kind, { namespace: 'spoke' });
    cache.subscribe(({ object }) => specs.set(object.metadata.name, object.spec));
    cache.start(watching.signal);
  }
  world.namespaceOn('spoke').put();
  await world.upgrade('talm', ['spoke'], { remediationStrategy: { maxConcurrency: 1, timeout: 30 } });
  await world.untilStates('talm', { spoke: 'Succeeded' });
  await world.untilClean(['spoke']);
  watching.abort();

  const namespace = 'openshift-talo-pre-cache';
  expect([...specs.keys()].sort()).toEqual([
    'precache-crb-create',
    'precache-crb-delete',
    'precache-job-create',
    'precache-ns-create',
    'precache-ns-delete',
    'precache-sa-create',
    'precache-spec-cm-create',
    'view-precache-job',
    'view-precache-namespace',
  ]);
  expect(specs.get('precache-ns-delete')).toEqual({ actionType: 'Delete', kube: { resource: 'namespace', name: namespace } });
  expect(specs.get('precache-crb-delete')).toEqual({
    actionType: 'Delete',
    kube: { resource: 'clusterrolebinding', name: 'pre-cache-crb' },
  });
  expect(specs.get('precache-ns-create')).toMatchObject({
    actionType: 'Create',
    kube: {
      resource: 'namespace',
      template: {
        kind: 'Namespace',
        metadata: {
          name: namespace,
          labels: { 'pod-security.kubernetes.io/enforce': 'privileged' },
          annotations: { 'workload.openshift.io/allowed': 'management' },
        },
      },
    },
  });
  expect(specs.get('precache-sa-create')).toMatchObject({
    kube: { resource: 'serviceaccount', template: { metadata: { name: 'pre-cache-agent', namespace } } },
  });
  expect(specs.get('precache-crb-create')).toMatchObject({
    kube: { resource: 'clusterrolebinding', template: { metadata: { name: 'pre-cache-crb' }, roleRef: { name: 'cluster-admin' } } },
  });
  expect(specs.get('precache-spec-cm-create')).toMatchObject({
    kube: { resource: 'configmap', template: { metadata: { name: 'pre-cache-spec', namespace }, data: { spaceRequired: '35' } } },
  });
  expect(specs.get('precache-job-create')).toMatchObject({
    kube: {
      resource: 'job',
      namespace,
      template: {
        metadata: { name: 'pre-cache' },
        spec: {
          activeDeadlineSeconds: 1800,
          backoffLimit: 0,
          template: { spec: { containers: [{ name: 'pre-cache-container', image: PULLER }] } },
        },
      },
    },
  });
  expect(specs.get('view-precache-job')).toMatchObject({ scope: { resource: 'jobs', name: 'pre-cache', namespace } });
  expect(specs.get('view-precache-namespace')).toMatchObject({ scope: { resource: 'namespaces', name: namespace } });
  expect(world.spokes.jobsCreated('spoke')).toHaveLength(1);
  const [store, left] = [world.spokes.store('spoke'), world.namespaceOn('spoke')];
  await eventually(() => !left.exists(), 'the namespace to be gone', 20_000);
  const bindings = store.kinds.find(({ kind }) => kind === 'ClusterRoleBinding');
  expect(bindings && store.read(bindings, undefined, 'pre-cache-crb')).toBeUndefined();
});
