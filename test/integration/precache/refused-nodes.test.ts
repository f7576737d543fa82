import { Node } from '@flotilla/api/core';
import { ManagedCluster, NODE_PULLERS } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { expect } from 'vitest';
import { type HubAndAgent, startHubAndAgent } from '../hub-and-agent.ts';
import { PLATFORM, testIn } from '../world.ts';

/** A cluster that does not admit the pullers of the other nodes: real admission refuses the DaemonSet. Hub and agent are the programs. */

const CLUSTER = 'spoke-1';
const NODES = ['node-1', 'node-2', 'node-3'];

async function start(): Promise<HubAndAgent> {
  const status = { nodeInfo: { architecture: 'amd64', containerRuntimeVersion: 'containerd://2.1.4' } };
  const started = await startHubAndAgent(CLUSTER, async (spoke) => {
    for (const name of NODES) {
      await spoke.create(Node, { metadata: { name } });
      await spoke.patch(Node, { name }, { status }, { type: 'merge', subresource: 'status' });
    }
  });
  const { hub } = started;
  // A job that begins before the agent has counted its nodes fills one.
  const claims = async () => JSON.stringify((await hub.get(ManagedCluster, { name: CLUSTER }))?.status?.clusterClaims ?? []);
  await eventually(async () => (await claims()).includes(NODE_PULLERS), 'the claims of the agent', 60_000);
  const spec = { overrides: { platformImage: PLATFORM } };
  await hub.create(PreCachingConfig, { metadata: { name: 'config', namespace: 'default' }, spec });
  return started;
}

const test = testIn(start);

async function begin(hub: Client, name: string) {
  const metadata = { name, namespace: 'default' };
  const remediationStrategy = { maxConcurrency: 1, timeout: 240 };
  const spec = { preCaching: true, enable: false, preCachingConfigRef: { name: 'config' }, clusters: [CLUSTER], remediationStrategy };
  await hub.create(ClusterGroupUpgrade, { metadata, spec });
  return async (state: string): Promise<string> => {
    let last: ClusterGroupUpgrade | undefined;
    const isSo = async () => {
      last = await hub.get(ClusterGroupUpgrade, metadata);
      return last?.status?.precaching?.status?.[CLUSTER] === state;
    };
    await eventually(isSo, () => `${name} to be ${state}: ${JSON.stringify(last?.status?.precaching)}`, 120_000);
    return last?.status?.precaching?.messages?.[CLUSTER] ?? '';
  };
}

test('a policy that refuses the DaemonSet fails the job in the words of that policy', async ({ world }) => {
  const { hub, spoke } = world;
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const matchConstraints = {
    resourceRules: [{ apiGroups: ['apps'], apiVersions: ['*'], operations: ['CREATE'], resources: ['daemonsets'] }],
  };
  const validations = [{ expression: 'false', message: 'no DaemonSets but those of the platform' }];
  const metadata = { name: 'no-daemonsets' };
  await spoke.request('POST', `${admission}/validatingadmissionpolicies`, { body: { metadata, spec: { matchConstraints, validations } } });
  const binding = { metadata, spec: { policyName: metadata.name, validationActions: ['Deny'] } };
  await spoke.request('POST', `${admission}/validatingadmissionpolicybindings`, { body: binding });

  // A policy takes a moment to be in force.
  const template = { metadata: { labels: { app: 'probe' } }, spec: { containers: [{ name: 'c', image: 'registry.test/c:1' }] } };
  const probe = { metadata: { name: 'probe' }, spec: { selector: { matchLabels: { app: 'probe' } }, template } };
  const create = () => spoke.request('POST', '/apis/apps/v1/namespaces/default/daemonsets?dryRun=All', { body: probe });
  const isInForce = () =>
    create().then(
      () => false,
      (error: unknown) => String(error).includes('no DaemonSets'),
    );
  await eventually(isInForce, 'the policy', 60_000);
  const until = await begin(hub, 'policy');
  const message = await until('UnrecoverableError');
  const refusal = "ValidatingAdmissionPolicy 'no-daemonsets' denied request: no DaemonSets but those of the platform";
  const fix = `let the agent on ${CLUSTER} create DaemonSets, or set flotilla.io/absent-nodes: ignore on the PreCachingConfig`;
  expect(message).toBe(`its other nodes cannot be filled: ${refusal}; ${fix}`);
});
