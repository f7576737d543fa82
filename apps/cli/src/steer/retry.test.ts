import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgrade, ClusterGroupUpgradeCondition, ClusterGroupUpgradeSpec, ranCrds } from '@flotilla/api/ran';
import { MemoryServer } from '@flotilla/control-plane/memory';
import { expect, test } from 'vitest';
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
