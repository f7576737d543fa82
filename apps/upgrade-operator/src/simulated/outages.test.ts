import { UpgradeCondition } from '@flotilla/api/managed';
import { createSmallCluster, startClusterActors } from '@flotilla/control-plane/simulators';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SimulatedOperator } from '../../testing/simulated/operator.ts';

let operator: SimulatedOperator;
beforeEach(async () => {
  operator = await SimulatedOperator.start({ createSmallCluster, startClusterActors });
  // They would run out before Alertmanager is back.
  operator.world.config = { ...operator.world.config, maintenance: { ...operator.world.config.maintenance, controlPlaneTime: 600 } };
});
afterEach(() => operator.stop());

const standing = () =>
  operator.alertmanager
    .peek()
    .filter(({ status }) => status.state !== 'expired')
    .map(({ comment }) => comment);
async function condition(type: string) {
  const { status, message } = (await operator.entry())?.conditions?.find((each) => each.type === type) ?? {};
  return { status, message };
}
const told = () => operator.recorder.rows.flatMap(({ what, value }) => (what === 'notification' ? [value.split(' ')[0]] : []));
const AWAY = { status: 'False', message: 'connect ECONNREFUSED' };

test('an upgrade that is given up is Failed and told of while Alertmanager is away, and its silences end when that is back', async () => {
  operator.hold({ updatesHeld: true });
  await operator.until('Mon 01:00');
  await operator.upgrade('4.14.15', '02:00', 'candidate-4.14');
  await operator.until('Mon 03:00');
  expect(standing()).toHaveLength(2);
  operator.away(true);
  await operator.until('Mon 04:00');
  expect((await operator.entry())?.phase).toBe('Failed');
  expect(told()).toContain('StateFailed');
  expect((await operator.entry())?.conditions?.[0]).toMatchObject({ type: UpgradeCondition.failed, status: 'True' });
  expect(await condition(UpgradeCondition.controlPlaneWindowRemoved)).toEqual(AWAY);
  expect(operator.recorder.rows.at(-1)?.value).toContain('upgradeconfig_validation_failed');

  await operator.until('Mon 06:00');
  await operator.restart();
  expect(standing()).toHaveLength(2);
  operator.away(false);
  await operator.until('Mon 06:02');
  expect(standing()).toEqual([]);
  expect((await condition(UpgradeCondition.controlPlaneWindowRemoved)).status).toBe('True');
  expect(told().filter((state) => state === 'StateFailed')).toHaveLength(1);
});

test('an upgrade is done while Alertmanager is away, says what is open, and closes it when that is back', async () => {
  await operator.upgrade('4.14.10', '01:00');
  await operator.until('Mon 01:30');
  operator.away(true);
  await operator.until('Mon 02:20');
  expect((await operator.entry())?.phase).toBe('Upgraded');
  expect(told()).toContain('StateCompleted');
  expect(await condition(UpgradeCondition.controlPlaneWindowRemoved)).toEqual(AWAY);
  expect(await condition(UpgradeCondition.workersWindowRemoved)).toEqual(AWAY);

  await operator.until('Mon 05:00');
  await operator.restart();
  operator.away(false);
  await operator.until('Mon 05:02');
  expect(standing()).toEqual([]);
  for (const type of [UpgradeCondition.controlPlaneWindowRemoved, UpgradeCondition.workersWindowRemoved])
    expect((await condition(type)).status).toBe('True');
});
