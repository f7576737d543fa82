import { Namespace } from '@flotilla/api/core';
import { Placement, PlacementBinding, PlacementDecision, type PlacementSpec, Policy } from '@flotilla/api/ocm';
import { type Client, isAlreadyExists } from '@flotilla/runtime';

/** A policy as its author writes it, and where it is placed. */
export interface PlacedPolicy {
  /** Default `policies`. */
  readonly namespace?: string;
  /** Clusters it informs about. */
  readonly clusters: readonly string[];
  /** Objects it wants; default: a ConfigMap of its name. */
  readonly objects?: readonly Readonly<Record<string, unknown>>[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Names of policies of its namespace that must be Compliant first. */
  readonly dependencies?: readonly string[];
  /** Its Placement is decided here and now, whatever the namespace is bound to, as by another controller; default false. */
  readonly decided?: boolean;
  /** Fields of its `spec`, over the others. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Creates a root policy that informs, with a Placement and a binding that place it; the propagator does the rest. */
export async function placePolicy(client: Client, name: string, options: PlacedPolicy): Promise<void> {
  const { namespace = 'policies', clusters, annotations, dependencies = [], decided = false, spec } = options;
  await client.create(Namespace, { metadata: { name: namespace } }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  const objects = options.objects ?? [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { wanted: name } },
  ];
  const depends = dependencies.map((each) => ({ ...POLICY, name: each, namespace, compliance: 'Compliant' }));
  const metadata = { name, namespace };
  await client.create(Policy, {
    metadata: { ...metadata, ...(annotations && { annotations }) },
    spec: {
      remediationAction: 'inform',
      disabled: false,
      ...(depends.length > 0 && { dependencies: depends }),
      'policy-templates': [{ objectDefinition: configuration(name, objects) }],
      ...spec,
    },
  });
  const placement = await client.create(Placement, {
    metadata: { ...metadata, ...(decided && { annotations: { [SCHEDULING_DISABLED]: 'true' } }) },
    spec: { predicates: [{ requiredClusterSelector: selectorOf(clusters) }] },
  });
  if (decided) await decide(client, placement, clusters);
  await client.create(PlacementBinding, {
    metadata,
    placementRef: { apiGroup: 'cluster.open-cluster-management.io', kind: 'Placement', name },
    subjects: [{ apiGroup: 'policy.open-cluster-management.io', kind: 'Policy', name }],
  });
}

const SCHEDULING_DISABLED = 'cluster.open-cluster-management.io/experimental-scheduling-disable';

async function decide(client: Client, { metadata }: Placement, clusters: readonly string[]): Promise<void> {
  const { name, namespace, uid } = metadata;
  const owner = { apiVersion: Placement.apiVersion, kind: Placement.kind, name, uid };
  const ref = { namespace, name: `${name}-decision-1` };
  await client.create(PlacementDecision, { metadata: { ...ref, ownerReferences: [owner] } });
  const decisions = clusters.map((clusterName) => ({ clusterName, reason: '' }));
  await client.patch(PlacementDecision, ref, { status: { decisions } }, { type: 'merge', subresource: 'status' });
}

const POLICY = { apiVersion: Policy.apiVersion, kind: Policy.kind };

/** Clusters by the label `name` that registration gives them. */
export const selectorOf = (clusters: readonly string[]) => ({
  labelSelector: { matchExpressions: [{ key: 'name', operator: 'In', values: [...clusters] }] },
});

/** The clusters such a selector names. */
export const selectorValues = (spec: PlacementSpec | undefined): string[] =>
  (spec?.predicates ?? []).flatMap(({ requiredClusterSelector }) =>
    (requiredClusterSelector?.labelSelector?.matchExpressions ?? []).flatMap(({ key, values }) => (key === 'name' ? (values ?? []) : [])),
  );

const configuration = (name: string, objects: readonly unknown[]) => ({
  apiVersion: 'policy.open-cluster-management.io/v1',
  kind: 'ConfigurationPolicy',
  metadata: { name },
  spec: {
    remediationAction: 'inform',
    'object-templates': objects.map((objectDefinition) => ({ complianceType: 'musthave', objectDefinition })),
  },
});
