import { Annotation } from '@flotilla/api';
import { ManagedCluster, ManagedClusterAction, ManagedClusterView, ManifestWork } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { createTemplate } from '../../fixtures/work-templates.ts';
import { testIn } from '../world.ts';
import { installOperator, playUpgrade, subscription } from './operators.ts';
import { RolloutWorld, spokeNames } from './world.ts';

/** What the reference does where Flotilla would do otherwise, on a hub with `--talm-strict`. */
const test = testIn(() => {
  const fleets = { silent: 3, work: 1 };
  return RolloutWorld.start({
    spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
    hubArgs: ['--talm-strict'],
    simulated: { work: { seconds: 0.5, jitter: 0 } },
  });
});

/** Takes the conditions of a ManagedCluster away, as if no agent had ever said anything. */
const silence = (world: RolloutWorld, name: string) =>
  world.client.patch(ManagedCluster, { name }, { status: { conditions: [] } }, { type: 'merge', subresource: 'status' });
const stateOf = async (world: RolloutWorld, upgrade: string, cluster: string) =>
  (await world.get(upgrade))?.status?.status.currentBatchRemediationProgress?.[cluster];
const actionsIn = async (world: RolloutWorld, cluster: string) =>
  (await world.client.list(ManagedClusterAction, { namespace: cluster })).items.map(({ metadata }) => metadata.name);

test.concurrent('a cluster of which nothing is said is upgraded, one that is away waits; names of views stay until the end, approvals longer', async ({
  world,
}) => {
  const clusters = spokeNames(3, 'silent');
  await silence(world, 'silent-1');
  await world.setAvailable('silent-3', false);
  for (const cluster of ['silent-1', 'silent-2']) installOperator(world, cluster, 'operator');
  world.propagator.script('policies/silent-op', 'silent-3', { never: true });
  await world.policies(clusters, { 'silent-op': { objects: [subscription('operator')] } });
  const played = ['silent-1', 'silent-2'].map((cluster) =>
    playUpgrade(world, { cluster, policy: 'policies/silent-op', plan: 'install-silent', operators: ['operator'] }),
  );
  const spec = { actions: { afterCompletion: { addClusterLabels: { over: '' } } } };
  await world.upgrade('silent', clusters, ['silent-op'], spec, { [Annotation.nameSuffix]: 'first' });
  await world.untilInProgress('silent', 'silent-3');
  const names = { '/silent-default-subscription-operator': 'silent-default-subscription-operator-first' };
  expect((await world.get('silent'))?.status?.safeResourceNames).toMatchObject(names);
  // In mid-run the annotation changes nothing.
  await world.annotate('silent', { [Annotation.nameSuffix]: 'second' });
  await Promise.all(played);
  const recorded = async () => (await world.recorded('silent')).toSorted().join();
  await eventually(async () => (await recorded()) === 'silent-1: complete,silent-2: complete', 'both to complete', 60_000);
  expect((await world.get('silent'))?.status?.safeResourceNames).toMatchObject(names);
  for (const cluster of ['silent-1', 'silent-2']) expect(await actionsIn(world, cluster)).toEqual(['install-silent']);
  expect(await stateOf(world, 'silent', 'silent-3')).toMatchObject({ state: 'InProgress', policyIndex: 0 });
  expect(await actionsIn(world, 'silent-3')).toEqual([]);

  await world.edit('silent', { remediationStrategy: { timeout: 0 } });
  await world.untilCondition('silent', 'Succeeded', 'False TimedOut: Policy remediation took too long');
  await world.untilEnded('silent');
  const viewsIn = async (cluster: string) => (await world.client.list(ManagedClusterView, { namespace: cluster })).items;
  for (const cluster of ['silent-1', 'silent-2']) {
    await eventually(async () => (await viewsIn(cluster)).length === 0, `the views of ${cluster} to be gone`);
    expect(await actionsIn(world, cluster)).toEqual(['install-silent']);
  }
  const { status } = (await world.get('silent')) ?? {};
  for (const field of ['safeResourceNames', 'placements', 'placementBindings']) expect(status).not.toHaveProperty(field);
});

test.concurrent('with nothing to remediate the text of a rollout of works is that of policies', async ({ world }) => {
  await createTemplate(world.client, 'none-t');
  await world.upgrade('none', [], [], {
    clusters: undefined,
    clusterLabelSelectors: [{ matchLabels: { nobody: 'has' } }],
    manifestWorkTemplates: ['none-t'],
  });
  await world.untilCondition('none', 'Progressing', 'False Completed: All clusters are compliant with all the managed policies');
  await world.untilCondition('none', 'Succeeded', 'True Completed: All clusters already compliant with the specified managed policies');
});

test.concurrent('a work is its template to the letter, and a status beyond its generation counts', async ({ world }) => {
  world.spokes.disconnect('work-1');
  await createTemplate(world.client, 'work-t', { expected: '' });
  await world.upgrade('work', ['work-1'], [], { manifestWorkTemplates: ['work-t'] });
  const found = async () => (await world.client.list(ManifestWork, { namespace: 'work-1' })).items[0];
  await eventually(async () => (await found()) !== undefined, 'the work', 60_000);
  const work = await found();
  expect(work?.spec?.manifestConfigs?.[0]?.feedbackRules).toEqual([{ type: 'WellKnownStatus' }]);
  const condition = (type: string) => ({
    type,
    status: 'True',
    reason: 'Test',
    message: '',
    observedGeneration: 7,
    lastTransitionTime: new Date().toISOString(),
  });
  const status = { conditions: [condition('Applied'), condition('Available')] };
  const ref = { namespace: 'work-1', name: work?.metadata.name ?? '' };
  await world.client.patch(ManifestWork, ref, { status }, { type: 'merge', subresource: 'status' });
  await world.untilCondition('work', 'Succeeded', 'True Completed: All manifestworks rolled out successfully on all clusters');
});
