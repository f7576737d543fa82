import { ManagedCluster, Placement } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { RolloutWorld, spokeNames } from './world.ts';

const test = testIn(() => {
  const fleets = { long: 2, empty: 2, label: 2, gone: 3, copied: 2, taken: 3, part: 2 };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

test.concurrent('an upgrade and a policy with long names: their Placements have names that the placement controller takes', async ({
  world,
}) => {
  const clusters = spokeNames(2, 'long');
  const policies = ['first', 'second'].map((which) => `du-upgrade-operators-and-everything-${which}`);
  await world.policies(clusters, Object.fromEntries(policies.map((name) => [name, {}])));
  const name = 'long-name-of-the-upgrade-of-all-far-edge-sites-in-the-north';
  await world.upgrade(name, clusters, policies);
  await world.untilCompleted(name);
  const seen = world.history(name).sights.flatMap(({ status }) => status.placements ?? []);
  expect(new Set(seen).size).toBe(2);
  for (const placement of seen) expect(placement).toMatch(/^long-name-of-the-upgrade-[-a-z0-9]{1,38}$/);
});

test.concurrent('a Placement that selects nobody is told by cluster after ten seconds, and no longer once it does', async ({ world }) => {
  const clusters = spokeNames(2, 'empty');
  const namespace = 'empty-policies';
  await world.policies(clusters, { 'empty-p': { namespace, decided: true } });
  world.propagator.setBound(namespace, 'empty');
  await world.upgrade('empty', clusters, ['empty-p']);
  await world.untilCondition('empty', 'Progressing', 'True InProgress: Remediating non-compliant policies');
  const startedAt = Date.now();
  await world.untilCondition(
    'empty',
    'Progressing',
    /^True WaitingForPlacement: Placement "empty-empty-p-placement-[a-z0-9]{5}" in namespace "empty-policies" does not select clusters \[empty-1 empty-2\]: AllManagedClusterSetsEmpty: All ManagedClusterSets \[global\] have no member ManagedCluster\. To correct it: make the clusters members/,
  );
  expect(Date.now() - startedAt).toBeGreaterThan(5000);
  world.propagator.setBound(namespace, true);
  await world.untilCompleted('empty');
});

test.concurrent('a cluster under the label of another one is a finding that names it; mended, the upgrade goes on', async ({ world }) => {
  const clusters = spokeNames(2, 'label');
  await world.policies(clusters, { 'label-p': { decided: true } });
  const relabel = (name: string | null) =>
    world.client.patch(ManagedCluster, { name: 'label-2' }, { metadata: { labels: { name } } }, { type: 'merge' });
  await relabel('label-x');
  await world.upgrade('label', clusters, ['label-p']);
  await world.untilCondition(
    'label',
    'Validated',
    'False InvalidNameLabel: ManagedCluster label-2 has the label name="label-x", by which no Placement selects it; set it to "label-2"',
  );
  await relabel('label-2');
  await world.untilCompleted('label');
});

const relabel = (world: RolloutWorld, cluster: string, name: string) =>
  world.client.patch(ManagedCluster, { name: cluster }, { metadata: { labels: { name } } }, { type: 'merge' });
const surplus = (stranger: string, taken: string) =>
  new RegExp(
    `^True UnexpectedCluster: Placement ".*" in namespace "policies" selects ManagedCluster ${stranger}, whose label name is "${taken}", the name of another cluster; its policy is enforced on nobody; set the label name of ManagedCluster ${stranger} to "${stranger}"$`,
  );
/** The cluster has a copy of the policy that was ever enforced. */
const wasEnforced = (world: RolloutWorld, policy: string, cluster: string) => world.happened(policy, cluster).includes('enforced');

test.concurrent('a cluster that carries the label of a member is never enforced with it; without the label the upgrade goes on', async ({
  world,
}) => {
  const clusters = spokeNames(2, 'copied');
  await world.policies(clusters, { 'copied-p': { decided: true } });
  await relabel(world, 'copied-2', 'copied-1');
  await world.upgrade('copied', ['copied-1'], ['copied-p']);
  await world.untilCondition('copied', 'Progressing', surplus('copied-2', 'copied-1'));
  expect(await world.condition('copied', 'Stalled')).toMatch(surplus('copied-2', 'copied-1'));
  expect((await world.objectsOf('copied')).bindings).toEqual([]);
  await relabel(world, 'copied-2', 'copied-2');
  await world.untilCompleted('copied');
  expect(await world.condition('copied', 'Stalled')).toBeUndefined();
  expect(clusters.map((cluster) => wasEnforced(world, 'copied-p', cluster))).toEqual([true, false]);
});

test.concurrent('one that takes the label in flight ends the enforcement at once, also of a member of another batch', async ({ world }) => {
  const clusters = spokeNames(3, 'taken');
  await world.policies(clusters, { 'taken-p': { decided: true } });
  for (const cluster of clusters) world.propagator.script('policies/taken-p', cluster, { never: true });
  await world.upgrade('taken', ['taken-1', 'taken-2'], ['taken-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await eventually(() => wasEnforced(world, 'taken-p', 'taken-1'), 'the policy to be enforced');
  for (const stranger of ['taken-3', 'taken-2']) {
    await relabel(world, stranger, 'taken-1');
    await world.untilCondition('taken', 'Progressing', surplus(stranger, 'taken-1'));
    // Conditions and bindings have reconcilers of their own.
    await eventually(async () => (await world.objectsOf('taken')).bindings.length === 0, 'the binding to be removed', 10_000);
    await relabel(world, stranger, stranger);
    await world.untilCondition('taken', 'Progressing', 'True InProgress: Remediating non-compliant policies');
    await eventually(async () => (await world.objectsOf('taken')).bindings.length === 1, 'the policy to be bound again');
  }
  for (const cluster of ['taken-1', 'taken-2']) world.propagator.script('policies/taken-p', cluster, {});
  await world.untilCompleted('taken');
});

test.concurrent('a member that the placement controller refuses is named, and delays nobody else', async ({ world }) => {
  const clusters = spokeNames(2, 'part');
  await world.policies(clusters, { 'part-p': { decided: true } });
  const taints = [{ key: 'site/away', effect: 'NoSelect' }];
  await world.client.patch(ManagedCluster, { name: 'part-2' }, { spec: { taints } }, { type: 'merge' });
  await world.upgrade('part', clusters, ['part-p']);
  await eventually(async () => (await world.recorded('part')).includes('part-1: complete'), 'the first to be complete');
  await world.untilCondition(
    'part',
    'Progressing',
    /^True WaitingForPlacement: .*does not select clusters \[part-2\]: not selected: it selects 1 of 2\./,
  );
  await world.client.patch(ManagedCluster, { name: 'part-2' }, { spec: { taints: null } }, { type: 'merge' });
  await world.untilCompleted('part');
});

test.concurrent('Placements without clusters are no error to the placement controller, and deleting upgrades is silent', async ({
  world,
}) => {
  const clusters = spokeNames(3, 'gone');
  await world.policies(clusters, { 'gone-p': {} });
  for (const cluster of clusters) world.propagator.script('policies/gone-p', cluster, { never: true });
  const names = Array.from({ length: 5 }, (_, index) => `gone-${index}`);
  for (const name of names) await world.upgrade(name, clusters, ['gone-p'], { enable: false });
  for (const name of names) await world.untilCondition(name, 'Progressing', 'False NotEnabled: Not enabled');
  const conditions = async (upgrade: string) =>
    (await world.objectsOf(upgrade)).placements.flatMap((placement) => Placement.schema.parse(placement).status?.conditions ?? []);
  await eventually(async () => (await conditions('gone-0')).length === 2, 'the placement controller to answer');
  expect((await conditions('gone-0')).map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
    'PlacementSatisfied False NoManagedClusterMatched',
    'PlacementMisconfigured False Succeedconfigured',
  ]);
  for (const name of names) {
    await world.delete(name);
    await eventually(async () => (await world.get(name)) === undefined, `${name} to be gone`);
  }
  const lines = (await world.hub?.output())?.split('\n').filter((line) => line.includes('"warn"') && /default\/gone-/.test(line));
  expect(lines).toEqual([]);
});
