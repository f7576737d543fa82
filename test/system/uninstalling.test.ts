/** The blocks of docs/uninstalling.md, run as they stand: a cluster has nothing left of what was installed. */
import { readFile } from 'node:fs/promises';
import { conditionTime, findCondition, Label } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion, VERSION_NAMESPACE } from '@flotilla/api/config';
import { ConfigMap, Lease, Namespace } from '@flotilla/api/core';
import { PinnedImageSet, POOL_ROLE } from '@flotilla/api/machine';
import { OPERATOR_LEASE, OPERATOR_NAMESPACE, UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { ManifestWork, Placement, transportCrds } from '@flotilla/api/ocm';
import { CLEANUP_FINALIZER, ClusterGroupUpgrade, PreCachingConfig } from '@flotilla/api/ran';
import { policyCrds } from '@flotilla/api/testing';
import { registerSpokes, startPolicyPropagator, startSimulatedSpokes } from '@flotilla/control-plane/simulators';
import { eventually } from '@flotilla/pace/testing';
import type { Client } from '@flotilla/runtime';
import { describe, expect, test } from 'vitest';
import { placePolicy } from '../fixtures/placed-policies.ts';
import { createTemplate } from '../fixtures/work-templates.ts';
import { PLATFORM, PULLER } from '../integration/world.ts';
import { type RunningProgram, startHub } from '../support/programs.ts';
import { allObjects } from './all-objects.ts';
import { HUB, HUB_IMAGES, NAMESPACE } from './chart-hub.ts';
import { REQUIRED } from './chart-server.ts';
import { machineConfigCrds } from './pinned-image-sets.ts';
import { Site } from './site.ts';

const PAGE = await readFile(new URL('../../docs/uninstalling.md', import.meta.url), 'utf8');
/** Clusters of the fleet; the last one has no agent. */
const [CLUSTERS, SILENT] = [['spoke-1', 'spoke-2', 'spoke-3'], 'spoke-4'];

const upgradeOf = (admin: Client, name: string) => admin.get(ClusterGroupUpgrade, { namespace: 'default', name });

async function createUpgrade(admin: Client, name: string, clusters: readonly string[], spec: object): Promise<void> {
  await admin.create(ClusterGroupUpgrade, {
    metadata: { name, namespace: 'default' },
    spec: { clusters: [...clusters], remediationStrategy: { maxConcurrency: 2, timeout: 60 }, ...spec },
  });
}

/** Waits until a condition of an upgrade has this reason. */
async function untilReason(admin: Client, name: string, type: string, reason: string): Promise<void> {
  let status: ClusterGroupUpgrade['status'];
  await eventually(
    async () => {
      status = (await upgradeOf(admin, name))?.status;
      return findCondition(status?.conditions, type)?.reason === reason;
    },
    () => `${name} to be ${reason}: ${JSON.stringify(status?.conditions)}`,
    60_000,
  );
}

/** Upgrades that wait, are refused, pre-cache, roll out, have ended and cannot reach their cluster. */
async function createUpgrades(admin: Client): Promise<void> {
  await admin.create(PreCachingConfig, {
    metadata: { name: 'config', namespace: 'default' },
    spec: { overrides: { platformImage: PLATFORM } },
  });
  const works = (...names: string[]) => ({ manifestWorkTemplates: names });
  await createUpgrade(admin, 'waits', ['spoke-1'], { ...works('slow'), enable: false });
  await createUpgrade(admin, 'refused', ['nowhere'], works('slow'));
  await createUpgrade(admin, 'ended', ['spoke-1'], works('quick'));
  await createUpgrade(admin, 'runs', ['spoke-2'], works('slow'));
  await createUpgrade(admin, 'silent', [SILENT], works('slow'));
  const precaching = { preCaching: true, preCachingConfigRef: { name: 'config', namespace: 'default' }, enable: false };
  await createUpgrade(admin, 'precaches', ['spoke-3'], { ...works('slow'), ...precaching });
  await untilReason(admin, 'ended', 'Succeeded', 'Completed');
  await untilReason(admin, 'runs', 'Progressing', 'InProgress');
  await eventually(async () => (await admin.list(ManifestWork, { namespace: 'spoke-2' })).items.length > 0, 'the work of a rollout');
  await untilReason(admin, 'precaches', 'PrecachingSuceeded', 'InProgress');
  await eventually(async () => {
    const { items } = await admin.list(ClusterGroupUpgrade);
    return items.length === 6 && items.every(({ metadata }) => metadata.finalizers?.includes(CLEANUP_FINALIZER));
  }, 'every upgrade to have its finalizer');
}

/** Has spokes answer; their jobs and the works of template `slow` do not end by themselves. */
async function startFleet(site: Site): Promise<void> {
  const job = { seconds: 600, jitter: 0, startupMs: 100 };
  const shape = { seed: 1, job, work: { seconds: 0.2, jitter: 0 }, namespaceDeletionMs: 200 };
  site.use(await startSimulatedSpokes({ client: site.admin, names: CLUSTERS, ...shape }));
}
async function createTemplates(admin: Client): Promise<void> {
  await createTemplate(admin, 'quick');
  await createTemplate(admin, 'slow', { expected: JSON.stringify([{ manifestIndex: 0, name: 'ReadyReplicas', value: 'never' }]) });
}

const runHub = async (site: Site, args: readonly string[] = []): Promise<RunningProgram> => {
  const kubeconfig = await site.server.kubeconfigFor(HUB);
  return site.use(await startHub(kubeconfig, site.dir, ['--namespace', NAMESPACE, '--precache-image', PULLER, ...args]));
};

/** A hub under RHACM, with a fleet, upgrades by policy and by works. */
async function startManagedSite(values: readonly string[] = []): Promise<{ site: Site; hub: RunningProgram }> {
  const site = await Site.start([...transportCrds(), ...policyCrds()]);
  try {
    const { admin } = site;
    await registerSpokes(admin, [...CLUSTERS, SILENT]);
    await createTemplates(admin);
    site.use(await startPolicyPropagator({ client: admin, seed: 1, compliance: { seconds: 600, jitter: 0 } }));
    await placePolicy(admin, 'policy', { clusters: ['spoke-1'] });
    await eventually(async () => JSON.stringify(await allObjects(admin).then((all) => [...all.keys()])).includes('policies.policy'));
    await site.install('hub', 'hub', [...HUB_IMAGES, 'agents.clusters={spoke-1}', ...values]);
    await startFleet(site);
    return { site, hub: await runHub(site) };
  } catch (error) {
    await site[Symbol.asyncDispose]();
    throw error;
  }
}

async function createPolicyUpgrade(admin: Client): Promise<void> {
  await createUpgrade(admin, 'policies', ['spoke-1'], { managedPolicies: ['policy'] });
  const own = `${Label.upgradeName}=policies`;
  await eventually(
    async () => (await admin.list(Placement, { labelSelector: own })).items.length > 0,
    'the placement of an upgrade',
    60_000,
  );
}

describe('the hub', { timeout: 240_000, retry: 0 }, () => {
  /** Of each sort one that is there before, so that an empty list later says something. */
  const MADE = [
    'clusterroles.rbac.authorization.k8s.io /hub-flotilla-hub',
    `clustergroupupgrades.ran.openshift.io default/runs ${CLEANUP_FINALIZER}`,
    expect.stringMatching(/^manifestworks\.work\.open-cluster-management\.io spoke-2\/\S+ \S+/),
    expect.stringMatching(/^customresourcedefinitions\.apiextensions\.k8s\.io \/clustergroupupgrades/),
    `leases.coordination.k8s.io ${NAMESPACE}/flotilla-hub`,
    `secrets.core ${NAMESPACE}/sh.helm.release.v1.hub.v1`,
  ];
  const ENDING = ['End the upgrades', 'Remove the release'];

  test('under RHACM leaves nothing, and the fleet as it was', async () => {
    const { site } = await startManagedSite();
    await using _ = site;
    await createUpgrades(site.admin);
    await createPolicyUpgrade(site.admin);
    expect((await site.difference()).left).toEqual(expect.arrayContaining(MADE));
    await site.follow(PAGE, ...ENDING, 'Remove the CRDs');
    await site.untilAsBefore();
  });

  test('takes its CRDs with it when it is told so', async () => {
    const { site } = await startManagedSite(['crds.keep=false']);
    await using _ = site;
    await createUpgrade(site.admin, 'waits', ['spoke-1'], { manifestWorkTemplates: ['slow'], enable: false });
    await site.follow(PAGE, ...ENDING);
    await site.untilAsBefore();
  });

  test('keeps upgrades and CRDs, which go without it later', async () => {
    const { site, hub } = await startManagedSite();
    await using _ = site;
    await createUpgrades(site.admin);
    await createPolicyUpgrade(site.admin);
    await hub.stop();
    await site.follow(PAGE, 'The hub, keeping its upgrades');
    const kept = (await site.difference()).left;
    expect(kept).toContain(`clustergroupupgrades.ran.openshift.io default/runs ${CLEANUP_FINALIZER}`);
    expect(kept.filter((each) => /flotilla-hub/.test(each) && !each.startsWith('leases.'))).toEqual([]);
    await site.follow(PAGE, 'The hub is gone already', 'Remove the CRDs');
    await site.admin.delete(Namespace, { name: NAMESPACE });
    await site.untilAsBefore();
  });

  test('without RHACM lets its clusters go too', async () => {
    await using site = await Site.start([]);
    const { admin } = site;
    await site.install('hub', 'hub', [...HUB_IMAGES, 'standalone=true', 'tenancy=true']);
    await createTemplates(admin);
    await registerSpokes(admin, [...CLUSTERS, SILENT]);
    await startFleet(site);
    await runHub(site, ['--standalone']);
    await eventually(
      async () => (await admin.get(Lease, { namespace: SILENT, name: 'managed-cluster-lease' })) !== undefined,
      'the clusters',
      60_000,
    );
    await createUpgrades(admin);
    expect((await site.difference()).left).toEqual(expect.arrayContaining([...MADE, 'serviceaccounts.core spoke-1/spoke-agent']));
    await site.follow(
      PAGE,
      'End the upgrades',
      'Let the clusters go',
      'Remove the release',
      'Remove the CRDs',
      'Remove the CRDs of the transport',
    );
    await site.untilAsBefore();
  });
});

test('a spoke has no pins left, without a hub', async () => {
  await using site = await Site.start(machineConfigCrds, ['daemonset-controller']);
  const { admin } = site;
  await site.note();
  for (const [name, labels] of [
    ['flotilla-one-master', { [Label.upgradeUid]: 'one' }],
    ['somebody-else', {}],
  ] as const)
    await admin.create(PinnedImageSet, {
      metadata: { name, labels: { [POOL_ROLE]: 'master', ...labels } },
      spec: { pinnedImages: [{ name: `registry.example.com/a@sha256:${'a'.repeat(64)}` }] },
    });
  await site.follow(PAGE, 'Pins on a spoke', 'PinnedImageSets on a spoke');
  await eventually(async () => (await site.difference()).left.length === 1, 'the rest to go', 60_000);
  expect((await site.difference()).left).toEqual([expect.stringContaining('/somebody-else')]);
});

test('a spoke has nothing left of agent and operators', async () => {
  await using site = await Site.start([]);
  const { admin } = site;
  for (const name of ['openshift-monitoring', 'openshift-config', 'openshift-machine-api', 'openshift-config-managed'])
    await admin.create(Namespace, { metadata: { name } });
  const operators = [
    'upgradeOperator.enabled=true',
    'upgradeOperator.ocm=true',
    'upgradeOperator.config.nodeDrain.timeOut=45',
    'versionOperator.enabled=true',
  ];
  const release = `versionOperator.release=registry.example.com/release@sha256:${'a'.repeat(64)}`;
  await site.install('flotilla-spoke', 'spoke', [...REQUIRED.spoke, ...operators, release]);
  // What the programs write while they run.
  await admin.create(Namespace, { metadata: { name: VERSION_NAMESPACE } });
  for (const [namespace, name] of [
    [OPERATOR_NAMESPACE, OPERATOR_LEASE],
    [VERSION_NAMESPACE, CLUSTER_VERSION_NAME],
  ] as const)
    await admin.create(Lease, { metadata: { namespace, name } });
  for (const [namespace, name] of [
    [VERSION_NAMESPACE, 'flotilla-version-operator-deletions'],
    ['openshift-config-managed', 'signatures-managed'],
  ] as const)
    await admin.create(ConfigMap, { metadata: { namespace, name } });
  await admin.create(Namespace, { metadata: { name: 'openshift-talo-pre-cache' } });
  await admin.create(ClusterVersion, {
    metadata: { name: CLUSTER_VERSION_NAME },
    spec: { clusterID: '00000000-0000-4000-8000-000000000001' },
  });
  await admin.create(UpgradeConfig, {
    metadata: { namespace: OPERATOR_NAMESPACE, name: UPGRADE_CONFIG_NAME },
    spec: {
      desired: { version: '4.14.12', channel: 'stable-4.14' },
      upgradeAt: conditionTime(Date.now()),
      PDBForceDrainTimeout: 60,
      type: 'OSD',
    },
  });
  await site.follow(
    PAGE,
    'End its upgrade',
    'Remove the agent and the operators',
    'Remove what the agent keeps',
    'Remove what the upgrade operator keeps',
    'Remove what the version operator keeps',
  );
  await site.untilAsBefore();
});
