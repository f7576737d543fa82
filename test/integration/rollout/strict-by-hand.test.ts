import { Label } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect, test } from 'vitest';
import { eachAttempt, HubWorld, PLATFORM, spokeNames, startSurroundings, upgradeRef } from '../world.ts';

/** A hub with `--talm-strict` on which nobody propagates policies: their statuses are written by hand, as the reference's own cases do. */
let world: HubWorld;
const NAMESPACE = 'by-hand';

eachAttempt(
  async () => {
    const options = {
      spokes: [...spokeNames(2, 'copy'), ...spokeNames(2, 'image')],
      hubArgs: ['--talm-strict'],
      job: { seconds: 0.5, startupMs: 100 },
    };
    world = await new HubWorld(await startSurroundings(options)).begin(options);
    await world.client.create(Namespace, { metadata: { name: NAMESPACE } });
  },
  async () => {
    await world?.stop();
  },
);

const template = (name: string, objectDefinition: object) => ({
  objectDefinition: {
    apiVersion: 'policy.open-cluster-management.io/v1',
    kind: 'ConfigurationPolicy',
    metadata: { name },
    spec: { remediationAction: 'inform', 'object-templates': [{ complianceType: 'musthave', objectDefinition }] },
  },
});
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'wanted', namespace: 'default' } };

/** Creates a root policy and its copies on these clusters. */
async function createPolicy(name: string, clusters: readonly string[], object: object = configMap): Promise<void> {
  const spec = { remediationAction: 'inform', disabled: false, 'policy-templates': [template(name, object)] };
  await world.client.create(Policy, { metadata: { name, namespace: NAMESPACE }, spec });
  const copy = `${NAMESPACE}.${name}`;
  for (const namespace of clusters)
    await world.client.create(Policy, { metadata: { name: copy, namespace, labels: { [Label.rootPolicy]: copy } }, spec });
}

/** Writes the roll-up of a policy. */
async function rollUp(name: string, states: Readonly<Record<string, string>>): Promise<void> {
  const status = Object.entries(states).map(([cluster, compliant]) => ({ clustername: cluster, clusternamespace: cluster, compliant }));
  await world.client.patch(Policy, { namespace: NAMESPACE, name }, { status: { status } }, { type: 'merge', subresource: 'status' });
}

const create = (name: string, clusters: readonly string[], managedPolicies: readonly string[], spec: Record<string, unknown> = {}) =>
  world.client.create(ClusterGroupUpgrade, {
    metadata: upgradeRef(name),
    spec: { clusters, managedPolicies, remediationStrategy: { maxConcurrency: 10, timeout: 240 }, ...spec },
  });
const progressOf = async (name: string) => (await world.get(name))?.status?.status.currentBatchRemediationProgress;

test('a cluster with a copy of a policy but no entry in its roll-up is not matched: it is skipped, and its index goes on', async () => {
  const clusters = spokeNames(2, 'copy');
  for (const name of ['copy-a', 'copy-b']) await createPolicy(name, clusters);
  await rollUp('copy-a', { 'copy-1': 'NonCompliant' });
  await rollUp('copy-b', { 'copy-1': 'NonCompliant', 'copy-2': 'NonCompliant' });
  await create('copy', clusters, ['copy-a', 'copy-b']);
  await eventually(async () => (await progressOf('copy'))?.['copy-2']?.state === 'InProgress', 'copy-2 to be under way', 60_000);
  expect(await progressOf('copy')).toMatchObject({ 'copy-1': { policyIndex: 0 }, 'copy-2': { policyIndex: 1 } });
  // There is no placement controller either: only what the reference tells of Placements is told.
  expect(await world.condition('copy', 'Progressing')).toBe('True InProgress: Remediating non-compliant policies');
  await rollUp('copy-b', { 'copy-1': 'NonCompliant', 'copy-2': 'Compliant' });
  const recorded = async () => ((await world.get('copy'))?.status?.clusters ?? []).map(({ name, state }) => `${name}: ${state}`);
  await eventually(async () => (await recorded()).includes('copy-2: complete'), 'copy-2 to complete', 60_000);
});

test('a cluster that failed pre-caching and complies at the start is complete, with its edits', async () => {
  const clusters = spokeNames(2, 'image');
  world.spokes.setFaults('image-1', { failJob: true });
  const version = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ClusterVersion',
    metadata: { name: 'version' },
    spec: { desiredUpdate: { image: PLATFORM } },
  };
  await createPolicy('image-p', clusters, version);
  await rollUp('image-p', { 'image-1': 'NonCompliant', 'image-2': 'NonCompliant' });
  const actions = { afterCompletion: { addClusterLabels: { edited: '' } } };
  await create('image', clusters, ['image-p'], { preCaching: true, enable: false, actions });
  await world.untilCondition('image', 'PrecachingSuceeded', 'True PartiallyDone: Precaching failed for 1 clusters');
  await rollUp('image-p', { 'image-1': 'Compliant', 'image-2': 'NonCompliant' });
  await world.client.patch(ClusterGroupUpgrade, upgradeRef('image'), { spec: { enable: true } }, { type: 'merge' });
  const entry = async () =>
    (await world.get('image'))?.status?.clusters?.filter(({ name }) => name === 'image-1').map(({ state }) => state);
  await eventually(async () => (await entry())?.join() === 'complete', 'image-1 to be complete', 60_000);
  expect((await world.client.get(ManagedCluster, { name: 'image-1' }))?.metadata.labels).toMatchObject({ edited: '' });
});
