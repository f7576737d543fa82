import { createClient } from '@flotilla/runtime';
import { startScriptedServer } from '@flotilla/runtime/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Fleet } from './rows/fleet.ts';
import { Sources } from './rows/sources.ts';
import { openViewer } from './viewer.ts';

const now = '2026-12-05T22:00:00Z';
const upgrade = {
  metadata: { name: 'u', namespace: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: now },
  spec: { clusters: ['s1'], managedPolicies: ['p'], remediationStrategy: { maxConcurrency: 1 } },
  status: {
    conditions: [{ type: 'Progressing', status: 'True', reason: 'InProgress', message: 'x', lastTransitionTime: now }],
    remediationPlan: [['s1']],
    status: {
      startedAt: now,
      currentBatch: 1,
      currentBatchStartedAt: now,
      currentBatchRemediationProgress: { s1: { state: 'InProgress' } },
    },
  },
};
const cluster = { metadata: { name: 's1', uid: 's1', resourceVersion: '1', creationTimestamp: now }, spec: { hubAcceptsClient: true } };
const lease = {
  metadata: { name: 'flotilla-hub', namespace: 'flotilla', uid: 'l', resourceVersion: '1' },
  spec: { holderIdentity: 'hub', renewTime: now, leaseDurationSeconds: 15 },
};

let server: Awaited<ReturnType<typeof startScriptedServer>>;
let looking: AbortController;
let upgradesListed: PromiseWithResolvers<void>;
let clustersMayBeListed: PromiseWithResolvers<object[]>;

beforeEach(async () => {
  looking = new AbortController();
  [upgradesListed, clustersMayBeListed] = [Promise.withResolvers(), Promise.withResolvers()];
  server = await startScriptedServer();
  server.fallback = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://server');
    const say = (value: unknown) => void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    const items = (of: object[]) => say({ metadata: { resourceVersion: '1' }, items: of });
    if (searchParams.has('watch')) {
      response.writeHead(200);
      return response.flushHeaders();
    }
    if (pathname.endsWith('/selfsubjectreviews')) return say({ status: { userInfo: { username: 'alice' } } });
    if (pathname.endsWith('/selfsubjectaccessreviews')) return say({ status: { allowed: true } });
    if (pathname.endsWith('/clustergroupupgrades')) {
      response.once('finish', upgradesListed.resolve);
      return items([upgrade]);
    }
    if (pathname.endsWith('/managedclusters')) return void clustersMayBeListed.promise.then(items);
    return items(pathname.endsWith('/leases') ? [lease] : []);
  };
});
afterEach(async () => {
  looking.abort();
  await server[Symbol.asyncDispose]();
});

test('nothing is shown before clusters were listed: without them little is known of a row', async () => {
  const client = createClient({ kubeconfig: server.kubeconfig });
  const opening = openViewer(client, { hubNamespace: 'flotilla' }, looking.signal);
  const first = Promise.race([opening.then(() => 'shown'), upgradesListed.promise.then(() => 'upgrades listed')]);
  expect(await first).toBe('upgrades listed');
  clustersMayBeListed.resolve([cluster]);
  const { deps } = await opening;
  const { message } = deps.fleet.takeChanges(Date.parse(now));
  expect(JSON.stringify(message)).not.toMatch(/does not exist|not been listed/);
  expect(message.spokes).toBeDefined();
  await client.close();
});

test('a list of clusters that takes longer than a page waits leaves open which there are, and no row says that one is missing', async () => {
  const client = createClient({ kubeconfig: server.kubeconfig });
  const rights = { upgrades: null, spokes: null, lease: null, steerUpgrades: null, steerSpokes: null };
  const sources = new Sources({ client, rights, hubNamespace: 'flotilla' });
  const fleet = new Fleet(sources);
  const said = () => {
    fleet.takeChanges(Date.parse(now));
    const { unseen, upgrades } = fleet.whole();
    const [member] = fleet.look('a/u').members?.changes.rows ?? [];
    return { unseen, causes: [member?.cause, ...(upgrades?.rows[0]?.waits ?? []).map(({ cause }) => cause)] };
  };
  sources.start(looking.signal);
  await Promise.all([sources.upgrades.synced(), sources.leases.synced()]);
  const before = said();
  expect(before.unseen).toEqual(['ManagedCluster has not been listed yet: what needs it is not known until then']);
  expect(before.causes).not.toContain('cluster-missing');
  expect(before.causes).toHaveLength(2);
  clustersMayBeListed.resolve([]);
  await sources.synced();
  expect(fleet.isChanged).toBe(true);
  expect(said()).toEqual({ unseen: [], causes: ['policy', 'policy'] });
  await client.close();
});
