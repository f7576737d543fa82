import { findCondition } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const TOO_LONG = 'False TimedOut: Policy remediation took too long';

const test = testIn(() => {
  const fleets = { whole: 2, frozen: 4, soak: 2, nosoak: 1, relapse: 2 };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

const neverOn = (world: RolloutWorld, policy: string, ...clusters: string[]) => {
  for (const cluster of clusters) world.propagator.script(`policies/${policy}`, cluster, { never: true });
};

test.concurrent('the whole upgrade times out when its time is cut short while it runs', async ({ world }) => {
  const clusters = spokeNames(2, 'whole');
  await world.policies(clusters, { 'whole-p': {} });
  neverOn(world, 'whole-p', 'whole-2');
  await world.upgrade('whole', clusters, ['whole-p']);
  await eventually(async () => (await world.recorded('whole')).includes('whole-1: complete'), 'the first to be complete', 60_000);
  expect(await world.condition('whole', 'Progressing')).toBe(REMEDIATING);
  await world.edit('whole', { remediationStrategy: { timeout: 0 } });
  await world.untilCondition('whole', 'Succeeded', TOO_LONG, 10_000);
  expect(await world.condition('whole', 'Progressing')).toBe(TOO_LONG);
  expect(await world.recorded('whole')).toEqual(['whole-1: complete', 'whole-2: timedout']);
  await world.untilEnded('whole');
  await world.untilObjectsGone('whole');
});

test.concurrent('while it runs, edits of enable, clusters, policies and maxConcurrency change nothing', async ({ world }) => {
  const clusters = spokeNames(4, 'frozen');
  await world.policies(clusters, { 'frozen-p': {} });
  neverOn(world, 'frozen-p', 'frozen-1');
  await world.upgrade('frozen', clusters.slice(0, 3), ['frozen-p'], { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
  await eventually(async () => (await world.recorded('frozen')).includes('frozen-2: complete'), 'the second to be complete', 60_000);
  const before = (await world.get('frozen'))?.status;
  await world.edit('frozen', {
    enable: false,
    clusters: ['frozen-4', 'no-such-cluster'],
    managedPolicies: ['no-such-policy'],
    remediationStrategy: { maxConcurrency: 1 },
  });
  // The next transition is decided after the edits were seen.
  world.propagator.script('policies/frozen-p', 'frozen-1', {});
  await world.untilCompleted('frozen');
  const after = (await world.get('frozen'))?.status;
  expect(after?.remediationPlan).toEqual([['frozen-1', 'frozen-2'], ['frozen-3']]);
  expect(after?.computedMaxConcurrency).toBe(before?.computedMaxConcurrency);
  // Each look dates a condition; what it says is of the time before the start.
  const said = (status: typeof after, type: string) => ({ ...findCondition(status?.conditions, type), observedGeneration: undefined });
  for (const type of ['ClustersSelected', 'Validated']) expect(said(after, type)).toEqual(said(before, type));
  const ignored = findCondition(after?.conditions, 'EditsIgnored')?.message;
  for (const field of ['enable', 'clusters', 'managedPolicies', 'remediationStrategy.maxConcurrency'])
    expect(ignored).toContain(`spec.${field}`);
  expect((await world.recorded('frozen')).sort()).toEqual(clusters.slice(0, 3).map((cluster) => `${cluster}: complete`));
  expect(world.happened('frozen-p', 'frozen-4')).toEqual(['NonCompliant']);
});

test.concurrent('a policy with a soak must stay compliant for it; a relapse begins it anew', async ({ world }) => {
  const clusters = spokeNames(2, 'soak');
  await world.policies(clusters, { 'soak-base': { annotations: { 'ran.openshift.io/soak-seconds': '3' } }, 'soak-app': {} });
  world.propagator.script('policies/soak-base', 'soak-2', { relapse: { afterSeconds: 1, recoverSeconds: 1.5 } });
  await world.upgrade('soak', clusters, ['soak-base', 'soak-app']);
  await eventually(() =>
    world.history('soak').sights.some(({ status: { status } }) => status.currentBatchRemediationProgress?.['soak-1']?.firstCompliantAt),
  );
  await world.untilCompleted('soak');
  const soaked = (cluster: string) => {
    const compliant = world.propagator.events.findLast(
      (each) => each.policy === 'policies/soak-base' && each.cluster === cluster && each.what === 'Compliant',
    );
    return (world.happenedAt('soak-app', cluster, 'enforced') ?? 0) - (compliant?.atMs ?? 0);
  };
  expect(world.happened('soak-base', 'soak-2').slice(0, 5)).toEqual(['NonCompliant', 'enforced', 'Compliant', 'NonCompliant', 'Compliant']);
  for (const cluster of clusters) {
    expect(soaked(cluster), cluster).toBeGreaterThanOrEqual(2900);
    expect(soaked(cluster), cluster).toBeLessThan(15_000);
  }
});

test.concurrent('a soak that is no number is refused with field and value, and taken once it is one', async ({ world }) => {
  await world.policies(['nosoak-1'], { 'nosoak-p': { annotations: { 'ran.openshift.io/soak-seconds': '30m' } } });
  await world.upgrade('nosoak', ['nosoak-1'], ['nosoak-p']);
  await world.untilCondition(
    'nosoak',
    'Validated',
    'False InvalidSoak: annotation ran.openshift.io/soak-seconds of policy policies/nosoak-p is "30m", not a whole number of seconds',
  );
  const metadata = { annotations: { 'ran.openshift.io/soak-seconds': '1' } };
  await world.client.patch(Policy, { namespace: 'policies', name: 'nosoak-p' }, { metadata }, { type: 'merge' });
  await world.untilCompleted('nosoak');
});

test.concurrent('at the end every cluster must comply, those of earlier batches too', async ({ world }) => {
  const clusters = spokeNames(2, 'relapse');
  await world.policies(clusters, { 'relapse-p': {} });
  neverOn(world, 'relapse-p', 'relapse-2');
  await world.upgrade('relapse', clusters, ['relapse-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('relapse', 'relapse-2');
  await world.untilReleased('relapse-p', 'relapse-1');
  world.propagator.report('policies/relapse-p', 'relapse-1', 'NonCompliant');
  world.propagator.script('policies/relapse-p', 'relapse-2', {});
  await eventually(async () => (await world.recorded('relapse')).includes('relapse-2: complete'), 'the last to be complete', 60_000);
  expect(await world.condition('relapse', 'Succeeded')).toBeUndefined();
  world.propagator.report('policies/relapse-p', 'relapse-1', 'Compliant');
  await world.untilCompleted('relapse');
});
