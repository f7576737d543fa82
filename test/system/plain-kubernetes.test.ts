/**
 * The recipes for Kubernetes that is no OpenShift, with hub and agent as programs. The system upgrade controller is played: its Plans get the
 * statuses that its code writes, in their order (resolved; a node applying; a Job that failed; complete).
 */
import { type KubeObject, untyped } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { runCommand } from '@flotilla/control-plane/processes';
import { ensureTools } from '@flotilla/control-plane/toolchain';
import { eventually } from '@flotilla/pace/testing';
import { describe, expect } from 'vitest';
import { applyCrds } from '../fixtures/crds.ts';
import { flotilla } from '../integration/cli/flotilla.ts';
import { type HubAndAgent, startHubAndAgent } from '../integration/hub-and-agent.ts';
import { testIn } from '../integration/world.ts';
import { readExample } from '../support/examples.ts';

const CLUSTER = 'spoke-1';
const NAMESPACE = 'fleet-upgrades';
const Plan = untyped('upgrade.cattle.io/v1', 'Plan', 'plans');
const plans = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'plans.upgrade.cattle.io' },
  spec: {
    group: 'upgrade.cattle.io',
    scope: 'Namespaced',
    names: { plural: 'plans', singular: 'plan', kind: 'Plan' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};

const test = testIn(() =>
  startHubAndAgent(CLUSTER, async (spoke) => {
    await applyCrds(spoke, [plans]);
    await spoke.create(Namespace, { metadata: { name: 'system-upgrade' } });
  }),
);

/** The files of a recipe and what stands for their placeholders. */
const RECIPES = [
  { name: 'k3s', first: 'k3s-server', second: 'k3s-agent', version: 'v1.33.4+k3s1', tag: 'v1.33.4-k3s1', plan: 'v1-33-4-k3s1' },
  { name: 'kubeadm', first: 'kubeadm-control-plane', second: 'kubeadm-node', version: 'v1.33.4', tag: 'v1.33.4', plan: 'v1-33-4' },
] as const;
type Recipe = (typeof RECIPES)[number];

async function apply({ hubServer }: HubAndAgent, { name, version: VERSION, tag: TAG, plan: PLAN }: Recipe): Promise<void> {
  const kubectl = (await ensureTools(['kubectl'])).path('kubectl');
  const images = { UPGRADE_IMAGE: `registry.example.com/upgrade:${TAG}`, KUBECTL_IMAGE: 'registry.example.com/kubectl:v1' };
  const values = { VERSION, TAG, PLAN, ...images, WINDOW_START: '2026-01-01T00:00:00Z' };
  for (const file of ['namespace', 'pre-caching-config', 'manifest-work-replica-set', 'cluster-group-upgrade']) {
    const text = await readExample(`${name}/${file}`, values);
    // The list of the release comes after the file; no node is there that could pull anything.
    const input =
      file === 'pre-caching-config'
        ? `${text}    - registry.example.com/pause:3.10\n`
        : text.replace('preCaching: true', 'preCaching: false');
    await runCommand(kubectl, ['--kubeconfig', hubServer.kubeconfig, 'apply', '-f', '-'], { input, timeoutMs: 30_000 });
  }
}

/** Status of a Plan that is at a node, or at its end. */
const statusOf = (tag: string, complete: 'True' | 'False', more: { applying?: string[]; reason?: string; message?: string } = {}) => {
  const { applying = [], reason = '', message = '' } = more;
  const conditions = [
    { type: 'Validated', status: 'True', reason: 'PlanIsValid' },
    { type: 'LatestResolved', status: 'True', reason: 'Version' },
    { type: 'Complete', status: complete, reason, message },
  ];
  return { latestVersion: tag, latestHash: 'a1', applying, conditions };
};

describe.each(RECIPES)('a new version by $name', (recipe) => {
  const { name, first, second, tag, plan } = recipe;
  const upgrade = { namespace: NAMESPACE, name };
  const planOf = (which: string) => ({ namespace: 'system-upgrade', name: `${which}-${plan}` });

  test('is followed node by node, told in the words of a Job that failed, and done when both Plans are', async ({ world }) => {
    const { hub, hubServer, spoke } = world;
    await hub.patch(ManagedCluster, { name: CLUSTER }, { metadata: { labels: { fleet: 'edge' } } }, { type: 'merge' });
    const get = (which: string) => spoke.get<KubeObject>(Plan, planOf(which));
    const says = (which: string, status: object) => spoke.patch(Plan, planOf(which), { status }, { type: 'merge', subresource: 'status' });
    const ended = async () => (await hub.get(ClusterGroupUpgrade, upgrade))?.status?.conditions?.find(({ type }) => type === 'Succeeded');
    const why = async (expected: string) => {
      let last = '';
      const isSaid = async () => {
        last = (await flotilla(hubServer.kubeconfig, 'why', name, CLUSTER, '-n', NAMESPACE)).out;
        return last.replaceAll(/\s+/g, ' ').includes(expected);
      };
      await eventually(isSaid, () => `why to say "${expected}": ${last}`, 90_000);
    };

    await apply(world, recipe);
    expect((await hub.get(PreCachingConfig, upgrade))?.spec?.additionalImages).toHaveLength(3);
    await eventually(async () => (await get(first)) && (await get(second)), 'both Plans', 120_000);

    await says(first, statusOf(tag, 'False', { applying: ['node-1'] }));
    await why('Node: node-1');
    const message = `Job system-upgrade/apply-${first} failed on Node node-1: BackoffLimitExceeded: Job has reached the specified backoff limit`;
    await says(first, statusOf(tag, 'False', { applying: ['node-1'], reason: 'JobFailed', message }));
    await why('BackoffLimitExceeded');

    await says(first, statusOf(tag, 'True'));
    await says(second, statusOf(tag, 'False', { applying: ['node-2'] }));
    await why('Node: node-2');
    expect(await ended()).toBeUndefined();

    await says(second, statusOf(tag, 'True'));
    await eventually(async () => (await ended())?.status === 'True', 'the upgrade to succeed', 90_000);
    // No garbage collector runs here that would end a deletion in the foreground.
    const goes = async (which: string) => (await get(which))?.metadata.deletionTimestamp !== undefined || (await get(which)) === undefined;
    await eventually(async () => (await goes(first)) && goes(second), 'the Plans to go with the work', 90_000);
    await hub.delete(ClusterGroupUpgrade, upgrade);
  });
});
