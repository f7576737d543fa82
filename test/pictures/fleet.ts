/** A fleet in the middle of its night, the same in every picture. */
import { CLUSTER_AVAILABLE, ManagedCluster, ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import { ClusterGroupUpgrade, PreCachingConfig, type PrecacheState } from '@flotilla/api/ran';
import { mapConcurrently } from '@flotilla/pace';
import type { Client } from '@flotilla/runtime';

/** Time in the pictures: before any at which they are taken, so that what the API server dates itself is never old. */
export const NOW = Date.parse('2026-06-06T20:42:00Z');

const ago = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString().replace('.000Z', 'Z');
const names = (site: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${site}-${String(index + 1).padStart(3, '0')}`);
const [north, west, lab] = [names('north', 120), names('west', 60), names('lab', 8)];

const TEMPLATE = 'upgrade-4.18.9';

type Fields = Readonly<Record<string, unknown>>;

const condition = (type: string, status: string, reason: string, message: string, minutes: number) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: ago(minutes),
});
const selected = condition('ClustersSelected', 'True', 'ClusterSelectionCompleted', 'All selected clusters are valid', 95);
const validated = condition('Validated', 'True', 'ValidationCompleted', 'Completed validation', 94);
const batchesOf = (members: readonly string[], size: number): string[][] =>
  Array.from({ length: Math.ceil(members.length / size) }, (_, at) => members.slice(at * size, (at + 1) * size));
const statesOf = (members: readonly string[], stateAt: (index: number) => PrecacheState) =>
  Object.fromEntries(members.map((member, index) => [member, stateAt(index)]));

/** Batch 7 of 12 is under way; two spokes have failed, for want of space. */
function northUpgrade(): Upgrade {
  const plan = batchesOf(north, 10);
  const failed = new Map([
    ['north-012', 'pre-caching: 34 GB are needed, 31 GB are free: make room, then retry'],
    ['north-047', 'pre-caching: 34 GB are needed, 29 GB are free: make room, then retry'],
  ]);
  const ended = plan.slice(0, 6).flat();
  return {
    name: 'north-4.18.9',
    window: { start: ago(42), end: ago(-198) },
    members: north,
    spec: { enable: true, preCaching: true, remediationStrategy: { maxConcurrency: 10, timeout: 240 } },
    status: {
      conditions: [
        selected,
        validated,
        condition('PrecachingSuceeded', 'True', 'PartiallyDone', 'Precaching failed for 2 clusters', 50),
        condition('Progressing', 'True', 'InProgress', 'Remediating non-compliant policies', 42),
      ],
      computedMaxConcurrency: 10,
      remediationPlan: plan,
      managedPoliciesForUpgrade: [{ name: 'upgrade-4.18.9', namespace: 'ran' }],
      clusters: ended.map((name) =>
        failed.has(name) ? { name, state: 'timedout', message: failed.get(name) } : { name, state: 'complete' },
      ),
      precaching: { status: statesOf(north, (index) => (failed.has(north[index] ?? '') ? 'UnrecoverableError' : 'Succeeded')) },
      status: {
        startedAt: ago(42),
        currentBatch: 7,
        currentBatchStartedAt: ago(4),
        currentBatchRemediationProgress: Object.fromEntries(
          (plan[6] ?? []).map((name, index) => [name, index < 4 ? { state: 'Completed' } : { state: 'InProgress', policyIndex: 0 }]),
        ),
      },
    },
  };
}

/** Pulls for a window that opens tomorrow. */
function westUpgrade(): Upgrade {
  const stateAt = (index: number): PrecacheState =>
    index < 31 ? 'Succeeded' : index < 47 ? 'Active' : index < 50 ? 'Starting' : 'NotStarted';
  const pulling = west.slice(31, 47);
  return {
    name: 'west-4.18.9',
    window: { start: ago(-1_460), end: ago(-1_700) },
    members: west,
    spec: {
      enable: true,
      preCaching: true,
      preCachingConfigRef: { namespace: 'ran', name: TEMPLATE },
      manifestWorkTemplates: [TEMPLATE],
      remediationStrategy: { maxConcurrency: 15, timeout: 240 },
    },
    status: {
      conditions: [
        selected,
        validated,
        condition('PrecachingSuceeded', 'False', 'InProgress', 'Precaching in progress for 29 clusters', 20),
      ],
      computedMaxConcurrency: 15,
      remediationPlan: batchesOf(west, 15),
      precaching: {
        status: statesOf(west, stateAt),
        progress: Object.fromEntries(
          pulling.map((name, index) => [
            name,
            {
              imagesDone: 60 + index * 7,
              imagesTotal: 193,
              bytesDone: 3_000_000_000 + index * 550_000_000,
              bytesTotal: 14_820_000_000,
              bytesPerSecond: 5_200_000 + index * 90_000,
              at: new Date(NOW - 5_000).toISOString(),
            },
          ]),
        ),
        summary: { imagesDone: 8_243, imagesTotal: 11_580, bytesDone: 611_000_000_000, bytesTotal: 889_200_000_000 },
      },
      status: {},
    },
  };
}

/** Over since the afternoon. */
function labUpgrade(): Upgrade {
  return {
    name: 'lab-4.18.9',
    window: {},
    members: lab,
    spec: { enable: true, remediationStrategy: { maxConcurrency: 4, timeout: 240 } },
    status: {
      conditions: [
        selected,
        validated,
        condition('Succeeded', 'True', 'Completed', 'All clusters are compliant with all the managed policies', 300),
      ],
      computedMaxConcurrency: 4,
      remediationPlan: batchesOf(lab, 4),
      clusters: lab.map((name) => ({ name, state: 'complete' })),
      status: { startedAt: ago(350), completedAt: ago(300) },
    },
  };
}

interface Upgrade {
  readonly name: string;
  readonly window: { readonly start?: string; readonly end?: string };
  readonly members: readonly string[];
  readonly spec: Fields;
  readonly status: Fields;
}

/** Creates the fleet. */
export async function furnish(client: Client): Promise<void> {
  await client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: 'ran' } } });
  await client.request('POST', '/api/v1/namespaces', { body: { metadata: { name: 'flotilla' } } });
  await client.request('POST', '/apis/coordination.k8s.io/v1/namespaces/flotilla/leases', {
    body: {
      metadata: { name: 'flotilla-hub' },
      spec: { holderIdentity: 'hub-1', leaseDurationSeconds: 15, renewTime: new Date(NOW - 3_000).toISOString().replace('Z', '000Z') },
    },
  });
  await createTemplate(client);
  const versions = new Map([...north.slice(0, 60), ...lab].map((name) => [name, '4.18.9']));
  await mapConcurrently([...north, ...west, ...lab], 16, (name) => createSpoke(client, name, versions.get(name) ?? '4.18.4'));
  for (const upgrade of [northUpgrade(), westUpgrade(), labUpgrade()]) await createUpgrade(client, upgrade);
}

/** The template of the work that the west is given, and the images that it needs. */
async function createTemplate(client: Client): Promise<void> {
  const manifests = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'version', namespace: 'default' } }];
  await client.create(ManifestWorkReplicaSet, {
    metadata: { name: TEMPLATE, namespace: 'ran' },
    spec: { manifestWorkTemplate: { workload: { manifests } }, placementRefs: [{ name: 'west' }] },
  });
  await client.create(PreCachingConfig, {
    metadata: { name: TEMPLATE, namespace: 'ran' },
    spec: { overrides: { platformImage: `registry.example.com/release@sha256:${'5f1c'.repeat(16)}` }, spaceRequired: '34 GiB' },
  });
}

async function createSpoke(client: Client, name: string, version: string): Promise<void> {
  const labels = { name, openshiftVersion: version };
  await client.create(ManagedCluster, { metadata: { name, labels }, spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 } } as never);
  const isLost = name === 'west-058' || name === 'north-093';
  const said = isLost
    ? condition(CLUSTER_AVAILABLE, 'Unknown', 'ManagedClusterLeaseUpdateStopped', 'Registration agent stopped updating its lease.', 17)
    : condition(CLUSTER_AVAILABLE, 'True', 'ManagedClusterAvailable', 'Managed cluster is available', 900);
  await client.patch(ManagedCluster, { name }, { status: { conditions: [said] } }, { type: 'merge', subresource: 'status' });
}

async function createUpgrade(client: Client, { name, window, members, spec, status }: Upgrade): Promise<void> {
  const annotations = {
    ...(window.start !== undefined && { 'flotilla.io/window-start': window.start }),
    ...(window.end !== undefined && { 'flotilla.io/window-end': window.end }),
  };
  const ref = { namespace: 'ran', name };
  await client.create(ClusterGroupUpgrade, {
    metadata: { ...ref, annotations },
    spec: { ...(!('manifestWorkTemplates' in spec) && { managedPolicies: ['upgrade-4.18.9'] }), ...spec, clusters: members },
  } as never);
  await client.patch(ClusterGroupUpgrade, ref, { status }, { type: 'merge', subresource: 'status' });
}
