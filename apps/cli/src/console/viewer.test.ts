import { createClient } from '@flotilla/runtime';
import { startScriptedServer } from '@flotilla/runtime/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openViewer } from './viewer.ts';

const now = '2026-12-05T22:00:00Z';
const upgrade = {
  metadata: { name: 'u', namespace: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: now },
  spec: { clusters: ['s1'], managedPolicies: ['p'], remediationStrategy: { maxConcurrency: 1 } },
  status: { remediationPlan: [['s1']], status: { startedAt: now, currentBatch: 1 } },
};
const cluster = { metadata: { name: 's1', uid: 's1', resourceVersion: '1', creationTimestamp: now }, spec: { hubAcceptsClient: true } };

let server: Awaited<ReturnType<typeof startScriptedServer>>;
let looking: AbortController;
const [upgradesListed, clustersMayBeListed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];

beforeEach(async () => {
  looking = new AbortController();
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
    if (pathname.endsWith('/managedclusters')) return void clustersMayBeListed.promise.then(() => items([cluster]));
    return items([]);
  };
});
afterEach(async () => {
  looking.abort();
  await server[Symbol.asyncDispose]();
});

test('nothing is shown before clusters were listed: without them each seems to be gone', async () => {
  const client = createClient({ kubeconfig: server.kubeconfig });
  const opening = openViewer(client, { hubNamespace: 'flotilla' }, looking.signal);
  const first = Promise.race([opening.then(() => 'shown'), upgradesListed.promise.then(() => 'upgrades listed')]);
  expect(await first).toBe('upgrades listed');
  clustersMayBeListed.resolve();
  const { deps } = await opening;
  const { message } = deps.fleet.takeChanges(Date.parse(now));
  expect(JSON.stringify(message)).not.toMatch(/does not exist|not been listed/);
  expect(message.spokes).toBeDefined();
  await client.close();
});
