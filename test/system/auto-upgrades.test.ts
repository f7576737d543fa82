import { Annotation, findCondition } from '@flotilla/api';
import { Event, Namespace } from '@flotilla/api/core';
import { CLUSTER_AVAILABLE, ManagedCluster, Policy, transportCrds } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { startPolicyPropagator } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { placePolicy } from '../fixtures/placed-policies.ts';
import { eachAttempt } from '../integration/world.ts';
import { type ChartHub, OWNER_REFERENCES_ENFORCED, startChartHub } from './chart-hub.ts';

let world: ChartHub;
let admin: Client;

eachAttempt(
  async () => {
    world = await startChartHub({
      values: [],
      apiServer: { flags: [OWNER_REFERENCES_ENFORCED], crds: [...transportCrds(), ...policyCrds()] },
    });
    admin = await world.server.client();
    await world.startHub([], { AUTO_UPGRADES: 'true' });
  },
  async () => {
    await world?.[Symbol.asyncDispose]();
  },
);

const upgradeOf = (name: string) => admin.get(ClusterGroupUpgrade, { namespace: 'ztp-install', name });
const labelsOf = async (name: string) => (await admin.get(ManagedCluster, { name }))?.metadata.labels;
/** Waits until the cluster says that its upgrade is done. */
const untilDone = (name: string) => eventually(async () => (await labelsOf(name))?.['ztp-done'] === '', `${name} to be done`, 60_000);

/** A cluster as an import leaves it: with its namespace and its copies of policies, not available yet. */
async function importCluster(
  name: string,
  waves: Readonly<Record<string, string | undefined>>,
  labels: Readonly<Record<string, string>> = {},
) {
  await admin.create(Namespace, { metadata: { name } });
  await admin.create(ManagedCluster, { metadata: { name, labels: { name, ...labels } }, spec: { hubAcceptsClient: true } });
  for (const [policy, wave] of Object.entries(waves)) {
    const annotations: Record<string, string> = wave === undefined ? {} : { [Annotation.deployWave]: wave };
    await admin.create(Policy, {
      metadata: {
        name: `policies.${policy}`,
        namespace: name,
        annotations,
        labels: { 'policy.open-cluster-management.io/root-policy': `policies.${policy}` },
      },
      spec: { disabled: false, remediationAction: 'inform', 'policy-templates': [] },
    });
  }
}

async function becomeAvailable(name: string): Promise<void> {
  const condition = {
    type: CLUSTER_AVAILABLE,
    status: 'True',
    reason: 'ManagedClusterAvailable',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await admin.patch(ManagedCluster, { name }, { status: { conditions: [condition] } }, { type: 'merge', subresource: 'status' });
}

test('a cluster that becomes available gets an upgrade over its policies in the order of their waves', async () => {
  await importCluster('spoke-1', { third: '10', first: '-1', none: undefined, second: '2' });
  // Available later than spoke-1 and seen after it: had spoke-1 been taken as available, its upgrade would be there.
  await importCluster('spoke-0', {});
  await becomeAvailable('spoke-0');
  await eventually(() => upgradeOf('spoke-0'));
  expect(await upgradeOf('spoke-1')).toBeUndefined();
  await becomeAvailable('spoke-1');
  const upgrade = await eventually(() => upgradeOf('spoke-1'));
  const cluster = await admin.get(ManagedCluster, { name: 'spoke-1' });
  expect(upgrade).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'ManagedCluster', name: 'spoke-1', uid: cluster?.metadata.uid, controller: true }] },
    spec: {
      enable: true,
      clusters: ['spoke-1'],
      managedPolicies: ['first', 'second', 'third'],
      remediationStrategy: { maxConcurrency: 1 },
      actions: {
        beforeEnable: { addClusterLabels: { 'ztp-running': '' } },
        afterCompletion: { addClusterLabels: { 'ztp-done': '' }, removeClusterLabels: ['ztp-running'] },
      },
    },
  });
});

test('a cluster without policies is done at once', async () => {
  await untilDone('spoke-0');
  expect(await labelsOf('spoke-0')).toEqual({ name: 'spoke-0', 'ztp-done': '' });
});

test('one that has been upgraded already gets none, until the label that says so is removed', async () => {
  await importCluster('spoke-2', {}, { 'ztp-done': '' });
  await becomeAvailable('spoke-2');
  await importCluster('spoke-3', {});
  await becomeAvailable('spoke-3');
  await eventually(() => upgradeOf('spoke-3'));
  expect(await upgradeOf('spoke-2')).toBeUndefined();
  await admin.patch(ManagedCluster, { name: 'spoke-2' }, { metadata: { labels: { 'ztp-done': null } } }, { type: 'merge' });
  await eventually(() => upgradeOf('spoke-2'));
});

test('a wave that is no number is told, and when it is mended the upgrade is created', async () => {
  await importCluster('spoke-4', { good: '1', bad: 'first' });
  await becomeAvailable('spoke-4');
  const event = await eventually(async () => {
    const { items } = await admin.list(Event, { namespace: 'default' });
    return items.find(({ reason, regarding }) => reason === 'CguNotCreated' && regarding?.name === 'spoke-4');
  });
  expect(event.note).toContain('policies.bad is "first": set it to a whole number');
  expect(await upgradeOf('spoke-4')).toBeUndefined();
  const annotations = { [Annotation.deployWave]: '0' };
  await admin.patch(Policy, { namespace: 'spoke-4', name: 'policies.bad' }, { metadata: { annotations } }, { type: 'merge' });
  expect((await eventually(() => upgradeOf('spoke-4'))).spec?.managedPolicies).toEqual(['bad', 'good']);
});

test('an upgrade that is deleted before the cluster is done is created again', async () => {
  const { metadata } = await eventually(() => upgradeOf('spoke-1'));
  await admin.delete(ClusterGroupUpgrade, metadata);
  await eventually(
    async () => {
      const next = await upgradeOf('spoke-1');
      return next !== undefined && next.metadata.uid !== metadata.uid;
    },
    'the next upgrade of spoke-1',
    90_000,
  );
});

/** Last: the propagator takes the copies away that no author wrote. */
test('a cluster is brought to its policies wave by wave, and then it is labelled as done', async () => {
  const [first, second] = ['policies/sooner', 'policies/later'];
  await using propagator = await startPolicyPropagator({ client: admin, seed: 1, compliance: { seconds: 0.3, jitter: 0 } });
  propagator.script(first, 'spoke-5', { never: true });
  await importCluster('spoke-5', {});
  for (const [name, wave] of Object.entries({ later: '2', sooner: '1' }))
    await placePolicy(admin, name, { clusters: ['spoke-5'], annotations: { [Annotation.deployWave]: wave } });
  for (const name of ['later', 'sooner'])
    await eventually(async () => (await admin.get(Policy, { namespace: 'policies', name }))?.status?.compliant === 'NonCompliant');
  const happened = () => propagator.events.filter(({ cluster }) => cluster === 'spoke-5').map(({ policy, what }) => `${policy} ${what}`);
  await becomeAvailable('spoke-5');
  await eventually(() => happened().includes(`${first} enforced`), 'the first policy to be enforced', 60_000);
  expect(await labelsOf('spoke-5')).toEqual({ name: 'spoke-5', 'ztp-running': '' });

  propagator.script(first, 'spoke-5', {});
  await untilDone('spoke-5');
  expect(await labelsOf('spoke-5')).toEqual({ name: 'spoke-5', 'ztp-done': '' });
  expect(happened().filter((text) => / (enforced|Compliant)$/.test(text))).toEqual([
    `${first} enforced`,
    `${first} Compliant`,
    `${second} enforced`,
    `${second} Compliant`,
  ]);
  await eventually(async () => findCondition((await upgradeOf('spoke-5'))?.status?.conditions, 'Succeeded')?.status === 'True');
});
