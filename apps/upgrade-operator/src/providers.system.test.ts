/** The provider of an upgrade changes its mind, before the upgrade and in the middle of it. */

import { ClusterVersion } from '@flotilla/api/config';
import { Node } from '@flotilla/api/core';
import { UpgradeConfig } from '@flotilla/api/managed';
import * as servers from '@flotilla/control-plane/servers';
import * as simulators from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CASE_REF, createUpgrade } from '../testing/operator-case.ts';
import { AFTER_TARGET, casesIn, policy, TARGET } from '../testing/real-world-case.ts';

const HOUR = 3_600_000;
const AFTER_CHANNEL = 'stable-4.15';

const world = casesIn({ ...servers, ...simulators }, { beforeAll, afterAll, beforeEach, afterEach });

const stored = () => world().client.get(UpgradeConfig, CASE_REF);
const change = (spec: Record<string, unknown>) => world().client.patch(UpgradeConfig, CASE_REF, { spec }, { type: 'merge' });
const phases = async () => (await world().history()).map(({ version, phase }) => `${version} ${phase}`);
const untilPhases = (...wanted: string[]) =>
  eventually(async () => JSON.stringify(await phases()) === JSON.stringify(wanted), wanted.join(', '), 60_000);
/** Begins an upgrade that comes no further than to the control plane's change. */
async function beginAndHold(): Promise<void> {
  world().actors.setFaults({ controlPlaneHeld: true });
  world().startOperator();
  await world().untilTrue('UpgradeCommenced');
}
const syncedAt = async () => Number(/^upgradeoperator_upgradeconfig_sync_timestamp\{.*\} (\d+)$/m.exec(await world().counted())?.[1]);
/** Counts the passes over the UpgradeConfig so far. */
const passes = async () => {
  const counts = (await world().counted()).matchAll(/^flotilla_reconcile_seconds_count\{.*controller="upgrade-config".*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
};
const sentTo = async () => (await world().client.get(ClusterVersion, { name: 'version' }))?.spec.desiredUpdate?.version;

describe('OCM', () => {
  test('wants it later, before it is due: the UpgradeConfig changes in its place', async () => {
    const at = Date.now() + HOUR;
    world().manager.setPolicies([policy(at)]);
    world().startOperator();
    await world().untilPhase('Pending');
    const before = await stored();
    world().manager.setPolicies([policy(at + HOUR)]);
    await world().askAgain(59);
    await eventually(async () => (await stored())?.spec.upgradeAt === policy(at + HOUR).next_run, 'the later moment');
    expect((await stored())?.metadata.uid).toBe(before?.metadata.uid);
    expect(await phases()).toEqual([`${TARGET} Pending`]);
  });

  test('wants another version, before it is due: that one is carried out, and the other stays in the history', async () => {
    world().manager.setPolicies([policy(Date.now() + HOUR)]);
    world().startOperator();
    await world().untilPhase('Pending');
    const before = await stored();
    world().manager.setPolicies([policy(Date.now() - 1_000, { id: 'q', version: AFTER_TARGET })]);
    await world().askAgain(59);
    await untilPhases(`${AFTER_TARGET} Upgraded`, `${TARGET} Pending`);
    expect((await stored())?.metadata.uid).toBe(before?.metadata.uid);
    expect(world().manager.written).toEqual(['q: started', 'q: completed']);
  });

  test('wants none at all: when it was asked stays known, whatever happens in the cluster', async () => {
    world().startOperator();
    await eventually(async () => (await syncedAt()) > 0, 'OCM to be asked');
    const before = await passes();
    await world().client.patch(Node, { name: 'worker-0' }, { spec: { unschedulable: true } }, { type: 'merge' });
    await eventually(async () => (await passes()) > before, 'the operator to look at the cluster again');
    expect(await syncedAt()).toBeGreaterThan(0);
  });

  test('wants none any more, before it is due: the UpgradeConfig goes, and nothing is begun', async () => {
    world().manager.setPolicies([policy(Date.now() + HOUR)]);
    world().startOperator();
    await world().untilPhase('Pending');
    world().manager.setState('p', 'cancelled');
    await world().askAgain(59);
    await eventually(async () => (await stored()) === undefined, 'the UpgradeConfig to go');
    expect(await sentTo()).toBeUndefined();
  });

  // The first look of the upgrade and the first of the sync come at the same time.
  test.each([1, 2, 3])('wants none any more since no operator ran, and it is due: nothing is begun, start %i', async () => {
    world().manager.setPolicies([]);
    await createUpgrade(world().client);
    world().startOperator();
    await eventually(async () => (await stored()) === undefined, 'the UpgradeConfig to go');
    // One look at a time: when the next upgrade waits, the one that is gone has seen its last.
    world().manager.setPolicies([policy(Date.now() + HOUR, { version: AFTER_TARGET })]);
    await world().askAgain(59);
    await untilPhases(`${AFTER_TARGET} Pending`);
    expect(await sentTo()).toBeUndefined();
  });

  test('wants another version in mid-upgrade: it is held and said, and carried out after the end, with the whole history', async () => {
    const first = policy();
    world().manager.setPolicies([first]);
    await beginAndHold();
    const before = await stored();
    world().manager.setPolicies([first, policy(Date.now() - 3_600_000, { id: 'q', version: AFTER_TARGET })]);
    await world().askAgain(59);
    await world().untilSaid('SpecSynced', `OCM asks for ${AFTER_TARGET} (${AFTER_CHANNEL}) from `);
    expect(await world().condition('SpecSynced')).toMatchObject({
      status: 'False',
      reason: 'ChangeHeld',
      message: expect.stringMatching(`: held until the upgrade to ${TARGET} \\(stable-4.14\\) has ended$`),
    });
    expect((await stored())?.spec).toEqual(before?.spec);
    expect(await sentTo()).toBe(TARGET);

    // Nobody asks for it again: the end of the one is the beginning of the other.
    world().actors.setFaults({});
    await untilPhases(`${AFTER_TARGET} Upgraded`, `${TARGET} Upgraded`);
    expect((await stored())?.metadata.uid).toBe(before?.metadata.uid);
    await eventually(() => world().manager.written.length === 4, 'OCM to be told of both');
    expect(world().manager.written).toEqual(['p: started', 'p: completed', 'q: started', 'q: completed']);
    expect((await world().history())[1]?.conditions?.filter(({ status }) => status !== 'True')).toEqual([]);
    await eventually(async () => (await world().eventReasons()).filter((reason) => reason === 'UpgradeDone').length === 2, 'the events');
    expect((await world().eventReasons()).filter((reason) => /^(UpgradeUnderWay|ChangeHeld|UpgradeDone)$/.test(reason))).toEqual([
      'UpgradeUnderWay',
      'ChangeHeld',
      'UpgradeDone',
      'UpgradeUnderWay',
      'UpgradeDone',
    ]);
  });

  test('wants none any more in mid-upgrade: that is held and said, and the upgrade comes to its end', async () => {
    world().manager.setPolicies([policy()]);
    await beginAndHold();
    world().manager.setState('p', 'cancelled');
    await world().askAgain(59);
    await world().untilSaid('SpecSynced', 'OCM asks for no upgrade any more: held until');
    world().actors.setFaults({});
    await eventually(async () => (await stored()) === undefined, 'the UpgradeConfig to go', 60_000);
    await eventually(async () => (await versions())[0] === TARGET, 'the version to be applied');
  });

  test('is away: that is said, what it asked for goes on, and its return is said too', async () => {
    world().manager.setPolicies([policy()]);
    await beginAndHold();
    world().manager.setFaults({ path: /^GET .*upgrade_policies/, status: 500 });
    await world().askAgain(59);
    await world().untilSaid('SpecSynced', 'could not retrieve provider upgrade policies');
    expect(await world().condition('SpecSynced')).toMatchObject({ status: 'False', reason: 'ProviderUnavailable' });
    world().manager.setFaults();
    await world().askAgain(58);
    await world().untilTrue('SpecSynced');
    world().actors.setFaults({});
    await world().untilPhase('Upgraded');
  });
});

const versions = async () =>
  (await world().client.get(ClusterVersion, { name: 'version' }))?.status?.history?.map(({ version }) => version) ?? [];

describe('LOCAL', () => {
  beforeEach(() => world().configureLocal());

  test('its user wants another version, before it is due: that one is carried out', async () => {
    world().startOperator();
    await createUpgrade(world().client, { upgradeAt: new Date(Date.now() + HOUR).toISOString() });
    await world().untilPhase('Pending');
    await change({ upgradeAt: new Date(Date.now() - 1_000).toISOString(), desired: { version: AFTER_TARGET, channel: AFTER_CHANNEL } });
    await untilPhases(`${AFTER_TARGET} Upgraded`, `${TARGET} Pending`);
    expect(await versions()).not.toContain(TARGET);
  });

  test('its user wants another version in mid-upgrade: it is held and said, and carried out after the end', async () => {
    await createUpgrade(world().client);
    await beginAndHold();
    await change({ desired: { version: AFTER_TARGET, channel: AFTER_CHANNEL } });
    await world().untilSaid('SpecSynced', `the UpgradeConfig asks for ${AFTER_TARGET} (${AFTER_CHANNEL}) from `);
    expect(await phases()).toEqual([`${TARGET} Upgrading`]);
    expect(await sentTo()).toBe(TARGET);
    world().actors.setFaults({});
    await untilPhases(`${AFTER_TARGET} Upgraded`, `${TARGET} Upgraded`);
    expect((await versions()).slice(0, 2)).toEqual([AFTER_TARGET, TARGET]);
    expect((await world().history())[1]?.conditions?.find(({ type }) => type === 'SpecSynced')?.status).toBe('True');
  });

  test('its user takes the change back in mid-upgrade: nothing waits any more', async () => {
    await createUpgrade(world().client);
    await beginAndHold();
    await change({ desired: { version: AFTER_TARGET, channel: AFTER_CHANNEL } });
    await world().untilSaid('SpecSynced', 'held until');
    await change({ desired: { version: TARGET, channel: 'stable-4.14' } });
    await world().untilTrue('SpecSynced');
    world().actors.setFaults({});
    await untilPhases(`${TARGET} Upgraded`);
  });

  test('an UpgradeConfig that is done stays, and its history with it', async () => {
    await createUpgrade(world().client);
    world().startOperator();
    await world().untilPhase('Upgraded');
    const before = await syncedAt();
    await eventually(async () => Date.now() / 1000 >= before + 1, 'another second');
    // A change of the configuration has the provider asked at once.
    await world().configure({ configManager: { source: 'LOCAL', localConfigName: CASE_REF.name, watchInterval: 59 } });
    await eventually(async () => (await syncedAt()) > before, 'the provider to be asked');
    expect(await phases()).toEqual([`${TARGET} Upgraded`]);
  });
});

test('a cluster without a ClusterVersion: says what is missing, and begins once it is there', async () => {
  await world().configureLocal();
  const before = await world().client.get(ClusterVersion, { name: 'version' });
  await world().client.delete(ClusterVersion, { name: 'version' });
  await createUpgrade(world().client);
  world().startOperator();
  await world().untilSaid(
    'ClusterVersionFound',
    'there is no ClusterVersion named version to upgrade by: install a cluster version operator',
  );
  expect((await world().history())[0]).toMatchObject({ version: TARGET, phase: 'New' });
  await eventually(async () => (await world().eventReasons()).includes('ClusterVersionMissing'), 'the event');

  const { metadata } = await world().client.create(ClusterVersion, { metadata: { name: 'version' }, spec: before?.spec });
  await world().client.patch(ClusterVersion, { name: metadata.name }, { status: before?.status }, { type: 'merge', subresource: 'status' });
  await world().untilPhase('Upgraded');
  expect((await world().history())[0]?.precedingVersion).toBe('4.14.9');
  expect((await world().condition('ClusterVersionFound'))?.status).toBe('True');
});
