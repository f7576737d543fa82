import { ClusterGroupUpgrade } from '@flotilla/api/ran';
import { createClient } from '@flotilla/runtime';
import { startScriptedServer } from '@flotilla/runtime/testing';
import { expect, test } from 'vitest';
import { FactStore } from './fact-store.ts';

const ACTIONS = '/apis/action.open-cluster-management.io/v1beta1/namespaces/a/managedclusteractions';
const upgrade = ClusterGroupUpgrade.schema.parse({
  metadata: { name: 'u', namespace: 'default' },
  spec: { managedPolicies: ['p'], remediationStrategy: { maxConcurrency: 1 } },
});

/** Serves one action of a rollout of cluster a, and another; refuses everything about other clusters. */
async function startHub() {
  const actions = [
    { metadata: { name: 'install-x', namespace: 'a', labels: { 'flotilla.io/work': 'rollout' } } },
    { metadata: { name: 'other', namespace: 'a', labels: { 'flotilla.io/work': 'precache' } } },
  ];
  const server = await startScriptedServer();
  server.fallback = ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://server');
    const [label = '', value] = searchParams.get('labelSelector')?.split('=') ?? [];
    const items = actions.filter(({ metadata }) => (metadata.labels as Record<string, string>)[label] === value);
    response.setHeader('content-type', 'application/json');
    if (pathname === ACTIONS) return void response.end(JSON.stringify({ metadata: {}, items }));
    response.writeHead(403).end(JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: 'not for you' }));
  };
  const client = createClient({ kubeconfig: server.kubeconfig });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('approvals of a cluster are the actions of rollouts there; those that may not be listed are noted', async () => {
  await using hub = await startHub();
  const store = new FactStore({ client: hub.client, hubNamespace: 'flotilla' });
  const [seen, unseen] = await store.answer(upgrade, ({ approvals }) => [approvals('a'), approvals('b')]);
  expect(seen).toMatchObject({ kind: 'read', object: [{ metadata: { name: 'install-x' } }] });
  expect(unseen?.kind).toBe('unread');
  expect(store.notes).toContainEqual(expect.stringMatching(/^ManagedClusterActions of b could not be read: .*not for you/));
});
