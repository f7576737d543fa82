import type { KubeObject, Resource } from '@flotilla/api';
import { ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { World } from './world.ts';

const test = testIn(() => World.start({ spokes: ['dirty', 'foreign'] }));

test.concurrent('what an earlier attempt left on the spoke goes before the job is created', async ({ world }) => {
  const namespace = world.namespaceOn('dirty');
  namespace.put();
  await world.upgrade('dirty', ['dirty']);
  await world.untilStates('dirty', { dirty: 'Succeeded' });
  const executed = world.spokes
    .events('dirty')
    .filter(({ type }) => type === 'action-executed')
    .map(({ name }) => name);
  expect(executed.indexOf('precache-ns-delete')).toBe(0);
  expect(executed).toContain('precache-ns-create');
  expect(world.spokes.jobsCreated('dirty')).toHaveLength(1);
  await eventually(() => !namespace.exists(), 'the namespace to be gone');
});

test.concurrent("another program's objects of the same names prove nothing and are replaced", async ({ world }) => {
  world.spokes.disconnect('foreign');
  const condition = (type: string, reason: string, status: 'True' | 'False', message: string) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'pre-cache', namespace: 'openshift-talo-pre-cache' },
    status: { succeeded: 1 },
  };
  await leave(world, ManagedClusterAction, 'precache-ns-create', { conditions: [condition('Completed', 'ActionDone', 'True', 'done')] });
  await leave(world, ManagedClusterAction, 'precache-job-create', { conditions: [condition('Completed', 'ActionDone', 'True', 'done')] });
  await leave(world, ManagedClusterAction, 'precache-ns-delete', { conditions: [condition('Completed', 'ActionDone', 'True', 'done')] });
  await leave(world, ManagedClusterView, 'view-precache-namespace', {
    conditions: [condition('Processing', 'GetResourceFailed', 'False', 'namespaces "openshift-talo-pre-cache" not found')],
  });
  await leave(world, ManagedClusterView, 'view-precache-job', {
    conditions: [condition('Processing', 'GetResourceProcessing', 'True', 'ok')],
    result: job,
  });
  world.namespaceOn('foreign').put();

  await world.upgrade('foreign', ['foreign']);
  await world.untilStates('foreign', { foreign: 'PreparingToStart' });
  const view = () => world.client.get(ManagedClusterView, { namespace: 'foreign', name: 'view-precache-namespace' });
  await eventually(async () => (await view())?.metadata.labels?.['flotilla.io/work'] === 'precache', 'the view to be replaced');
  expect((await view())?.status).toBeUndefined();

  world.spokes.reconnect('foreign');
  await world.untilStates('foreign', { foreign: 'Succeeded' });
  expect(world.spokes.jobsCreated('foreign')).toHaveLength(1);
  await world.untilClean(['foreign']);
});

/** An object without our labels, with a status as if it had been carried out long ago. */
async function leave(world: World, kind: Resource, name: string, status: unknown): Promise<void> {
  const object: KubeObject = { metadata: { name, namespace: 'foreign' }, spec: {} };
  await world.client.create(kind, object);
  await world.client.patch(kind, { namespace: 'foreign', name }, { status }, { type: 'merge', subresource: 'status' });
}
