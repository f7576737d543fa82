import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { expectOrderlyBatches } from './orderly.ts';
import { REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const TOO_LONG = 'False TimedOut: Policy remediation took too long';
/** Six batches of one cluster in a minute: the first has ten seconds. */
const ONE_BY_ONE = { maxConcurrency: 1, timeout: 1 };
const FIRST_BATCH_MS = 10_000;

const test = testIn(() => {
  const fleets = { canary: 6, go: 6, stop: 6, whole: 2, frozen: 4, soak: 2, nosoak: 1, relapse: 2 };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

/** Milliseconds between two sights of the upgrade's status. */
const startOfFirstBatch = (world: RolloutWorld, name: string) => Date.parse(world.history(name).batchStarts()[0]?.startedAt ?? '');
const neverOn = (world: RolloutWorld, policy: string, ...clusters: string[]) => {
  for (const cluster of clusters) world.propagator.script(`policies/${policy}`, cluster, { never: true });
};

/** When the watch first saw a cluster recorded. */
const recordedAt = (world: RolloutWorld, name: string, cluster: string) =>
  world.history(name).sights.find(({ status }) => status.clusters?.some((each) => each.name === cluster))?.atMs ?? Number.NaN;

/** Exact timers: at the time, not at the next look; a start in the status has lost its fraction of a second. */
function expectOnTime(world: RolloutWorld, name: string, cluster: string): void {
  const took = recordedAt(world, name, cluster) - startOfFirstBatch(world, name);
  expect(took).toBeGreaterThanOrEqual(FIRST_BATCH_MS - 1000);
  expect(took).toBeLessThan(FIRST_BATCH_MS + 3000);
}

test.concurrent('a canary that does not get there in its time ends the upgrade before anybody else is touched', async ({ world }) => {
  const clusters = spokeNames(6, 'canary');
  await world.policies(clusters, { 'canary-p': {} });
  neverOn(world, 'canary-p', 'canary-4');
  await world.upgrade('canary', clusters, ['canary-p'], { remediationStrategy: { ...ONE_BY_ONE, canaries: ['canary-4'] } });
  await world.untilCondition('canary', 'Succeeded', `${TOO_LONG} on canary clusters`);
  expect(await world.condition('canary', 'Progressing')).toBe(`${TOO_LONG} on canary clusters`);
  await world.untilEnded('canary');
  expectOnTime(world, 'canary', 'canary-4');
  const { status } = (await world.get('canary')) ?? {};
  expect(status?.clusters).toEqual([{ name: 'canary-4', state: 'timedout', currentPolicy: { name: 'canary-p', status: 'NonCompliant' } }]);
  for (const cluster of clusters)
    if (cluster !== 'canary-4') expect(world.happened('canary-p', cluster), cluster).toEqual(['NonCompliant']);
  await world.untilObjectsGone('canary');
});

test.concurrent('after a batch that timed out the others go on; who timed out is no longer enforced, and counts when it gets there', async ({
  world,
}) => {
  const clusters = spokeNames(6, 'go');
  await world.policies(clusters, { 'go-p': {} });
  neverOn(world, 'go-p', 'go-1');
  await world.upgrade('go', clusters, ['go-p'], { remediationStrategy: ONE_BY_ONE, batchTimeoutAction: 'Continue' });
  await eventually(async () => (await world.recorded('go')).length === 6, 'every cluster to be recorded', 60_000);
  expectOnTime(world, 'go', 'go-1');
  const { status } = (await world.get('go')) ?? {};
  expect(status?.clusters).toEqual([
    { name: 'go-1', state: 'timedout', currentPolicy: { name: 'go-p', status: 'NonCompliant' } },
    ...clusters.slice(1).map((name) => ({ name, state: 'complete' })),
  ]);
  await world.untilReleased('go-p', 'go-1');
  expect(world.happened('go-p', 'go-1')).toEqual(['NonCompliant', 'enforced', 'released']);
  expect(await world.condition('go', 'Progressing')).toBe(REMEDIATING);
  await expectOrderlyBatches(world, 'go');
  world.propagator.report('policies/go-p', 'go-1', 'Compliant');
  await world.untilCompleted('go');
  expect((await world.recorded('go'))[0]).toBe('go-1: timedout');
});

test.concurrent('with Abort a batch that timed out ends the upgrade', async ({ world }) => {
  const clusters = spokeNames(6, 'stop');
  await world.policies(clusters, { 'stop-p': {} });
  neverOn(world, 'stop-p', 'stop-1');
  await world.upgrade('stop', clusters, ['stop-p'], { remediationStrategy: ONE_BY_ONE, batchTimeoutAction: 'Abort' });
  await world.untilCondition('stop', 'Succeeded', `${TOO_LONG} on some clusters`);
  expect(await world.condition('stop', 'Progressing')).toBe(`${TOO_LONG} on some clusters`);
  await world.untilEnded('stop');
  expectOnTime(world, 'stop', 'stop-1');
  expect(await world.recorded('stop')).toEqual(['stop-1: timedout']);
  expect(world.happened('stop-p', 'stop-2')).toEqual(['NonCompliant']);
  await world.untilObjectsGone('stop');
  await world.untilReleased('stop-p', 'stop-1');
  expect(world.happened('stop-p', 'stop-1')).toEqual(['NonCompliant', 'enforced', 'released']);
});

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
  expect(after?.conditions?.slice(0, 2)).toEqual(before?.conditions?.slice(0, 2));
  expect((await world.recorded('frozen')).sort()).toEqual(clusters.slice(0, 3).map((cluster) => `${cluster}: complete`));
  expect(world.happened('frozen-p', 'frozen-4')).toEqual(['NonCompliant']);
});

test.concurrent('a policy with a soak must stay compliant for it; a relapse begins it anew', async ({ world }) => {
  const clusters = spokeNames(2, 'soak');
  await world.policies(clusters, { 'soak-base': { annotations: { 'ran.openshift.io/soak-seconds': '3' } }, 'soak-app': {} });
  world.propagator.script('policies/soak-base', 'soak-2', { relapse: { afterSeconds: 1.5, recoverSeconds: 0.5 } });
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
    expect(soaked(cluster), cluster).toBeLessThan(7500);
  }
});

test.concurrent('a soak that is no number counts as none', async ({ world }) => {
  await world.policies(['nosoak-1'], { 'nosoak-p': { annotations: { 'ran.openshift.io/soak-seconds': 'long' } } });
  await world.upgrade('nosoak', ['nosoak-1'], ['nosoak-p']);
  await world.untilCompleted('nosoak');
  for (const { status } of world.history('nosoak').sights)
    expect(status.status.currentBatchRemediationProgress?.['nosoak-1']?.firstCompliantAt).toBeUndefined();
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
