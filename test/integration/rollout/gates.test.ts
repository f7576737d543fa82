import { Annotation, conditionTime } from '@flotilla/api';
import { eventually } from '@flotilla/pace/testing';
import { expect } from 'vitest';
import { placePolicy } from '../../fixtures/placed-policies.ts';
import { testIn } from '../world.ts';
import { REMEDIATING, RolloutWorld, spokeNames } from './world.ts';

const PARTIAL = { [Annotation.blockingCompletionMode]: 'partial' };
const FILTERING = { ...PARTIAL, [Annotation.blockingClusterFiltering]: 'true' };

const test = testIn(() => {
  const fleets = { wait: 1, first: 2, part: 3, same: 3, none: 2, cached: 3, uncached: 2, broken: 1, unbound: 1, paused: 2, held: 2 };
  return RolloutWorld.start({
    spokes: Object.entries(fleets).flatMap(([name, count]) => spokeNames(count, name)),
    job: { seconds: 1, startupMs: 200 },
  });
});

const on = (name: string, namespace = 'default') => [{ name, namespace }];
/** RFC 3339 in whole seconds. */
const inSeconds = (seconds: number) => conditionTime(Date.now() + seconds * 1000);
const startedAt = async (world: RolloutWorld, name: string) => (await world.get(name))?.status?.status.startedAt;

/** Runs an upgrade in which `failing` never gets there, and ends it: the others are complete, `failing` timed out. */
async function endPartially(world: RolloutWorld, name: string, clusters: readonly string[], failing: string): Promise<void> {
  await world.policies(clusters, { [`${name}-p`]: {} });
  world.propagator.script(`policies/${name}-p`, failing, { never: true });
  await world.upgrade(name, clusters, [`${name}-p`]);
  await eventually(async () => (await world.recorded(name)).length === clusters.length - 1, `all but ${failing} to be complete`, 60_000);
  await world.edit(name, { remediationStrategy: { timeout: 0 } });
  await world.untilCondition(name, 'Succeeded', 'False TimedOut: Policy remediation took too long');
  await world.untilEnded(name);
}

test.concurrent('an upgrade waits for one that is not there, then for its end, and its own time starts after that', async ({ world }) => {
  await world.policies(['wait-1'], { 'wait-p': {} });
  await world.policies(spokeNames(2, 'first'), { 'first-p': {} });
  await world.upgrade('wait', ['wait-1'], ['wait-p'], {
    blockingCRs: [...on('first'), ...on('nobody')],
    remediationStrategy: { maxConcurrency: 1, timeout: 1 },
  });
  await world.untilCondition('wait', 'Progressing', 'False MissingBlockingCR: Missing blocking CRs: [first nobody]');
  await world.upgrade('first', spokeNames(2, 'first'), ['first-p'], { enable: false });
  await world.untilCondition('wait', 'Progressing', 'False MissingBlockingCR: Missing blocking CRs: [nobody]');
  await world.edit('wait', { blockingCRs: on('first') });
  await world.untilCondition('wait', 'Progressing', 'False IncompleteBlockingCR: Blocking CRs that are not completed: [first]');
  expect(await startedAt(world, 'wait')).toBeUndefined();
  await world.edit('first', { enable: true });
  await world.untilCompleted('first');
  await world.untilCompleted('wait');
  const ended = Date.parse(
    (await world.get('first'))?.status?.conditions?.find(({ type }) => type === 'Succeeded')?.lastTransitionTime ?? '',
  );
  expect(Date.parse((await startedAt(world, 'wait')) ?? '')).toBeGreaterThanOrEqual(ended);
  // It looked again when the other ended, not at some later time.
  expect(Date.parse((await startedAt(world, 'wait')) ?? '')).toBeLessThan(ended + 5000);
});

test.concurrent('an upgrade that ended partially blocks, unless partial completion is enough', async ({ world }) => {
  await endPartially(world, 'part', ['part-1', 'part-2'], 'part-2');
  await world.policies(spokeNames(3, 'part'), { 'after-part': {} });
  await world.upgrade('strict', ['part-3'], ['after-part'], { blockingCRs: on('part') });
  await world.upgrade('lenient', ['part-1', 'part-2'], ['after-part'], { blockingCRs: on('part') }, PARTIAL);
  await world.untilCompleted('lenient');
  expect((await world.recorded('lenient')).sort()).toEqual(['part-1: complete', 'part-2: complete']);
  expect(await world.condition('strict', 'Progressing')).toBe('False IncompleteBlockingCR: Blocking CRs that are not completed: [part]');
  await world.annotate('strict', PARTIAL);
  await world.untilCompleted('strict');
});

test.concurrent('with cluster filtering only clusters that completed in every blocking upgrade go on', async ({ world }) => {
  const clusters = spokeNames(3, 'same');
  await Promise.all([endPartially(world, 'same-a', clusters, 'same-1'), endPartially(world, 'same-b', clusters, 'same-2')]);
  await world.policies(clusters, { 'after-same': {} });
  await world.upgrade('filtered', clusters, ['after-same'], { blockingCRs: [...on('same-a'), ...on('same-b')] }, FILTERING);
  await world.untilCompleted('filtered');
  expect(await world.recorded('filtered')).toContain('same-3: complete');
  expect((await world.get('filtered'))?.status?.remediationPlan).toEqual([['same-3']]);
  for (const cluster of ['same-1', 'same-2']) expect(world.happened('after-same', cluster)).toEqual(['NonCompliant']);
});

test.concurrent('when no cluster is left after filtering, the upgrade fails and says why', async ({ world }) => {
  await endPartially(world, 'none', ['none-1', 'none-2'], 'none-2');
  await world.policies(['none-2'], { 'after-none': {} });
  await world.upgrade('left', ['none-2'], ['after-none'], { blockingCRs: on('none') }, FILTERING);
  const why = 'No clusters available for remediation after filtering out non-completed clusters from blocking CGUs';
  await world.untilCondition('left', 'Succeeded', `False Failed: ${why}`);
  expect(await world.condition('left', 'Progressing')).toBe(`False Completed: ${why}`);
  expect(world.happened('after-none', 'none-2')).toEqual(['NonCompliant']);
});

test.concurrent('clusters that fail to pre-cache are recorded and left out; the others are upgraded', async ({ world }) => {
  const clusters = spokeNames(3, 'cached');
  await world.policies(clusters, { 'cached-p': {} });
  world.spokes.setFaults('cached-2', { failJob: true });
  const caching = { preCaching: true, preCachingConfigRef: { name: 'config' } };
  await world.upgrade('cached', clusters, ['cached-p'], { ...caching, enable: false });
  await world.untilCondition('cached', 'PrecachingSuceeded', 'False PartiallyDone: Precaching failed for 1 clusters');
  await world.untilCondition('cached', 'Progressing', 'False NotEnabled: Not enabled');
  for (const cluster of clusters) expect(world.happened('cached-p', cluster)).toEqual(['NonCompliant']);
  await world.edit('cached', { enable: true });
  await world.untilCondition('cached', 'Succeeded', /^False PartiallyDone: 1 of 3 clusters failed .*the first is cached-2: /);
  await world.untilEnded('cached');
  for (const [type, is] of [
    ['Ready', 'False'],
    ['Stalled', 'True'],
    ['PrecachingSuceeded', 'False'],
  ] as const)
    expect(await world.condition('cached', type), type).toMatch(new RegExp(`^${is} PartiallyDone: `));
  const { status } = (await world.get('cached')) ?? {};
  expect(status?.remediationPlan).toEqual([['cached-1', 'cached-3']]);
  expect((await world.recorded('cached')).sort()).toEqual(['cached-1: complete', 'cached-2: failed', 'cached-3: complete']);
  expect(world.happened('cached-p', 'cached-2')).toEqual(['NonCompliant']);
});

test.concurrent('a canary that fails to pre-cache ends the upgrade', async ({ world }) => {
  const clusters = spokeNames(2, 'uncached');
  await world.policies(clusters, { 'uncached-p': {} });
  world.spokes.setFaults('uncached-1', { failJob: true });
  const caching = { preCaching: true, preCachingConfigRef: { name: 'config' } };
  const remediationStrategy = { canaries: ['uncached-1'], maxConcurrency: 1, timeout: 240 };
  await world.upgrade('uncached', clusters, ['uncached-p'], { ...caching, remediationStrategy });
  await world.untilCondition('uncached', 'Succeeded', 'False Failed: Precaching failed on canary clusters');
  expect(await world.recorded('uncached')).toContain('uncached-1: failed');
  for (const cluster of clusters) expect(world.happened('uncached-p', cluster)).toEqual(['NonCompliant']);
});

test.concurrent('a window that cannot be read is refused with the annotation, the value and the fix', async ({ world }) => {
  await world.policies(['broken-1'], { 'broken-p': {} });
  await world.upgrade('broken', ['broken-1'], ['broken-p'], {}, { [Annotation.windowStart]: 'tonight' });
  await eventually(async () => (await world.condition('broken', 'Validated'))?.startsWith('False InvalidWindow: '), 'the refusal');
  const refusal = await world.condition('broken', 'Validated');
  expect(refusal).toContain(Annotation.windowStart);
  expect(refusal).toContain('"tonight"');
  expect(refusal).toContain('RFC 3339');
  await world.annotate('broken', { [Annotation.windowStart]: inSeconds(60), [Annotation.windowEnd]: inSeconds(30) });
  await world.untilCondition('broken', 'Validated', /^False InvalidWindow: .*flotilla\.io\/window-end.*flotilla\.io\/window-start/);
  expect(world.happened('broken-p', 'broken-1')).toEqual(['NonCompliant']);
  await world.annotate('broken', { [Annotation.windowStart]: null, [Annotation.windowEnd]: null });
  await world.untilCompleted('broken');
});

test.concurrent('a pause begins nothing, lets what runs end, and goes on when it is taken back', async ({ world }) => {
  const clusters = spokeNames(2, 'paused');
  const pause = (value: string | null) =>
    world.annotate('paused', { [Annotation.paused]: value, [Annotation.pausedReason]: value && 'change freeze' });
  const PAUSED = 'True Paused: Paused: change freeze';
  const lastCondition = async () => (await world.get('paused'))?.status?.conditions?.at(-1)?.type;
  await world.policies(clusters, { 'paused-p': {} });
  const caching = { preCaching: true, preCachingConfigRef: { name: 'config' }, remediationStrategy: { maxConcurrency: 1, timeout: 240 } };
  await world.upgrade('paused', clusters, ['paused-p'], caching, {
    [Annotation.paused]: 'drain',
    [Annotation.pausedReason]: 'change freeze',
  });
  await world.untilCondition('paused', 'Paused', PAUSED);
  expect((await world.get('paused'))?.status?.precaching?.status).toEqual({ 'paused-1': 'NotStarted', 'paused-2': 'NotStarted' });
  expect(await lastCondition()).toBe('Paused');
  world.propagator.script('policies/paused-p', 'paused-1', { never: true });
  await pause(null);
  await eventually(async () => (await world.get('paused'))?.status?.status.currentBatchStartedAt !== undefined, 'the first batch', 60_000);
  expect(await world.condition('paused', 'Paused')).toBeUndefined();
  await pause('drain');
  await world.untilCondition('paused', 'Paused', PAUSED);
  world.propagator.script('policies/paused-p', 'paused-1', { seconds: 0 });
  await eventually(async () => (await world.recorded('paused')).includes('paused-1: complete'), 'the first batch to end', 60_000);
  await world.untilCondition('paused', 'Progressing', PAUSED);
  const { status } = (await world.get('paused'))?.status ?? {};
  expect([status?.currentBatch, status?.currentBatchStartedAt, typeof status?.pausedAt]).toEqual([2, undefined, 'string']);
  expect(world.happened('paused-p', 'paused-2')).toEqual(['NonCompliant']);
  await pause(null);
  await world.untilCompleted('paused');
  expect(await world.condition('paused', 'Paused')).toBeUndefined();
});

test.concurrent('a held cluster is not begun and says why, while others go on; it is taken up again', async ({ world }) => {
  const clusters = spokeNames(2, 'held');
  await world.policies(clusters, { 'held-p': {} });
  await world.annotateCluster('held-2', { [Annotation.hold]: 'disk is being replaced' });
  await world.upgrade('held', clusters, ['held-p'], { remediationStrategy: { maxConcurrency: 2, timeout: 240 } });
  await eventually(async () => (await world.recorded('held')).includes('held-1: complete'), 'the other to be complete', 60_000);
  const why =
    'waits (held): held: disk is being replaced; seen: ManagedCluster held-2, metadata.annotations[flotilla.io/hold]: disk is being replaced; to go on: remove the annotation flotilla.io/hold from ManagedCluster held-2 (flotilla unhold held-2)';
  await eventually(async () => (await world.get('held'))?.status?.messages?.['held-2'] === why, 'the hold to be told');
  expect(world.happened('held-p', 'held-2')).toEqual(['NonCompliant']);
  await world.annotateCluster('held-2', { [Annotation.hold]: null });
  await world.untilCompleted('held');
});

test.concurrent('a single batch says that its Placement finds no cluster set, and goes on when there is one', async ({ world }) => {
  const namespace = 'unbound-policies';
  world.propagator.setBound(namespace, false);
  // Slow enough for the second between two status writes.
  world.propagator.script(`${namespace}/unbound-p`, 'unbound-1', { seconds: 3 });
  await placePolicy(world.client, 'unbound-p', { namespace, clusters: ['unbound-1'], decided: true });
  await world.untilRolledUp(`${namespace}/unbound-p`, 1);
  await world.upgrade('unbound', ['unbound-1'], ['unbound-p'], {}, { [Annotation.nameSuffix]: 'x1y2z' });
  await world.untilCondition(
    'unbound',
    'Progressing',
    `True WaitingForPlacement: Placement "unbound-unbound-p-placement-x1y2z" in namespace "${namespace}" cannot select clusters: ` +
      'No valid ManagedClusterSetBindings found in placement namespace. ' +
      'Create a ManagedClusterSetBinding for the "default" ManagedClusterSet in the policy namespace.',
  );
  world.propagator.setBound(namespace, true);
  await world.untilCompleted('unbound');
  const texts = world.history('unbound').texts('Progressing');
  expect(texts.lastIndexOf(REMEDIATING)).toBeGreaterThan(texts.findIndex((text) => text.startsWith('True WaitingForPlacement')));
});
