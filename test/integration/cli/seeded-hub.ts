/** A hub whose objects stand still, with hostile texts of spokes in them: what commands say of it is the same each time. */
import { conditionTime, type KubeObject, type Resource } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterOperator, ClusterVersion, type ConfigCondition } from '@flotilla/api/config';
import { ConfigMap, Lease, Namespace } from '@flotilla/api/core';
import { UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { CLUSTER_AVAILABLE, ManagedCluster } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, FleetLimitsName, PreCachingConfig } from '@flotilla/api/ran';
import { findHold, type Wait, waitMessage } from '@flotilla/rollout';
import { type Client, replaceStatus } from '@flotilla/runtime';

/** Half an hour beyond a whole one, so that it reads the same while the tests run, and in the middle of a minute, so that its seconds are said. */
const closesAt = (): string => conditionTime(Math.floor(Date.now() / 60_000) * 60_000 + (100 * 24 + 20.5) * 3_600_000 + 30_000);

/** Clears the screen, turns the direction of writing, looks like another line, colours, names the window, and goes on for 10 KB. */
export const HOSTILE = `\u001b[2J\u001b[31mred\u001b]0;owned\u0007\u009b5A \u202egnirts\u2066 \r\u0008\u2028line\n[exit 0] ${'long '.repeat(2_000)}`;

const HOUR = 3_600_000;
/** Half an hour from the next digit: what is printed of an age stays the same while a test runs. */
const SEEDED_AGO_MS = 84.5 * HOUR;

type Say = (type: string, status: ConfigCondition['status'], reason: string, message: string) => ConfigCondition;

/** Fills a server. */
export async function seedHub(client: Client): Promise<void> {
  const now = Date.now();
  const since = conditionTime(now - SEEDED_AGO_MS);
  const condition: Say = (type, status, reason, message) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: since,
  });
  for (const name of ['flotilla', 'openshift-managed-upgrade-operator']) await client.create(Namespace, { metadata: { name } });
  const renewTime = new Date(now + HOUR).toISOString().replace('Z', '000Z');
  await client.create(Lease, {
    metadata: { namespace: 'flotilla', name: 'flotilla-hub' },
    spec: { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime, acquireTime: renewTime },
  });
  for (const name of ['site-1', 'site-2', 'site-3', 'site-4', 'site-5']) {
    const annotations: Record<string, string> = name === 'site-4' ? { 'flotilla.io/hold': HOSTILE } : {};
    const cluster = await client.create(ManagedCluster, {
      metadata: { name, labels: { site: 'yes' }, annotations },
      spec: { hubAcceptsClient: true },
    });
    const isAway = name === 'site-3';
    const available = condition(CLUSTER_AVAILABLE, isAway ? 'Unknown' : 'True', 'Lease', isAway ? HOSTILE : 'alive');
    await setStatus(client, ManagedCluster, cluster, { status: { conditions: [available] } });
  }
  const held = findHold({ metadata: { name: 'site-4', annotations: { 'flotilla.io/hold': HOSTILE } } }) ?? { cause: 'held', says: '' };
  const away: Wait = {
    cause: 'cluster-unavailable',
    says: 'site-3 is not available, and nothing newer is known of it',
    fix: 'see kubectl describe managedcluster site-3, and whether the cluster and its agent run',
    since: Date.parse(since),
    of: { object: 'ManagedCluster site-3', field: `status.conditions[${CLUSTER_AVAILABLE}]`, value: 'Unknown Lease' },
  };
  const limits =
    'pulling: 1\nupgrading: 3\nbytesPerSecond: 20000000\nbyLabel:\n- label: site\n  upgrading: 2\n  values: {no: {upgrading: 1}}\n';
  await client.create(ConfigMap, {
    metadata: { namespace: 'flotilla', name: FleetLimitsName.configMap },
    data: { [FleetLimitsName.key]: limits },
  });
  await client.create(PreCachingConfig, {
    metadata: { namespace: 'default', name: 'config' },
    spec: { overrides: { platformImage: `registry.test/release@sha256:${'a'.repeat(64)}` } },
  });
  const spec = {
    clusters: ['site-1', 'site-2', 'site-3', 'site-4', 'site-5'],
    preCaching: true,
    preCachingConfigRef: { name: 'config' },
    remediationStrategy: { maxConcurrency: 2, timeout: 240 },
  };
  const create = async (name: string, more: object, status: object, annotations: Record<string, string> = {}) => {
    const upgrade = await client.create(ClusterGroupUpgrade, {
      metadata: { namespace: 'default', name, annotations },
      spec: { ...spec, ...more },
    });
    await setStatus(client, ClusterGroupUpgrade, upgrade, { status: { observedGeneration: 1, ...status } });
  };
  const planned = [
    condition('ClustersSelected', 'True', 'ClusterSelectionCompleted', 'All selected clusters are valid'),
    condition('Validated', 'True', 'ValidationCompleted', 'Completed validation'),
    condition('PrecacheSpecValid', 'True', 'PrecacheSpecIsWellFormed', 'Precaching spec is valid and consistent'),
  ];
  const image = { platformImage: `registry.test/release@sha256:${'a'.repeat(64)}` };
  await create(
    'pulling',
    {},
    {
      conditions: [...planned, condition('PrecachingSuceeded', 'False', 'InProgress', 'Precaching in progress for 3 clusters')],
      computedMaxConcurrency: 2,
      remediationPlan: [['site-1', 'site-2'], ['site-3', 'site-4'], ['site-5']],
      precaching: {
        spec: image,
        status: { 'site-1': 'Succeeded', 'site-2': 'Active', 'site-3': 'Starting', 'site-4': 'NotStarted', 'site-5': 'UnrecoverableError' },
        messages: { 'site-3': waitMessage(away), 'site-4': waitMessage(held), 'site-5': HOSTILE },
        progress: {
          'site-2': {
            imagesDone: 3,
            imagesTotal: 10,
            bytesDone: 300_000_000,
            bytesTotal: 1_000_000_000,
            bytesPerSecond: 5_000_000,
            at: conditionTime(now + HOUR),
          },
        },
        summary: { imagesDone: 3, imagesTotal: 10, bytesDone: 300_000_000, bytesTotal: 1_000_000_000 },
      },
      status: {},
    },
  );
  await create(
    'rolling',
    { managedPolicies: ['policy-a'], preCaching: false },
    {
      conditions: [...planned.slice(0, 2), condition('Progressing', 'True', 'InProgress', 'Remediating non-compliant policies')],
      computedMaxConcurrency: 2,
      managedPoliciesForUpgrade: [{ name: 'policy-a', namespace: 'default' }],
      remediationPlan: [['site-1', 'site-2'], ['site-3', 'site-4'], ['site-5']],
      clusters: [
        { name: 'site-1', state: 'complete' },
        { name: 'site-2', state: 'timedout', message: HOSTILE },
      ],
      messages: { 'site-3': waitMessage(away), 'site-4': waitMessage(held) },
      waits: [{ for: HOSTILE.slice(0, 200), clusters: 1, names: ['site-3'] }],
      status: {
        startedAt: since,
        currentBatch: 2,
        currentBatchStartedAt: since,
        currentBatchRemediationProgress: { 'site-3': { state: 'InProgress', policyIndex: 0 } },
      },
    },
    { 'flotilla.io/window-start': '2020-01-01T00:00:00Z', 'flotilla.io/window-end': closesAt() },
  );
  await create(
    'ended',
    { preCaching: false },
    {
      conditions: [
        ...planned.slice(0, 2),
        condition('Progressing', 'False', 'TimedOut', HOSTILE),
        condition('Succeeded', 'False', 'TimedOut', HOSTILE),
      ],
      remediationPlan: [['site-1', 'site-2']],
      clusters: [
        { name: 'site-1', state: 'complete' },
        { name: 'site-2', state: 'timedout', message: HOSTILE },
      ],
      status: { startedAt: since, completedAt: since },
    },
  );
  await seedCluster(client, since, condition);
}

const setStatus = (client: Client, kind: Resource, { metadata: { namespace, name } }: KubeObject, patch: object): Promise<unknown> =>
  client.patch(kind, { ...(namespace && { namespace }), name }, patch, { type: 'merge', subresource: 'status' });

/** What a cluster that is upgraded has: the same server stands for it. */
async function seedCluster(client: Client, since: string, condition: Say): Promise<void> {
  const version = await client.create(ClusterVersion, { metadata: { name: CLUSTER_VERSION_NAME }, spec: { clusterID: 'c' } });
  const applying = `Working towards 4.18.10: 106 of 841 done (12% complete), waiting on etcd`;
  // A patch drops nulls, which the schema wants.
  await replaceStatus(client, ClusterVersion, version, {
    desired: { version: '4.18.10', image: `registry.test/release@sha256:${'a'.repeat(64)}` },
    observedGeneration: 1,
    versionHash: 'a',
    availableUpdates: null,
    history: [
      { state: 'Partial', version: '4.18.10', image: 'registry.test/a', startedTime: since, completionTime: null, verified: false },
    ],
    conditions: [condition('Progressing', 'True', '', applying), condition('Failing', 'False', '', '')],
  });
  for (const [name, message] of [
    ['etcd', HOSTILE],
    ['console', 'rolling out'],
  ] as const) {
    const operator = await client.create(ClusterOperator, { metadata: { name }, spec: {} });
    await setStatus(client, ClusterOperator, operator, { status: { conditions: [condition('Progressing', 'True', 'A', message)] } });
  }
  const config = await client.create(UpgradeConfig, {
    metadata: { namespace: 'openshift-managed-upgrade-operator', name: UPGRADE_CONFIG_NAME },
    spec: {
      type: 'ARO',
      upgradeAt: '2026-02-01T10:00:00Z',
      PDBForceDrainTimeout: 60,
      desired: { version: '4.18.10', channel: 'stable-4.18' },
    },
  });
  await setStatus(client, UpgradeConfig, config, {
    status: {
      history: [
        {
          version: '4.18.10',
          precedingVersion: '4.18.9',
          phase: 'Failed',
          conditions: [
            { type: 'StartedNotificationSent', status: 'True', completeTime: '2026-02-01T10:00:01Z' },
            { type: 'ClusterHealthyBeforeUpgrade', status: 'False', message: HOSTILE, lastTransitionTime: '2026-02-01T10:00:02Z' },
          ],
        },
      ],
    },
  });
}
