import { ManagedCluster, Policy } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { COMPLETED, REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const test = testIn(() => {
  const fleets = { drift: 3, over: 1, counted: 4 };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

/** Another version of a policy, which has to be complied with anew. */
const edit = (world: RolloutWorld, name: string) =>
  world.client.patch(
    Policy,
    { namespace: 'policies', name },
    { spec: { 'policy-templates': [{ objectDefinition: { kind: 'ConfigurationPolicy', metadata: { name: `${name}-edited` } } }] } },
    { type: 'merge' },
  );
const complianceOn = async (world: RolloutWorld, policy: string, cluster: string) =>
  (await world.client.get(Policy, { namespace: 'policies', name: policy }))?.status?.status?.find(
    ({ clustername }) => clustername === cluster,
  )?.compliant;

test.concurrent('a policy that is edited after a batch is enforced there again with the last batch, and the status says where and since when', async ({
  world,
}) => {
  const clusters = spokeNames(3, 'drift');
  await world.policies(clusters, { 'drift-p': {} });
  for (const cluster of ['drift-2', 'drift-3']) world.propagator.script('policies/drift-p', cluster, { never: true });
  await world.upgrade('drift', clusters, ['drift-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('drift', 'drift-2');
  await world.untilReleased('drift-p', 'drift-1');
  await edit(world, 'drift-p');
  await eventually(async () => (await complianceOn(world, 'drift-p', 'drift-1')) === 'NonCompliant', 'drift-1 to fall back');

  const told = async () => (await world.get('drift'))?.status?.waits?.find(({ names }) => names.includes('drift-1'));
  await eventually(async () => (await told()) !== undefined, 'it to be told', 60_000);
  expect(await told()).toEqual({
    cause: 'policy',
    for: 'policy drift-p to be compliant again',
    clusters: 1,
    names: ['drift-1'],
    since: expect.stringMatching(/^2\d{3}-.*Z$/),
  });
  const why = 'does not comply with policy drift-p any more; the policy is enforced there again with the last batch';
  expect(await world.condition('drift', 'Progressing')).toBe(`${REMEDIATING} (cluster drift-1: ${why})`);
  expect(await world.recorded('drift')).toEqual(['drift-1: complete']);

  const { since } = (await told()) ?? {};
  world.propagator.script('policies/drift-p', 'drift-2', {});
  await world.untilInProgress('drift', 'drift-3');
  expect((await told())?.since).toBe(since);
  world.propagator.script('policies/drift-p', 'drift-3', {});
  await world.untilCompleted('drift', 60_000);
  expect(world.happened('drift-p', 'drift-1').filter((what) => what === 'enforced')).toHaveLength(2);
  expect((await world.recorded('drift')).toSorted()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
});

test.concurrent('after its end an upgrade enforces nothing, whatever becomes of its policies', async ({ world }) => {
  await world.policies(['over-1'], { 'over-p': {} });
  await world.upgrade('over', ['over-1'], ['over-p']);
  await world.untilCompleted('over');
  await world.untilObjectsGone('over');
  await world.untilReleased('over-p', 'over-1');
  const before = await world.get('over');
  await edit(world, 'over-p');
  await eventually(async () => (await complianceOn(world, 'over-p', 'over-1')) === 'NonCompliant', 'over-1 to fall back');
  expect(await world.condition('over', 'Succeeded')).toBe(`True ${COMPLETED}`);
  expect((await world.get('over'))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

test.concurrent('at rest a running upgrade costs no writes', async ({ world }) => {
  const clusters = spokeNames(4, 'counted');
  await world.policies(clusters, { 'counted-p': {} });
  world.propagator.script('policies/counted-p', 'counted-1', { never: true });
  await world.upgrade('counted', clusters, ['counted-p']);
  await eventually(async () => (await world.recorded('counted')).length === 3, 'all but one to be complete');
  const versions = async () => {
    const { placements, bindings } = await world.objectsOf('counted');
    return [await world.get('counted'), ...placements, ...bindings].map((object) => object?.metadata.resourceVersion);
  };
  const before = await versions();
  expect(before).toHaveLength(3);
  // Other clusters' news wake the hub; it finds nothing to do.
  for (const name of clusters)
    await world.client.patch(ManagedCluster, { name }, { metadata: { labels: { seen: 'yes' } } }, { type: 'merge' });
  await eventually(async () => (await world.labels('counted-4')).seen === 'yes');
  world.propagator.report('policies/counted-p', 'counted-2', 'NonCompliant');
  world.propagator.report('policies/counted-p', 'counted-2', 'Compliant');
  await world.upgrade('counted-2', ['counted-2'], ['counted-p']);
  await world.untilCondition('counted-2', 'Succeeded', /^True/);
  expect(await versions()).toEqual(before);
  expect(await world.condition('counted', 'Progressing')).toBe(REMEDIATING);
});
