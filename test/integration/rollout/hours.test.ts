import { Annotation, conditionTime, findCondition } from '@flotilla/api';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { testIn } from '../world.ts';
import { expectOrderlyBatches } from './orderly.ts';
import { COMPLETED, REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

/** Stories of hours, one after the other in one world, whose hub has its clock put ahead: what others wait for is not skipped by it. */
const test = testIn(() => {
  const fleets = { canary: 6, go: 6, stop: 6, opens: 1, closes: 2, soak: 1 };
  return RolloutWorld.start({ spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)) });
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const TOO_LONG = 'False TimedOut: Policy remediation took too long';
/** Six batches of one cluster in four hours: the first has forty minutes. */
const ONE_BY_ONE = { maxConcurrency: 1, timeout: 240 };
const FIRST_BATCH_MS = 40 * MINUTE_MS;

const inHours = (world: RolloutWorld, hours: number) => conditionTime(world.clock.now() + hours * HOUR_MS);
const neverOn = (world: RolloutWorld, policy: string, cluster: string) =>
  world.propagator.script(`policies/${policy}`, cluster, { never: true });

/** Goes to the end of the first batch in two strides; nothing happens in the first one. */
async function outlastFirstBatch(world: RolloutWorld, name: string, cluster: string): Promise<void> {
  await world.untilInProgress(name, cluster);
  await eventually(() => world.happened(`${name}-p`, cluster).includes('enforced'), `the policy to be enforced on ${cluster}`);
  await world.untilCondition(name, 'Progressing', REMEDIATING);
  world.clock.skip(FIRST_BATCH_MS - MINUTE_MS);
  expect(await world.recorded(name)).toEqual([]);
  world.clock.skip(MINUTE_MS);
}

/** By the hub's own times: not before the first batch's time was over, and not later than it takes to look. */
async function expectOnTime(world: RolloutWorld, name: string, endedAt: string | undefined): Promise<void> {
  const started = Date.parse(world.history(name).batchStarts()[0]?.startedAt ?? '');
  const took = Date.parse(endedAt ?? '') - started;
  expect(took).toBeGreaterThanOrEqual(FIRST_BATCH_MS - 1000);
  expect(took).toBeLessThan(FIRST_BATCH_MS + MINUTE_MS);
}

const endOf = async (world: RolloutWorld, name: string) =>
  findCondition((await world.get(name))?.status?.conditions, 'Succeeded')?.lastTransitionTime;

test('a canary that does not get there in its time ends the upgrade before anybody else is touched', async ({ world }) => {
  const clusters = spokeNames(6, 'canary');
  await world.policies(clusters, { 'canary-p': {} });
  neverOn(world, 'canary-p', 'canary-4');
  await world.upgrade('canary', clusters, ['canary-p'], { remediationStrategy: { ...ONE_BY_ONE, canaries: ['canary-4'] } });
  await outlastFirstBatch(world, 'canary', 'canary-4');
  await world.untilCondition('canary', 'Succeeded', `${TOO_LONG} on canary clusters`);
  expect(await world.condition('canary', 'Progressing')).toBe(`${TOO_LONG} on canary clusters`);
  await world.untilEnded('canary');
  await expectOnTime(world, 'canary', await endOf(world, 'canary'));
  const { status } = (await world.get('canary')) ?? {};
  expect(status?.clusters).toEqual([{ name: 'canary-4', state: 'timedout', currentPolicy: { name: 'canary-p', status: 'NonCompliant' } }]);
  for (const cluster of clusters)
    if (cluster !== 'canary-4') expect(world.happened('canary-p', cluster), cluster).toEqual(['NonCompliant']);
  await world.untilObjectsGone('canary');
});

test('after a batch that timed out the others go on; who timed out is no longer enforced, and counts when it gets there', async ({
  world,
}) => {
  const clusters = spokeNames(6, 'go');
  await world.policies(clusters, { 'go-p': {} });
  neverOn(world, 'go-p', 'go-1');
  await world.upgrade('go', clusters, ['go-p'], { remediationStrategy: ONE_BY_ONE, batchTimeoutAction: 'Continue' });
  await outlastFirstBatch(world, 'go', 'go-1');
  await eventually(async () => (await world.recorded('go')).length === 6, 'every cluster to be recorded', 60_000);
  await expectOnTime(world, 'go', world.history('go').batchStarts()[1]?.startedAt);
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

test('with Abort a batch that timed out ends the upgrade', async ({ world }) => {
  const clusters = spokeNames(6, 'stop');
  await world.policies(clusters, { 'stop-p': {} });
  neverOn(world, 'stop-p', 'stop-1');
  await world.upgrade('stop', clusters, ['stop-p'], { remediationStrategy: ONE_BY_ONE, batchTimeoutAction: 'Abort' });
  await outlastFirstBatch(world, 'stop', 'stop-1');
  await world.untilCondition('stop', 'Succeeded', `${TOO_LONG} on some clusters`);
  expect(await world.condition('stop', 'Progressing')).toBe(`${TOO_LONG} on some clusters`);
  await world.untilEnded('stop');
  await expectOnTime(world, 'stop', await endOf(world, 'stop'));
  expect(await world.recorded('stop')).toEqual(['stop-1: timedout']);
  expect(world.happened('stop-p', 'stop-2')).toEqual(['NonCompliant']);
  await world.untilObjectsGone('stop');
  await world.untilReleased('stop-p', 'stop-1');
  expect(world.happened('stop-p', 'stop-1')).toEqual(['NonCompliant', 'enforced', 'released']);
});

test('an upgrade with a window waits for its start, and starts then', async ({ world }) => {
  await world.policies(['opens-1'], { 'opens-p': {} });
  const start = inHours(world, 6);
  await world.upgrade('opens', ['opens-1'], ['opens-p'], {}, { [Annotation.windowStart]: start });
  await eventually(async () => (await world.condition('opens', 'Progressing'))?.startsWith('False WaitingForWindow: '), 'the wait');
  const text = await world.condition('opens', 'Progressing');
  expect(text).toContain(start);
  expect(text).toContain(Annotation.windowStart);
  world.clock.skip(5.9 * HOUR_MS);
  expect(await world.condition('opens', 'Progressing')).toBe(text);
  world.clock.skip(0.1 * HOUR_MS);
  await world.untilCompleted('opens');
  const started = Date.parse((await world.get('opens'))?.status?.status.startedAt ?? '');
  expect(started).toBeGreaterThanOrEqual(Date.parse(start));
  expect(started).toBeLessThan(Date.parse(start) + MINUTE_MS);
});

test('a batch that runs when the window ends is finished; the next one waits until the window is moved', async ({ world }) => {
  const clusters = spokeNames(2, 'closes');
  await world.policies(clusters, { 'closes-p': {} });
  neverOn(world, 'closes-p', 'closes-1');
  const window = { [Annotation.windowStart]: inHours(world, -1), [Annotation.windowEnd]: inHours(world, 1) };
  await world.upgrade('closes', clusters, ['closes-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } }, window);
  await world.untilInProgress('closes', 'closes-1');
  await eventually(() => world.happenedAt('closes-p', 'closes-1', 'enforced') !== undefined, 'the policy to be enforced');
  world.clock.skip(HOUR_MS);
  expect(await world.condition('closes', 'Progressing')).toBe(REMEDIATING);
  const waits = async () => (await world.get('closes'))?.status?.waits?.map(({ for: what, names }) => `${names.join()} for ${what}`);
  const waiting = 'closes-2 for batch 1 to end,closes-1 for policy closes-p to be compliant';
  await eventually(async () => String(await waits()) === waiting, 'the status to say who waits for what');
  world.propagator.script('policies/closes-p', 'closes-1', {});
  await eventually(async () => (await world.condition('closes', 'Progressing'))?.startsWith('True WaitingForWindow: '), 'the wait');
  const text = await world.condition('closes', 'Progressing');
  expect(text).toContain(window[Annotation.windowEnd]);
  expect(text).toContain(Annotation.windowEnd);
  expect(await world.recorded('closes')).toEqual(['closes-1: complete']);
  expect(await waits()).toEqual(['closes-2 for the window to open']);
  expect(
    world
      .history('closes')
      .batchStarts()
      .map(({ batch }) => batch),
  ).toEqual([1]);
  await world.annotate('closes', { [Annotation.windowEnd]: inHours(world, 1) });
  await world.untilCompleted('closes');
  expect(await waits()).toBeUndefined();
});

test('a policy that soaks for two hours is left when they are over', async ({ world }) => {
  await world.policies(['soak-1'], { 'soak-base': { annotations: { 'ran.openshift.io/soak-seconds': '7200' } }, 'soak-app': {} });
  await world.upgrade('soak', ['soak-1'], ['soak-base', 'soak-app']);
  const since = async () => (await world.get('soak'))?.status?.status.currentBatchRemediationProgress?.['soak-1']?.firstCompliantAt;
  await eventually(async () => (await since()) !== undefined, 'the soak to begin');
  const soaking = Date.parse(String(await since()));
  world.clock.skip(1.9 * HOUR_MS);
  expect(world.happened('soak-app', 'soak-1')).toEqual(['NonCompliant']);
  world.clock.skip(0.1 * HOUR_MS);
  await world.untilCompleted('soak');
  expect(Date.parse((await endOf(world, 'soak')) ?? '') - soaking).toBeGreaterThanOrEqual(2 * HOUR_MS);
  expect(await world.condition('soak', 'Succeeded')).toBe(`True ${COMPLETED}`);
});
