import { ClusterVersion } from '@flotilla/api/config';
import { MACHINE_NAMESPACE, MachineSet } from '@flotilla/api/machine';
import { UpgradeConfig } from '@flotilla/api/managed';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CASE_REF } from '../../testing/operator-case.ts';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
});
afterEach(() => operator.stop());

/** Asks for the version of another channel, with extra workers. */
async function upgrade(at: string): Promise<void> {
  await operator.upgrade('4.14.15', at, 'candidate-4.14');
  await operator.client.patch(UpgradeConfig, CASE_REF, { spec: { capacityReservation: true } }, { type: 'merge' });
}
const cluster = () => operator.client.get(ClusterVersion, { name: 'version' });
const extraSets = async () =>
  (await operator.client.list(MachineSet, { namespace: MACHINE_NAMESPACE })).items.flatMap(({ metadata }) =>
    metadata.name.endsWith('-upgrade') ? [metadata.uid] : [],
  );

test('a due upgrade has a channel and extra workers of its own, not those that its first pass takes back', async () => {
  operator.hold({ updatesHeld: true });
  await upgrade('01:00');
  await operator.until('Mon 01:30');
  const before = await extraSets();
  expect(before).toHaveLength(1);
  expect((await cluster())?.spec.channel).toBe('candidate-4.14');

  operator.machineSetLagMs = 300_000;
  await operator.restart(async () => {
    operator.hold({ controlPlaneHeld: true });
    await operator.until('Mon 01:40');
    await upgrade('01:40');
  });
  // The operator knows of its own deletion, long before its watch tells.
  await operator.until('Mon 01:42');
  const after = await extraSets();
  expect(after).toHaveLength(1);
  expect(after).not.toEqual(before);
  operator.machineSetLagMs = 0;
  await operator.until('Mon 02:30');
  const { channel, desiredUpdate } = (await cluster())?.spec ?? {};
  expect({ channel, desiredUpdate }).toEqual({ channel: 'candidate-4.14', desiredUpdate: { version: '4.14.15' } });
  expect(await extraSets()).toEqual(after);
});

const cancelled = () =>
  operator.recorder.rows.flatMap(({ what, value }) =>
    what === 'notification' && value.startsWith('StateCancelled') ? [value.split(' (')[0]] : [],
  );
const standing = () => operator.alertmanager.peek().filter(({ status }) => status.state !== 'expired').length;

describe('an upgrade whose UpgradeConfig is deleted while there is no operator', () => {
  test.each([
    { of: 'extra workers alone', reserves: true },
    { of: 'silences alone', reserves: false },
  ])('is told to be cancelled by the next one, once, where it left $of', async ({ reserves }) => {
    operator.hold({ updatesHeld: true });
    operator.away(reserves);
    await operator.upgrade('4.14.15', '01:00', 'candidate-4.14');
    await operator.client.patch(UpgradeConfig, CASE_REF, { spec: { capacityReservation: reserves } }, { type: 'merge' });
    await operator.until('Mon 01:30');
    expect([(await extraSets()).length > 0, standing() > 0]).toEqual([reserves, !reserves]);
    await operator.restart(() => operator.client.delete(UpgradeConfig, CASE_REF));
    await operator.until('Mon 01:40');
    expect(cancelled()).toEqual(['StateCancelledSL 4.14.15']);
    expect([await extraSets(), standing()]).toEqual([[], 0]);
    await operator.restart();
    await operator.until('Mon 01:50');
    expect(cancelled()).toEqual(['StateCancelledSL 4.14.15']);
  });

  test('is told once Alertmanager answers, which alone knows of it', async () => {
    operator.hold({ updatesHeld: true });
    await operator.upgrade('4.14.15', '01:00', 'candidate-4.14');
    await operator.until('Mon 01:30');
    await operator.restart(async () => {
      await operator.client.delete(UpgradeConfig, CASE_REF);
      operator.away(true);
    });
    await operator.until('Mon 01:40');
    expect(cancelled()).toEqual([]);
    operator.away(false);
    await operator.until('Mon 02:00');
    expect([cancelled(), standing()]).toEqual([['StateCancelledSL 4.14.15'], 0]);
  });

  test('is not told to be cancelled when the cluster was sent', async () => {
    await upgrade('01:00');
    await operator.until('Mon 01:30');
    expect((await cluster())?.spec.desiredUpdate).toEqual({ version: '4.14.15' });
    await operator.restart(() => operator.client.delete(UpgradeConfig, CASE_REF));
    await operator.until('Mon 04:00');
    expect([cancelled(), await extraSets(), standing()]).toEqual([[], [], 0]);
  });
});
