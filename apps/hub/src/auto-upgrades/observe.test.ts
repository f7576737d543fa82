import { Annotation, Label } from '@flotilla/api';
import {
  CLUSTER_AVAILABLE,
  ManagedCluster,
  PLACEMENT_SATISFIED,
  Placement,
  PlacementBinding,
  PlacementDecision,
  Policy,
} from '@flotilla/api/ocm';
import { createLogger, createMetrics } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { observeCluster } from './observe.ts';

const AVAILABLE = Date.parse('2026-01-01T00:00:00Z');
const ref = { namespace: 'policies', name: 'p' };

let hub: MemoryHub;
let stop: AbortController;
beforeEach(() => {
  hub = new MemoryHub();
  stop = new AbortController();
  const conditions = [{ type: CLUSTER_AVAILABLE, status: 'True', reason: 'x', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }];
  hub.put(ManagedCluster, ManagedCluster.schema.parse({ metadata: { name: 'spoke' }, status: { conditions } }));
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** The policy that is waited for, so long after the cluster became available. */
async function awaited(afterMs: number, talmStrict = false): Promise<string | undefined> {
  const logger = createLogger({ name: 'test', level: 'silent' });
  const { client } = await hub.process();
  const caches = createCaches(client, { logger, metrics: createMetrics() });
  await fillCaches(caches, logger, stop.signal);
  return observeCluster('spoke', caches, { talmStrict, now: AVAILABLE + afterMs })?.awaited?.says;
}

function putPolicy(spec: object = {}, annotations: Record<string, string> = { [Annotation.deployWave]: '1' }): void {
  hub.put(Policy, Policy.schema.parse({ metadata: { ...ref, annotations }, spec: { remediationAction: 'inform', ...spec } }));
}

/** Binds the policy to a Placement, whose controller has decided for these clusters. */
function place(...clusters: readonly string[]): void {
  const binding = {
    metadata: ref,
    placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name: 'p' },
    subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name: 'p' }],
  };
  hub.put(PlacementBinding, PlacementBinding.schema.parse(binding));
  const conditions = [{ type: PLACEMENT_SATISFIED, status: 'True', reason: 'x', message: '' }];
  hub.put(
    Placement,
    Placement.schema.parse({ metadata: ref, spec: {}, status: { conditions, numberOfSelectedClusters: clusters.length } }),
  );
  const decisions = clusters.map((clusterName) => ({ clusterName, reason: '' }));
  const metadata = { ...ref, name: 'p-1', labels: { [Label.placement]: 'p' } };
  hub.put(PlacementDecision, PlacementDecision.schema.parse({ metadata, status: { decisions } }));
}

test.each<{ name: string; given: () => void; afterMs?: number; strict?: boolean; want: string | undefined }>([
  {
    name: 'placed on it, whose copy is not there',
    given: () => {
      putPolicy();
      place('spoke');
    },
    afterMs: 7_200_000,
    want: 'its copy is not there yet',
  },
  {
    name: 'bound, while the cluster has just come',
    given: () => {
      putPolicy();
      place('other');
    },
    afterMs: 5_000,
    want: 'its Placement policies/p is not decided yet',
  },
  {
    name: 'bound to a Placement that has not been there for half an hour yet',
    given: () => {
      putPolicy();
      place('spoke');
      hub.remove(Placement, ref);
      hub.remove(PlacementDecision, { ...ref, name: 'p-1' });
    },
    afterMs: 1_799_000,
    want: 'its Placement policies/p is not there',
  },
  {
    name: 'bound to nobody knows what, because PlacementBindings are not served',
    given: () => {
      putPolicy();
      hub.unserve(PlacementBinding);
    },
    want: 'the API server serves no PlacementBinding, so nobody can see where it is placed',
  },
])('waits for a policy that is $name', async ({ given, afterMs = 60_000, want }) => {
  given();
  expect(await awaited(afterMs)).toBe(want);
  expect(await awaited(afterMs, true)).toBeUndefined();
});

test.each<{ name: string; given: () => void }>([
  {
    name: 'copied to it',
    given: () => {
      putPolicy();
      place('spoke');
      const labels = { 'policy.open-cluster-management.io/root-policy': 'policies.p' };
      hub.put(Policy, Policy.schema.parse({ metadata: { namespace: 'spoke', name: 'policies.p', labels }, spec: {} }));
    },
  },
  {
    name: 'placed on others',
    given: () => {
      putPolicy();
      place('other');
    },
  },
  { name: 'bound to nothing', given: () => putPolicy() },
  {
    name: 'disabled',
    given: () => {
      putPolicy({ disabled: true });
      place('spoke');
    },
  },
  {
    name: 'enforced',
    given: () => {
      putPolicy({ remediationAction: 'enforce' });
      place('spoke');
    },
  },
  {
    name: 'without a wave',
    given: () => {
      putPolicy({}, {});
      place('spoke');
    },
  },
  {
    name: 'bound to a Placement that has been gone for half an hour',
    given: () => {
      putPolicy();
      place('spoke');
      hub.remove(Placement, ref);
      hub.remove(PlacementDecision, { ...ref, name: 'p-1' });
    },
  },
])('waits for no policy that is $name', async ({ given }) => {
  given();
  expect(await awaited(1_800_000)).toBeUndefined();
});
