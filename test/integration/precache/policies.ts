import { Label } from '@flotilla/api';
import { Namespace } from '@flotilla/api/core';
import { Policy } from '@flotilla/api/ocm';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

type Template = Readonly<Record<string, unknown>>;

/** What differs between a root policy and its copies is given here. */
interface PolicyOptions {
  readonly namespace?: string;
  /** Objects the policy wants, or whatever else stands for its `object-templates`. */
  readonly objects: unknown;
  /** Clusters that have a copy. */
  readonly clusters: readonly string[];
  /** Their compliance; default NonCompliant. */
  readonly compliant?: string;
  /** Objects in the copies, when they differ. */
  readonly copied?: unknown;
}

/** Creates a root policy, its copies in the clusters' namespaces and its roll-up, as the policy framework would. */
export async function createPolicy(client: Client, name: string, options: PolicyOptions): Promise<void> {
  const { namespace = 'policies', objects, clusters, compliant = 'NonCompliant', copied = objects } = options;
  await client.create(Namespace, { metadata: { name: namespace } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await client.create(Policy, { metadata: { name, namespace }, spec: specOf(objects) });
  const status = { compliant, status: clusters.map((cluster) => ({ clustername: cluster, clusternamespace: cluster, compliant })) };
  await client.patch(Policy, { namespace, name }, { status }, { type: 'merge', subresource: 'status' });
  const copy = `${namespace}.${name}`;
  for (const cluster of clusters)
    await client.create(Policy, {
      metadata: { name: copy, namespace: cluster, labels: { [Label.rootPolicy]: copy } },
      spec: specOf(copied),
    });
}

const specOf = (objects: unknown): Template => ({
  remediationAction: 'inform',
  disabled: false,
  'policy-templates': [{ objectDefinition: configuration(objects) }],
});

const configuration = (objects: unknown): Template => ({
  apiVersion: 'policy.open-cluster-management.io/v1',
  kind: 'ConfigurationPolicy',
  metadata: { name: 'config' },
  spec: {
    'object-templates': Array.isArray(objects)
      ? objects.map((objectDefinition) => ({ complianceType: 'musthave', objectDefinition }))
      : objects,
  },
});

/** A ClusterVersion that wants `spec`. */
export const clusterVersion = (spec: Template): Template => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterVersion',
  metadata: { name: 'version' },
  spec,
});

/** A Subscription and the CatalogSource it is served from. */
export const operator = (name: string, channel: string, image: string): Template[] => [
  {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'Subscription',
    metadata: { name, namespace: 'operators' },
    spec: { name, channel, source: 'catalog' },
  },
  {
    apiVersion: 'operators.coreos.com/v1alpha1',
    kind: 'CatalogSource',
    metadata: { name: 'catalog', namespace: 'openshift-marketplace' },
    spec: { sourceType: 'grpc', image },
  },
];
