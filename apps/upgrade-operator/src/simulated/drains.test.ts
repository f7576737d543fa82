import { Namespace, Node, Pod } from '@flotilla/api/core';
import { MachineConfigAnnotation } from '@flotilla/api/machine';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
});
afterEach(() => operator.stop());

/** The state of the first worker's daemon, and the pods that are left. */
async function seen() {
  const node = await operator.client.get(Node, { name: 'worker-0' });
  const { items } = await operator.client.list(Pod);
  return [node?.metadata.annotations?.[MachineConfigAnnotation.state], node?.spec?.unschedulable === true, items.length];
}

test('a drain that the daemon gave up is forced when its time is over, and the node is changed', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.guard('shop');
  const states: unknown[] = [];
  for (const time of ['Mon 01:59', 'Mon 02:59', 'Mon 03:01', 'Mon 03:07', 'Mon 03:08', 'Mon 03:19', 'Mon 03:20']) {
    await operator.until(time);
    states.push([time, ...(await seen())]);
  }
  expect(states).toEqual([
    ['Mon 01:59', 'Done', false, 1],
    ['Mon 02:59', 'Working', true, 1],
    // Cordoned at 02:00: the daemon's hour is over, and 60 + 8 minutes are not. Drains are tried again every five.
    ['Mon 03:01', 'Degraded', true, 1],
    ['Mon 03:07', 'Degraded', true, 1],
    ['Mon 03:08', 'Degraded', true, 0],
    ['Mon 03:19', 'Degraded', true, 0],
    ['Mon 03:20', 'Done', false, 0],
  ]);
});

test('a pod has its time from when workers begin, whoever cordoned its node long before', async () => {
  await operator.cordon('worker-0');
  await operator.guard('shop');
  await operator.upgrade('4.14.10', '01:00');
  const left: unknown[] = [];
  for (const time of ['Mon 02:05', 'Mon 03:07', 'Mon 03:08']) {
    await operator.until(time);
    left.push([time, ...(await seen())]);
  }
  expect(left).toEqual([
    ['Mon 02:05', 'Working', true, 1],
    ['Mon 03:07', 'Degraded', true, 1],
    ['Mon 03:08', 'Degraded', true, 0],
  ]);
});

test('what an administrator has cordoned stays as it is while others are changed', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.cordon('infra-0');
  await operator.client.create(Namespace, { metadata: { name: 'shop' } });
  await operator.client.create(Pod, {
    metadata: { namespace: 'shop', name: 'kept' },
    ...{ spec: { nodeName: 'infra-0', containers: [] } },
  });
  await operator.guard('infra-logs');
  await operator.until('Mon 05:00');
  expect((await operator.client.list(Pod)).items.map(({ metadata }) => metadata.name)).toEqual(['guarded', 'kept']);
});
