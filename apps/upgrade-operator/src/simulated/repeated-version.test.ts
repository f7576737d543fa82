import { ClusterVersion } from '@flotilla/api/config';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
});
afterEach(() => operator.stop());

const told = (state: string) => operator.recorder.rows.filter(({ what, value }) => what === 'notification' && value.startsWith(state));
const standing = () => operator.alertmanager.peek().filter(({ status }) => status.state !== 'expired');

test('a version that was rolled back is upgraded to again, step by step', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.until('Mon 02:30');
  expect(told('StateCompleted')).toHaveLength(1);
  await operator.client.patch(ClusterVersion, { name: 'version' }, { spec: { desiredUpdate: { version: '4.14.9' } } }, { type: 'merge' });
  await operator.until('Mon 04:00');

  await operator.upgrade('4.14.10', '05:00');
  await operator.until('Mon 05:30');
  expect((await operator.entry())?.phase).toBe('Upgrading');
  expect(standing().map(({ comment }) => comment)).toEqual([
    'Silence for OSD control plane upgrade to version 4.14.10',
    'Silence for critical alerts during OSD control plane upgrade to version 4.14.10',
  ]);
  expect(operator.recorder.rows.filter(({ value }) => value === 'controlplane_timeout 4.14.10 = 1')).toEqual([]);
  await operator.until('Mon 06:30');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(told('StateCompleted')).toHaveLength(2);
});
