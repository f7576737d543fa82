import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Policy } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { buildChild, buildCluster, buildClusterGroupUpgrade, buildPolicy } from '@flotilla/rollout/testing';
import { createLogger, createMetrics } from '@flotilla/runtime';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { upgradesOf, watchesOf } from './watches.ts';

const POLICY = buildPolicy('p');
const COPY = buildChild(POLICY, 'spoke');
const progressing = { type: 'Progressing', status: 'True', reason: 'InProgress', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
const RUNNING = {
  conditions: [progressing],
  managedPoliciesForUpgrade: [{ name: 'p', namespace: 'policies' }],
  status: { currentBatch: 1 },
};
const logger = createLogger({ name: 'test', level: 'silent' });

let hub: MemoryHub;
let stop: AbortController;
let caches: ReturnType<typeof createCaches>;
/** Keys of enqueued upgrades, in order. */
let enqueued: string[];

beforeEach(async () => {
  hub = new MemoryHub();
  stop = new AbortController();
  enqueued = [];
  caches = createCaches((await hub.process()).client, { logger, metrics: createMetrics() }, true);
  hub.put(Policy, COPY);
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: { name: 'running', uid: 'uid-running' }, status: RUNNING }));
  hub.put(
    ClusterGroupUpgrade,
    buildClusterGroupUpgrade({ metadata: { name: 'waiting', uid: 'uid-waiting' }, spec: { managedPolicies: ['p'] } }),
  );
  await fillCaches(caches, logger, stop.signal);
  for (const each of [upgradesOf(caches), ...watchesOf(caches)]) each.attach((key) => enqueued.push(key));
  enqueued.length = 0;
});
afterEach(() => {
  stop.abort();
  hub.stop();
});

/** Waits until everything put so far has been reconciled. */
async function idle(): Promise<void> {
  const { metadata } = hub.put(ManagedCluster, buildCluster({ metadata: { name: 'last', uid: 'uid-last' } }));
  await settled(() => expect(caches.clusters.get({ name: 'last' })?.metadata.resourceVersion).toBe(metadata.resourceVersion));
}

test('a copy of a policy that changes enqueues a waiting upgrade and no running one', async () => {
  hub.put(Policy, { ...COPY, spec: { ...COPY.spec, 'policy-templates': ['{{hub fromSecret hub}}'] } });
  await settled(() => expect(enqueued).toEqual(['ns/waiting']));
  await idle();
  expect(enqueued).toEqual(['ns/waiting']);
});

test('a copy that goes away enqueues a running upgrade too: its cluster has nothing left to do', async () => {
  hub.remove(Policy, COPY.metadata);
  await settled(() => expect(enqueued.toSorted()).toEqual(['ns/running', 'ns/waiting']));
});

test('a cluster set that is bound to a namespace enqueues all upgrades there, and a changed set all', async () => {
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata: { namespace: 'elsewhere', name: 'other', uid: 'uid-other' } }));
  await settled(() => expect(enqueued).toEqual(['elsewhere/other']));
  enqueued.length = 0;
  const { apiVersion, kind } = ManagedClusterSetBinding;
  const binding = { apiVersion, kind, metadata: { namespace: 'ns', name: 'blue' }, spec: { clusterSet: 'blue' } };
  hub.put(ManagedClusterSetBinding, binding);
  await settled(() => expect(enqueued.toSorted()).toEqual(['ns/running', 'ns/waiting']));
  enqueued.length = 0;
  hub.put(ManagedClusterSet, { apiVersion, kind: ManagedClusterSet.kind, metadata: { name: 'blue', generation: 2 } });
  await settled(() => expect(enqueued.toSorted()).toEqual(['elsewhere/other', 'ns/running', 'ns/waiting']));
  enqueued.length = 0;
  hub.remove(ManagedClusterSetBinding, binding.metadata);
  await settled(() => expect(enqueued.toSorted()).toEqual(['ns/running', 'ns/waiting']));
});
