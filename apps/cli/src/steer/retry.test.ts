import { Annotation } from '@flotilla/api';
import { ClusterGroupUpgradeSpec } from '@flotilla/api/ran';
import { expect, test } from 'vitest';
import { repetitionOf } from './retry.ts';

const spec = ClusterGroupUpgradeSpec.parse({ remediationStrategy: { maxConcurrency: 1, canaries: ['a', 'b'] } });

test('a repetition begins as the first did: with its windows, its blocking, its proofs and its pins', () => {
  const kept = {
    [Annotation.windowStart]: '2099-01-01T00:00:00Z',
    [Annotation.blockingCompletionMode]: 'partial',
    [Annotation.proofWithin]: '2h',
    [Annotation.pins]: 'runtime',
  };
  const left = { [Annotation.paused]: 'true', 'example.com/owner': 'git' };
  const made = repetitionOf({ name: 'site', namespace: 'ran', annotations: { ...kept, ...left } }, spec, ['b'], new Set(['site-retry-1']));
  expect(made.metadata).toEqual({ namespace: 'ran', name: 'site-retry-2', annotations: { ...kept, [Annotation.retryOf]: 'ran/site' } });
  expect(made.spec).toMatchObject({ clusters: ['b'], remediationStrategy: { canaries: ['b'] } });
});
