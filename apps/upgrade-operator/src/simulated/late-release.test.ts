import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
  const { config } = operator.world;
  operator.world.config = { ...config, validation: { ...config.validation, cincinnati: true } };
});
afterEach(() => operator.stop());

test('a version that the update graph offers later is taken then, though nothing in the cluster changes', async () => {
  await operator.upgrade('4.14.15', '02:00', 'candidate-4.14');
  await operator.until('Mon 02:30');
  expect((await operator.entry())?.phase).toBe('Pending');
  operator.world.updates = ['4.14.15'];
  await operator.until('Mon 02:36');
  expect((await operator.entry())?.phase).toBe('Upgrading');
});
