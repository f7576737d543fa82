/** `flotilla retry` beside a real hub, on a real API server. */
import { Annotation } from '@flotilla/api';
import { ChangeAnswer, WhyAnswer } from '@flotilla/api/answers';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { RECOVERY } from '../backup/backups.ts';
import { RolloutWorld } from '../rollout/world.ts';
import { testIn } from '../world.ts';
import { flotilla } from './flotilla.ts';

const spokes = ['late-1', 'late-2', 'late-3', 'over-1', 'over-2', 'well-1'];
const test = testIn(() => RolloutWorld.start({ spokes }));
/** Jobs of a server's own time bear no clock that others have moved. */
const testBackup = testIn(() => RolloutWorld.start({ spokes: ['saved-1', 'saved-2'], hubArgs: ['--backup-image', RECOVERY] }));
const MINUTE = 60_000;

const names = async (world: RolloutWorld) =>
  (await world.client.list(ClusterGroupUpgrade)).items.map(({ metadata }) => metadata.name).toSorted();

test('clusters whose batch timed out come again in a last batch, once, and the upgrade ends well', async ({ world }) => {
  const run = (...args: string[]) => flotilla(world.server.kubeconfig, 'retry', ...args);
  const clusters = ['late-1', 'late-2', 'late-3'];
  await world.policies(clusters, { 'late-p': {} });
  for (const cluster of ['late-1', 'late-2', 'late-3']) world.propagator.script('policies/late-p', cluster, { never: true });
  await world.upgrade('late', clusters, ['late-p'], { remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
  await world.untilInProgress('late', 'late-1');
  expect(await run('late', '-y')).toMatchObject({ code: 3, err: expect.stringContaining('no cluster of default/late has failed') });
  world.clock.skip(81 * MINUTE);
  await eventually(async () => (await world.recorded('late')).includes('late-1: timedout'), 'the first batch to time out', 60_000);
  await world.untilInProgress('late', 'late-2');

  const before = await world.get('late');
  const dry = await run('late', '--dry-run');
  expect(dry).toMatchObject({ code: 0, err: '' });
  expect(dry.out).toContain('1 cluster comes again after batch 3: late-1');
  expect((await world.get('late'))?.metadata.annotations).toEqual(before?.metadata.annotations);
  expect(await run('late', 'late-2', '-y')).toMatchObject({ code: 3, err: expect.stringContaining('late-2 has not failed') });
  expect(await run('late', 'late-9', '-y')).toMatchObject({
    code: 3,
    err: expect.stringContaining('late-9 is no cluster of default/late'),
  });
  expect(await run('late', 'late-1', '--failed', '-y')).toMatchObject({ code: 2 });

  const asked = await run('late', 'late-1', '-y', '-o', 'json');
  expect(asked).toMatchObject({ code: 0, err: '' });
  expect(ChangeAnswer.parse(JSON.parse(asked.out))).toMatchObject({ outcome: 'changed', clusters: 1 });
  const status = (await world.get('late'))?.status;
  expect(status?.remediationPlan).toEqual([['late-1'], ['late-2'], ['late-3'], ['late-1']]);
  expect(status?.clusters).toBeUndefined();
  expect(status?.status.currentBatch).toBe(2);

  // A hub that takes over finds the request confirmed.
  await world.hub?.stop();
  await world.startHub();
  for (const cluster of clusters) world.propagator.script('policies/late-p', cluster, { seconds: 0 });
  await world.untilCompleted('late');
  expect((await world.recorded('late')).toSorted()).toEqual(clusters.map((cluster) => `${cluster}: complete`));
  expect((await world.get('late'))?.status?.remediationPlan).toHaveLength(4);
  expect(await run('late', '-y')).toMatchObject({ code: 3, err: expect.stringContaining('no cluster of default/late has failed') });
});

test('after its end, the failed ones alone get an upgrade of their own', async ({ world }) => {
  const run = (...args: string[]) => flotilla(world.server.kubeconfig, 'retry', ...args);
  await world.policies(['over-1', 'over-2', 'well-1'], { 'over-p': {} });
  for (const cluster of ['over-1', 'over-2']) world.propagator.script('policies/over-p', cluster, { never: true });
  const strategy = { maxConcurrency: 3, timeout: 240 };
  await world.upgrade('over', ['well-1', 'over-1', 'over-2'], ['over-p'], { remediationStrategy: strategy });
  await eventually(async () => (await world.recorded('over')).includes('well-1: complete'), 'one to be complete', 60_000);
  world.clock.skip(241 * MINUTE);
  await world.untilEnded('over');

  const before = await names(world);
  expect((await run('over', '--dry-run')).out).toContain('ClusterGroupUpgrade default/over-retry-1 would be created, touching 2 clusters');
  expect(await run('over', 'well-1', '-y')).toMatchObject({ code: 3, err: expect.stringContaining('well-1 has not failed') });
  expect(await names(world)).toEqual(before);

  const made = await run('over', '-y', '-o', 'json');
  expect(ChangeAnswer.parse(JSON.parse(made.out))).toMatchObject({
    object: 'ClusterGroupUpgrade default/over-retry-1',
    outcome: 'created',
    clusters: 2,
    annotations: [{ key: Annotation.retryOf, after: 'default/over' }],
    undo: 'kubectl delete cgu over-retry-1 -n default',
  });
  expect((await world.get('over-retry-1'))?.spec).toMatchObject({
    clusters: ['over-1', 'over-2'],
    managedPolicies: ['over-p'],
    remediationStrategy: strategy,
  });
  expect(await run('over', '-y')).toMatchObject({
    code: 3,
    err: expect.stringContaining('over-retry-1 tries clusters of it again already'),
  });
  for (const cluster of ['over-1', 'over-2']) world.propagator.script('policies/over-p', cluster, { seconds: 0 });
  await world.untilCompleted('over-retry-1');
  expect(await world.recorded('over-retry-1')).toHaveLength(2);
  expect((await world.recorded('over')).toSorted()).toEqual(['over-1: timedout', 'over-2: timedout', 'well-1: complete']);
});

testBackup(
  'a cluster that failed its backup is tried again by the command that `why` names, once the upgrade has ended',
  async ({ world }) => {
    const run = (...args: readonly string[]) => flotilla(world.server.kubeconfig, ...args);
    const clusters = ['saved-1', 'saved-2'];
    await world.policies(clusters, { 'saved-p': {} });
    world.spokes.setFaults('saved-1', { failJob: true });
    world.propagator.script('policies/saved-p', 'saved-2', { never: true });
    await world.upgrade('saved', clusters, ['saved-p'], { backup: true, remediationStrategy: { maxConcurrency: 1, timeout: 240 } });
    await world.untilInProgress('saved', 'saved-2');
    const { out } = await run('why', 'saved', 'saved-1', '-o', 'json');
    const { cause, release } = WhyAnswer.parse(JSON.parse(out));
    const [, advised = ''] = /once the upgrade has ended: flotilla (retry [^,]+),/.exec(release.says) ?? [];
    expect([cause, advised]).toEqual(['failed', 'retry -n default saved saved-1']);
    expect(await run(...advised.split(' '), '-y')).toMatchObject({ code: 3, err: expect.stringContaining('when the upgrade has ended') });

    world.spokes.setFaults('saved-1', {});
    world.propagator.script('policies/saved-p', 'saved-2', { seconds: 0 });
    await world.untilEnded('saved');
    expect(await run(...advised.split(' '), '-y')).toMatchObject({ code: 0 });
    await world.untilCompleted('saved-retry-1');
  },
);
