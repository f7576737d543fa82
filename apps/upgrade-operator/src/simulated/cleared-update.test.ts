import { ClusterVersion } from '@flotilla/api/config';
import { MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CASE_REF } from '../../testing/operator-case.ts';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
  await operator.upgrade('4.14.10', '01:00');
  await operator.client.patch(UpgradeConfig, CASE_REF, { spec: { capacityReservation: true } }, { type: 'merge' });
});
afterEach(() => operator.stop());

/** Somebody else sets what the cluster is asked for. */
const ask = (desiredUpdate: { version: string } | null) =>
  operator.client.patch(ClusterVersion, { name: 'version' }, { spec: { desiredUpdate } }, { type: 'merge' });
const asked = async () => (await operator.client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate;
const extraSets = async () =>
  (await operator.client.list(MachineSet, { namespace: MACHINE_NAMESPACE })).items.flatMap(({ metadata }) =>
    metadata.name.endsWith('-upgrade') ? [metadata.name] : [],
  );
const told = () => operator.recorder.rows.flatMap(({ what, value }) => (what === 'notification' ? [value.split(' ')[0]] : []));
const standing = () => operator.alertmanager.peek().filter(({ status }) => status.state !== 'expired').length;
const waitsFor = async () =>
  (await operator.entry())?.conditions?.find(({ type }) => type === UpgradeCondition.controlPlaneUpgraded)?.waitingFor;

test('an update that is cleared while workers change, and the window is over: they are changed to the end', async () => {
  await operator.guard('shop');
  await operator.until('Mon 02:30');
  await ask(null);
  // Its window ends at 03:00, and the pod that holds the first worker goes at 03:08.
  await operator.until('Mon 03:05');
  expect((await operator.entry())?.phase).toBe('Upgrading');
  expect(await extraSets()).toHaveLength(1);
  expect(standing()).toBe(1);
  await operator.until('Mon 04:00');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(await extraSets()).toEqual([]);
  expect(told()).not.toContain('StateFailed');
  expect(told()).toContain('StateCompleted');
  expect(await asked()).toBeUndefined();
});

test('an update that is cleared or changed before it is applied is neither sent again nor given up, and goes on when it is asked for again', async () => {
  operator.hold({ controlPlaneHeld: true });
  await operator.until('Mon 01:30');
  await ask(null);
  await operator.until('Mon 01:32');
  expect(await waitsFor()).toContain('the ClusterVersion asks for no update any more');
  await operator.until('Mon 03:05');
  expect([await asked(), (await operator.entry())?.phase, (await extraSets()).length]).toEqual([undefined, 'Upgrading', 1]);
  await ask({ version: '4.14.11' });
  await operator.until('Mon 03:07');
  expect(await waitsFor()).toContain('the ClusterVersion asks for 4.14.11');
  expect(await asked()).toEqual({ version: '4.14.11' });
  expect(told()).not.toContain('StateFailed');

  operator.hold({});
  await ask({ version: '4.14.10' });
  await operator.until('Mon 05:00');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(told()).toContain('StateCompleted');
});

test('an upgrade whose update was cleared ends with its UpgradeConfig: extra workers go once the workers are changed', async () => {
  await operator.guard('shop');
  await operator.until('Mon 02:30');
  await ask(null);
  await operator.until('Mon 02:40');
  await operator.client.delete(UpgradeConfig, CASE_REF);
  await operator.until('Mon 02:50');
  expect(await extraSets()).toHaveLength(1);
  expect(operator.world.events.filter((event) => event.startsWith('UpgradeConfigDeleted'))).toEqual([
    'UpgradeConfigDeleted: There is no UpgradeConfig any more: the cluster goes on to 4.14.10; extra workers and silences go once it is there',
  ]);
  await operator.unguard('shop');
  await operator.until('Mon 03:50');
  expect(await extraSets()).toEqual([]);
  expect(standing()).toBe(0);
  expect(told()).not.toContain('StateCancelled');
});
