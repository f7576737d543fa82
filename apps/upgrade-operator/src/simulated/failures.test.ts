/** Whatever keeps a pass from its end is said in the status of the UpgradeConfig, with its object; a value that the server refuses costs that value. */
import { Pod } from '@flotilla/api/core';
import { MachineSet } from '@flotilla/api/machine';
import { UpgradeCondition, UpgradeConfig } from '@flotilla/api/managed';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CASE_REF } from '../../testing/operator-case.ts';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
});
afterEach(() => operator.stop());

const forbidden = (what: string) =>
  new ApiError(RuntimeErrorCode.forbidden, what, { status: 403, reason: 'Forbidden', serverMessage: 'denied by policy' });
const reconciled = async () => {
  const found = (await operator.entry())?.conditions?.find(({ type }) => type === UpgradeCondition.reconciled);
  return found && `${found.status} ${found.reason}: ${found.message}`;
};
const FINE = 'True Reconciled: Nothing keeps the upgrade from being looked at';

test('extra workers that cannot be taken away are named until they can', async () => {
  operator.hold({ updatesHeld: true });
  await operator.upgrade('4.14.15', '01:00', 'candidate-4.14');
  await operator.client.patch(UpgradeConfig, CASE_REF, { spec: { capacityReservation: true } }, { type: 'merge' });
  await operator.until('Mon 01:30');
  operator.refuse = (verb, kind, { name }) =>
    verb === 'delete' && kind.kind === MachineSet.kind ? forbidden(`DELETE machinesets ${name}`) : undefined;
  await operator.client.patch(UpgradeConfig, CASE_REF, { spec: { upgradeAt: '2026-03-02T05:00:00Z' } }, { type: 'merge' });
  await operator.until('Mon 01:40');
  expect(await reconciled()).toMatch(/^False LeftoversRemain: .*DELETE machinesets \S+-upgrade.*denied by policy/);
  expect(operator.world.events.filter((event) => event.startsWith('LeftoversRemain'))).toHaveLength(1);
  operator.refuse = () => undefined;
  await operator.until('Mon 01:50');
  expect(await reconciled()).toBe(FINE);
});

test('a pass that was broken off is told of, until one comes to its end', async () => {
  await operator.upgrade('4.14.10', '01:00');
  operator.refuse = (verb, kind, _, body) => {
    const text = JSON.stringify(body);
    if (verb !== 'patch' || kind.kind !== UpgradeConfig.kind || !text.includes('"Upgrading"') || text.includes('PassFailed'))
      return undefined;
    return forbidden('PATCH upgradeconfigs managed-upgrade-config');
  };
  await operator.until('Mon 01:05');
  expect(await reconciled()).toMatch(/^False PassFailed: PATCH upgradeconfigs managed-upgrade-config.*denied by policy/);
  operator.refuse = () => undefined;
  await operator.until('Mon 01:20');
  expect(await reconciled()).toBe(FINE);
});

test('a pod that nobody may delete is told of with its node', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.guard('shop');
  operator.refuse = (verb, kind, { name }) => (verb === 'delete' && kind.kind === Pod.kind ? forbidden(`DELETE pods ${name}`) : undefined);
  await operator.until('Mon 03:30');
  expect(await reconciled()).toMatch(/^False DrainFailed: .*node worker-0: DELETE pods guarded.*denied by policy/);
  operator.refuse = () => undefined;
  await operator.until('Mon 04:30');
  expect([(await operator.entry())?.phase, await reconciled()]).toEqual(['Upgraded', FINE]);
});

test('a value that the server’s definition does not take is left out, and the upgrade is written and carried out without it', async () => {
  const field = 'status.history[0].conditions[0].waitingFor';
  operator.refuse = (_, kind, __, body) => {
    if (kind.kind !== UpgradeConfig.kind || !JSON.stringify(body).includes('"waitingFor"')) return undefined;
    const causes = [{ field, reason: 'FieldValueInvalid', message: 'Too odd' }];
    return new ApiError(RuntimeErrorCode.invalid, 'PATCH', { status: 422, reason: 'Invalid', serverMessage: 'no', causes });
  };
  await operator.upgrade('4.14.10', '01:00');
  await operator.until('Mon 01:30');
  expect((await operator.entry())?.phase).toBe('Upgrading');
  await operator.until('Mon 03:30');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(operator.world.events.filter((event) => event.startsWith('StatusValueRefused'))[0]).toContain(field);
});
