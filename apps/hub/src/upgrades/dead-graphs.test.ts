import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findCondition } from '@flotilla/api';
import { ManagedCluster, ManifestWorkReplicaSet, Policy } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade } from '@flotilla/api/ran';
import { settled } from '@flotilla/pace/testing';
import { objectDefinitions } from '@flotilla/rollout';
import { buildChild, buildCluster, buildClusterGroupUpgrade, buildPolicy, clusterVersion, SPOKE } from '@flotilla/rollout/testing';
import { createChannel, createLogger, logOnly, startReconciler } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { MemoryHub } from '../../testing/memory-hub.ts';
import { createCaches, fillCaches } from '../caches.ts';
import { graphAccess } from '../graph-access.ts';
import { Problems } from '../spokes/problems.ts';
import { SpokeRollouts } from '../spokes/rollout/part.ts';
import { createUpdateGraph } from '../update-graph.ts';
import type { UpgradeJobs } from './jobs.ts';
import { UpgradeReconciler } from './reconciler.ts';
import { upgradesOf } from './watches.ts';

const NAMESPACE = 'ns';
const WORKERS = 4;
const logger = createLogger({ name: 'test', level: 'silent' });
const jobs = {
  precache: () => undefined,
  backUp: () => undefined,
  backUpLate: () => undefined,
  precacheLate: () => ({}),
  nextProofs: () => undefined,
};

/** Starts an update graph whose answers wait for the test. */
async function startSlowGraph() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    void released.then(() => response.end(JSON.stringify({ nodes: [{ version: '4.20.1', payload: 'q/r@sha256:1' }] })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, release, asked: () => asked, [Symbol.asyncDispose]: close };
}

function putUpgrade(hub: MemoryHub, name: string, spec: Record<string, unknown>): void {
  const metadata = { name, uid: `uid-${name}`, finalizers: [CLEANUP_FINALIZER] };
  hub.put(ClusterGroupUpgrade, buildClusterGroupUpgrade({ metadata, spec: { clusters: [SPOKE], enable: true, ...spec } }));
}

function putPolicy(hub: MemoryHub, name: string, upstream: string): void {
  const wanted = clusterVersion({ upstream, channel: 'stable-4.20', desiredUpdate: { version: '4.20.1' } });
  const policy = buildPolicy(name, { objects: [wanted], compliant: { [SPOKE]: 'NonCompliant' } });
  hub.put(Policy, policy);
  hub.put(Policy, buildChild(policy, SPOKE));
}

const stored = (hub: MemoryHub, name: string, type: string) =>
  findCondition((hub.get(ClusterGroupUpgrade, { namespace: NAMESPACE, name }) as ClusterGroupUpgrade).status?.conditions, type);

test('as many update graphs as there are workers do not answer: an upgrade without one starts at once, and theirs when they do', async () => {
  await using graphs = await startSlowGraph();
  const hub = new MemoryHub();
  const stop = new AbortController();
  const { client } = await hub.process();
  const waiting = Array.from({ length: WORKERS }, (_, index) => `waits-${index}`);
  for (const name of waiting) {
    putPolicy(hub, name, `${graphs.url}/${name}`);
    putUpgrade(hub, name, { managedPolicies: [name] });
  }
  putUpgrade(hub, 'without', { manifestWorkTemplates: ['template'] });
  hub.put(ManagedCluster, buildCluster());
  const workload = { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }] };
  hub.put(
    ManifestWorkReplicaSet,
    ManifestWorkReplicaSet.schema.parse({
      metadata: { namespace: NAMESPACE, name: 'template' },
      spec: { manifestWorkTemplate: { workload }, placementRefs: [{ name: 'any' }] },
    }),
  );
  const caches = createCaches(client, { logger });
  await fillCaches(caches, logger, stop.signal);

  const requeues = createChannel();
  const graph = createUpdateGraph({ onAnswer: requeues.enqueue, access: graphAccess({ allow: ['127.0.0.1'] }) });
  const reconciler = new UpgradeReconciler({
    client,
    caches,
    rollout: new SpokeRollouts({
      caches,
      step: () => Promise.resolve(false),
      problems: new Problems({ onChange: () => undefined, now: Date.now }),
      now: Date.now,
    }),
    problems: () => new Map(),
    placing: { apply: async () => undefined, forget: () => undefined },
    jobs: jobs as unknown as UpgradeJobs,
    isBusy: () => false,
    recorder: { record: () => undefined },
    now: Date.now,
    logger,
    talmStrict: false,
    updateGraphUrl: undefined,
    lookUpRelease: graph.lookUp,
    readPolicy: (policy) => objectDefinitions(policy),
    standalone: false,
    precacheImage: '',
    precacheImageAllow: [],
  });
  const upgrades = startReconciler({
    onTrouble: logOnly,
    name: 'upgrades',
    for: upgradesOf(caches),
    watches: [requeues],
    concurrency: WORKERS,
    reconcile: (key) => reconciler.reconcile(key),
    logger,
    signal: stop.signal,
  });

  await settled(() => expect(graphs.asked()).toBe(WORKERS));
  await settled(() => expect(stored(hub, 'without', 'Progressing')?.status).toBe('True'));
  for (const name of waiting) expect(stored(hub, name, 'Validated')).toBeUndefined();

  graphs.release();
  await settled(() => {
    for (const name of waiting) expect(stored(hub, name, 'Progressing')?.status).toBe('True');
  });
  stop.abort();
  await upgrades.stopped;
  await graph.close();
  hub.stop();
});
