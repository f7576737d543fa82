/** What is upgraded beside Open Cluster Management: one Deployment, by a ManifestWork or by a policy. Pure. */
import type { KubeObject } from '@flotilla/api';
import { Pod } from '@flotilla/api/core';
import type { Client } from '@flotilla/runtime';
import { z } from 'zod';

/** Namespace of the Deployment on each spoke. */
export const EDGE = 'edge';
/** Namespace of policies, templates and upgrades on the hub. */
export const UPGRADES = 'fleet-upgrades';
const NAME = 'gateway';
const REPLICAS = 2;

/** The image is on every node of a whole cluster; versions differ by a label of the pods. */
const podTemplate = (version: string) => ({
  metadata: { labels: { app: NAME, version } },
  spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'app', image: 'local.test/pause:1', imagePullPolicy: 'Never' }] },
});

/** The Deployment, whole. */
export const gateway = (version: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: NAME, namespace: EDGE },
  spec: { replicas: REPLICAS, selector: { matchLabels: { app: NAME } }, template: podTemplate(version) },
});

/** A template for ManifestWorks: done when every replica is of the new version, counted by the spoke's controllers. */
export const gatewayWork = (name: string, version: string) => ({
  apiVersion: 'work.open-cluster-management.io/v1alpha1',
  kind: 'ManifestWorkReplicaSet',
  metadata: {
    name,
    namespace: UPGRADES,
    annotations: {
      'openshift-cluster-group-upgrades/expectedValues': JSON.stringify(
        ['Replicas', 'UpdatedReplicas', 'AvailableReplicas'].map((field) => ({ manifestIndex: 0, name: field, value: String(REPLICAS) })),
      ),
    },
  },
  spec: {
    // Required by the kind; upgrades choose the clusters, so it names no Placement.
    placementRefs: [{ name: 'none' }],
    manifestWorkTemplate: {
      deleteOption: { propagationPolicy: 'Orphan' },
      workload: { manifests: [gateway(version)] },
      manifestConfigs: [
        {
          resourceIdentifier: { group: 'apps', resource: 'deployments', name: NAME, namespace: EDGE },
          updateStrategy: { type: 'ServerSideApply', serverSideApply: { force: true } },
          feedbackRules: [
            {
              type: 'JSONPaths',
              jsonPaths: ['replicas', 'updatedReplicas', 'availableReplicas'].map((field) => ({
                name: field.charAt(0).toUpperCase() + field.slice(1),
                path: `.status.${field}`,
              })),
            },
          ],
        },
      ],
    },
  },
});

/**
 * A policy that informs about these clusters, with its Placement and binding: the Deployment is of a version, pods of that version run, and
 * none of another one is left. A template without a name is never enforced, so it only looks.
 */
export function gatewayPolicy(name: string, version: string, options: { readonly replaces: string; readonly clusters: readonly string[] }) {
  const metadata = { name, namespace: UPGRADES };
  const pods = (of: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: EDGE, labels: { app: NAME, version: of } } });
  const configuration = {
    apiVersion: 'policy.open-cluster-management.io/v1',
    kind: 'ConfigurationPolicy',
    metadata: { name },
    spec: {
      remediationAction: 'inform',
      severity: 'low',
      'object-templates': [
        { complianceType: 'musthave', objectDefinition: gateway(version) },
        { complianceType: 'musthave', objectDefinition: { ...pods(version), status: { phase: 'Running' } } },
        { complianceType: 'mustnothave', objectDefinition: pods(options.replaces) },
      ],
    },
  };
  const matchExpressions = [{ key: 'name', operator: 'In', values: [...options.clusters] }];
  return [
    {
      apiVersion: 'policy.open-cluster-management.io/v1',
      kind: 'Policy',
      metadata,
      spec: { remediationAction: 'inform', disabled: false, 'policy-templates': [{ objectDefinition: configuration }] },
    },
    {
      apiVersion: 'cluster.open-cluster-management.io/v1beta1',
      kind: 'Placement',
      metadata,
      spec: { predicates: [{ requiredClusterSelector: { labelSelector: { matchExpressions } } }] },
    },
    {
      apiVersion: 'policy.open-cluster-management.io/v1',
      kind: 'PlacementBinding',
      metadata,
      placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name },
      subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name }],
    },
  ] as const;
}

/** An upgrade of these clusters, the first of them as canary, one after the other. */
export const upgradeOf = (name: string, clusters: readonly string[], what: Readonly<Record<string, unknown>>) => ({
  apiVersion: 'ran.openshift.io/v1alpha1',
  kind: 'ClusterGroupUpgrade',
  metadata: { name, namespace: UPGRADES },
  spec: {
    clusters,
    enable: true,
    remediationStrategy: { canaries: clusters.slice(0, 1), maxConcurrency: 1, timeout: 60 },
    ...what,
  },
});

const PodState = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).default({}) }),
  status: z
    .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]) })
    .default({ conditions: [] }),
});

/** Versions of the pods there are on a spoke, one entry per pod that is not about to go: with `!` when it is not ready. */
export async function runningVersions(client: Client): Promise<string[]> {
  const { items } = await client.list(Pod, { namespace: EDGE, labelSelector: `app=${NAME}` });
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(describePod)
    .toSorted();
}

function describePod(pod: KubeObject): string {
  const { metadata, status } = PodState.parse(pod);
  const isReady = status.conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return `${metadata.labels.version}${isReady ? '' : '!'}`;
}

/** What `runningVersions` says when all pods are of one version and ready. */
export const allOf = (version: string): string[] => Array.from({ length: REPLICAS }, () => version);
