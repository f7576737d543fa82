import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition, ClusterGroupUpgradeSpec, ranCrds } from '@flotilla/api/ran';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { describe, expect, test } from 'vitest';
import { makeChange } from './change.ts';
import { planRetry } from './retry.ts';

const spec = ClusterGroupUpgradeSpec.parse({ clusters: ['a', 'b'], remediationStrategy: { maxConcurrency: 1, canaries: ['a', 'b'] } });

test('a repetition begins as the first did: with its windows, its blocking, its proofs and its pins', async () => {
  const client = new MemoryServer({ crds: ranCrds(), namespaces: ['ran'] }).client();
  const kept = {
    [Annotation.windowStart]: '2099-01-01T00:00:00Z',
    [Annotation.blockingCompletionMode]: 'partial',
    [Annotation.proofWithin]: '2h',
    [Annotation.pins]: 'runtime',
  };
  const left = { [Annotation.paused]: 'true', 'example.com/owner': 'git' };
  const ref = { namespace: 'ran', name: 'site' };
  await client.create(ClusterGroupUpgrade, { metadata: { ...ref, name: 'site-retry-1' }, spec });
  await client.create(ClusterGroupUpgrade, { metadata: { ...ref, annotations: { ...kept, ...left } }, spec });
  const ended = { type: ClusterGroupUpgradeCondition.succeeded, status: 'False', reason: 'TimedOut', message: '' };
  const status = { conditions: [{ ...ended, lastTransitionTime: '2026-11-01T00:00:00Z' }], clusters: [{ name: 'b', state: 'timedout' }] };
  await client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' });
  const made = await planRetry(client, ref, { hubNamespace: 'flotilla', clusters: [] });
  expect(made).toMatchObject({ isNew: true, clusters: 1 });
  const { metadata, spec: repeated } = 'object' in made ? made.object : expect.fail(made.refused);
  expect(metadata).toEqual({ namespace: 'ran', name: 'site-retry-2', annotations: { ...kept, [Annotation.retryOf]: 'ran/site' } });
  expect(repeated).toMatchObject({ clusters: ['b'], remediationStrategy: { canaries: ['b'] } });
});

/** A hub with an upgrade in its second batch, and what is asked of it for these clusters. */
async function running(clusters: readonly string[]) {
  const client = new MemoryServer({ crds: ranCrds(), namespaces: ['ran'] }).client();
  const ref = { namespace: 'ran', name: 'site' };
  await client.create(ClusterGroupUpgrade, { metadata: ref, spec: { ...spec, clusters: [...clusters] } });
  const progressing = {
    type: 'Progressing',
    status: 'True',
    reason: 'InProgress',
    message: '',
    lastTransitionTime: '2026-11-01T00:00:00Z',
  };
  const fail = (failed: readonly string[]) => {
    const records = failed.map((name) => ({ name, state: 'timedout' }));
    const times = { startedAt: '2026-11-01T00:00:00Z', currentBatch: 1, currentBatchStartedAt: '2026-11-01T00:00:00Z' };
    const status = { conditions: [progressing], remediationPlan: [clusters], clusters: records, status: times };
    return client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' });
  };
  const plan = async () => {
    const planned = await planRetry(client, ref, { hubNamespace: 'flotilla', clusters: [] });
    return 'object' in planned ? { ...planned, untilTakenUp: async () => true } : expect.fail(planned.refused);
  };
  const asked = async () => (await client.get(ClusterGroupUpgrade, ref))?.metadata.annotations ?? {};
  return { client, fail, plan, asked };
}

describe('a retry of all that failed tries the clusters that were shown', () => {
  test('by their names, so that one that fails before the hub takes it up is left out', async () => {
    const { client, fail, plan, asked } = await running(['a', 'b', 'c']);
    await fail(['b', 'a']);
    const planned = await plan();
    expect(planned.says).toEqual(['2 clusters come again after batch 1: b, a']);
    expect((await makeChange(client, planned, { dryRun: false })).outcome).toBe('changed');
    expect((await asked())[Annotation.retryClusters]).toBe('b,a');
  });

  test.each([
    ['few', ['a', 'b']],
    ['more than annotations have room for', Array.from({ length: 5_000 }, (_, index) => `site-${String(index).padEnd(55, '0')}`)],
  ])('and asks again where another has failed meanwhile: %s', async (_, clusters) => {
    const { client, fail, plan, asked } = await running(clusters);
    await fail(clusters.slice(1));
    const planned = await plan();
    const { seen } = await makeChange(client, planned, { dryRun: true });
    await fail(clusters);
    expect((await makeChange(client, planned, { dryRun: false })).outcome).toBe('outdated');
    expect((await makeChange(client, await plan(), { dryRun: false, seen })).outcome).toBe('outdated');
    expect(await asked()).toEqual({});
    const again = await plan();
    const shown = await makeChange(client, again, { dryRun: true });
    expect(await makeChange(client, await plan(), { dryRun: false, seen: shown.seen })).toMatchObject({
      outcome: 'changed',
      clusters: clusters.length,
    });
    expect((await asked())[Annotation.retryClusters]).toBe(clusters.length > 100 ? undefined : clusters.join(','));
  });
});

test('a repetition that is confirmed has the clusters that were shown', async () => {
  const { client, fail, plan } = await running(['a', 'b']);
  const ended = { type: ClusterGroupUpgradeCondition.succeeded, status: 'False', reason: 'TimedOut', message: '' };
  const end = async (failed: readonly string[]) => {
    await fail(failed);
    const status = { conditions: [{ ...ended, lastTransitionTime: '2026-11-01T00:00:00Z' }] };
    await client.patch(ClusterGroupUpgrade, { namespace: 'ran', name: 'site' }, { status }, { type: 'merge', subresource: 'status' });
  };
  await end(['a']);
  const { seen } = await makeChange(client, await plan(), { dryRun: true });
  await end(['a', 'b']);
  expect((await makeChange(client, await plan(), { dryRun: false, seen })).outcome).toBe('outdated');
});
