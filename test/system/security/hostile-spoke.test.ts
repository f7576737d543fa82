import { readFile } from 'node:fs/promises';
import { ServiceAccount } from '@flotilla/api/core';
import { AGENT_ACCOUNT, AGENT_LEASE, ManagedCluster, ManagedClusterAction, ManagedClusterView } from '@flotilla/api/ocm';
import { eventually } from '@flotilla/pace/testing';
import { type Client, createClient, requestToken } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { World } from '../../integration/precache/world.ts';
import { eachAttempt } from '../../integration/world.ts';

/** Just above what a number of JavaScript holds exactly; a valid int64 for the API server. */
const TOO_LARGE = 9_007_199_254_740_992;

// What a spoke may write it writes as badly as it can, with the credentials its agent has: the hub goes on, and the others with it.
let world: World;
let evil: Client;

eachAttempt(
  async () => {
    world = await World.start({ processes: true, spokes: ['good', 'evil'], hubArgs: ['--standalone'] });
    const account = { namespace: 'evil', name: AGENT_ACCOUNT };
    await eventually(async () => (await world.client.get(ServiceAccount, account)) !== undefined, 'the hub to let the spoke in', 60_000);
    evil = await clientWith(await requestToken(world.client, account, 3600));
    // From here on nobody answers for it but we.
    world.spokes.disconnect('evil');
  },
  async () => {
    await evil?.close();
    await world?.stop();
  },
);

const Kubeconfig = z.looseObject({ users: z.array(z.looseObject({ name: z.string() })) });

async function clientWith(token: string): Promise<Client> {
  const kubeconfig = Kubeconfig.parse(parse(await readFile(world.server.kubeconfig, 'utf8')));
  const users = kubeconfig.users.map(({ name }) => ({ name, user: { token } }));
  return createClient({ kubeconfig: JSON.stringify({ ...kubeconfig, users }) });
}

const hostileCondition = (type: string, status = 'True') => ({
  type,
  status,
  reason: 'Hostile',
  message: 'x'.repeat(15_000),
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: TOO_LARGE,
});
const reportItself = (status: unknown) =>
  evil.request('PATCH', '/apis/cluster.open-cluster-management.io/v1/managedclusters/evil/status', {
    body: { status },
    contentType: 'application/merge-patch+json',
  });

test('numbers that no program can hold in the status of its cluster keep no upgrade from the others', async () => {
  await reportItself({ conditions: [hostileCondition('ManagedClusterConditionAvailable'), hostileCondition('HubAcceptedManagedCluster')] });
  // A new leader has never seen another version of it.
  await world.hub?.stop();
  await world.startHub({ args: ['--standalone'] });
  await world.upgrade('beside-it', ['good', 'evil']);
  await world.untilStates('beside-it', { good: 'Succeeded' });
});

test('answers of every bad shape to what it is asked leave the others their verdicts, and the hub its breath', async () => {
  await world.upgrade('asked', ['good', 'evil']);
  const answer = async (): Promise<void> => {
    for (const [kind, path] of [
      [ManagedClusterView, '/apis/view.open-cluster-management.io/v1beta1/namespaces/evil/managedclusterviews'],
      [ManagedClusterAction, '/apis/action.open-cluster-management.io/v1beta1/namespaces/evil/managedclusteractions'],
    ] as const) {
      const { items } = await world.client.list(kind, { namespace: 'evil' });
      for (const { metadata } of items) {
        const result = {
          metadata: { name: [], uid: 7, generation: TOO_LARGE, labels: 'none' },
          status: { succeeded: TOO_LARGE, conditions: {} },
        };
        const status = { conditions: [hostileCondition('Processing'), hostileCondition('Completed')], result };
        const body = { apiVersion: kind.apiVersion, kind: kind.kind, metadata, status };
        // It may be gone, or changed, in the meantime.
        await evil.request('PUT', `${path}/${metadata.name}/status`, { body }).catch(() => undefined);
      }
    }
  };
  await eventually(async () => {
    await answer();
    return (await world.states('asked')).good === 'Succeeded';
  });
  expect((await world.states('asked')).evil).not.toBe('Succeeded');
});

test('a denial reaches it, whatever stands in its status', async () => {
  await reportItself({ conditions: [hostileCondition('HubAcceptedManagedCluster')] });
  await world.client.patch(ManagedCluster, { name: 'evil' }, { spec: { hubAcceptsClient: false } }, { type: 'merge' });
  const account = { namespace: 'evil', name: AGENT_ACCOUNT };
  await eventually(async () => (await world.client.get(ServiceAccount, account)) === undefined, 'its account to go');
  await eventually(
    () =>
      evil.request('GET', '/apis/action.open-cluster-management.io/v1beta1/namespaces/evil/managedclusteractions').then(
        () => false,
        (error: unknown) => /unauthorized/i.test(String(error)),
      ),
    'its token to be refused',
  );
});

test('a lease of the year 9999, or of no year, is its own affair', async () => {
  const lease = { namespace: 'good', name: AGENT_LEASE };
  const account = { namespace: 'good', name: AGENT_ACCOUNT };
  await using client = await clientWith(await requestToken(world.client, account, 3600)).then((one) =>
    Object.assign(one, { [Symbol.asyncDispose]: () => one.close() }),
  );
  for (const renewTime of ['9999-12-31T23:59:59.000000Z', '0001-01-01T00:00:00.000000Z'])
    await client.request('PATCH', `/apis/coordination.k8s.io/v1/namespaces/good/leases/${lease.name}`, {
      body: { spec: { renewTime } },
      contentType: 'application/merge-patch+json',
    });
  await world.upgrade('after-leases', ['good']);
  await world.untilStates('after-leases', { good: 'Succeeded' });
});
