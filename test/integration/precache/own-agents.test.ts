import { ManagedClusterAction, ManifestWork } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { TRANSPORTS, testIn } from '../world.ts';
import { World } from './world.ts';

/** What the hub sends where the agent makes the puller's account. */
const SENT = new Set(['Namespace', 'ConfigMap', 'Job']);

for (const transport of TRANSPORTS) {
  const test = testIn(() => World.start({ spokes: ['one'], transport, simulated: { makesPullerAccount: true }, inMemory: true }));

  test(`by ${transport}: the agent makes the puller's account, and the hub sends namespace, spec and job`, async ({ world }) => {
    world.spokes.setFaults('one', { jobsHeld: true });
    await world.upgrade('own', ['one']);
    // Without its account the job would have no pod.
    await world.untilStates('own', { one: 'Active' });
    const work = await world.client.get(ManifestWork, { namespace: 'one', name: 'precache-work' });
    const { items: actions } = await world.client.list(ManagedClusterAction, { namespace: 'one' });
    const templates = [...(work?.spec?.workload?.manifests ?? []), ...actions.map(({ spec }) => spec?.kube?.template)];
    expect(new Set(templates.flatMap((template) => Object(template).kind ?? []))).toEqual(SENT);
    world.spokes.setFaults('one', {});
    await world.untilStates('own', { one: 'Succeeded' });
    await world.untilClean(['one']);
    await eventually(() => !world.namespaceOn('one').exists(), 'the namespace to go, and the account with it');
  });

  const testNodes = testIn(() =>
    World.start({ spokes: ['one'], transport, simulated: { makesPullerAccount: true }, nodes: 3, inMemory: true }),
  );

  testNodes(
    `by ${transport}: a spoke of three nodes gets one DaemonSet more, under an account of its own, and all of it goes`,
    async ({ world }) => {
      await world.upgrade('nodes', ['one']);
      await eventually(() => world.objectsOn('one', 'DaemonSet').includes('pre-cache-nodes'), 'the DaemonSet');
      expect(world.objectsOn('one', 'ServiceAccount')).toContain('pre-cache-node');
      await world.untilStates('nodes', { one: 'Succeeded' });
      await world.untilClean(['one']);
      await eventually(() => !world.namespaceOn('one').exists(), 'the namespace to go, and the DaemonSet with it');
    },
  );
}
