import { Label } from '@flotilla/api';
import { ManagedCluster, Policy } from '@flotilla/api/ocm';

/** An object or a part of one, as YAML has it. Everything here is for the tests of this folder, and made with the real schemas. */
type Template = Readonly<Record<string, unknown>>;

/** A cluster with labels. */
export const buildManagedCluster = (name: string, labels: Record<string, string> = {}): ManagedCluster =>
  ManagedCluster.schema.parse({ metadata: { name, labels } });

/** A policy template around a ConfigurationPolicy's spec. */
export const configurationPolicy = (spec: Template): Template => ({
  objectDefinition: { apiVersion: 'policy.open-cluster-management.io/v1', kind: 'ConfigurationPolicy', metadata: { name: 'config' }, spec },
});

/** An object template. */
export const objectTemplate = (objectDefinition: unknown, complianceType = 'musthave'): Template => ({ complianceType, objectDefinition });

/** A root policy that wants `objects`; `compliant` is its roll-up, `undefined` for a policy that reported nothing yet. */
export function buildPolicy(
  name: string,
  options: {
    namespace?: string;
    objects?: unknown[];
    spec?: Template;
    compliant?: Readonly<Record<string, string>>;
    labels?: Record<string, string>;
  } = {},
): Policy {
  const { namespace = 'policies', objects = [], spec, compliant, labels } = options;
  const templates = [configurationPolicy({ 'object-templates': objects.map((each) => objectTemplate(each)) })];
  const status =
    compliant && Object.entries(compliant).map(([clustername, value]) => ({ clustername, ...(value && { compliant: value }) }));
  return Policy.schema.parse({
    metadata: { name, namespace, ...(labels && { labels }) },
    spec: { remediationAction: 'inform', 'policy-templates': templates, ...spec },
    ...(status && { status: { status } }),
  });
}

/** The copy of a root policy on a cluster. */
export function buildChild(parent: Policy, cluster: string, spec: Template = {}): Policy {
  const name = `${parent.metadata.namespace}.${parent.metadata.name}`;
  return Policy.schema.parse({
    metadata: { name, namespace: cluster, labels: { [Label.rootPolicy]: name } },
    spec: { ...parent.spec, ...spec },
  });
}

/** A ClusterVersion as a policy wants it. */
export const clusterVersion = (spec: Template): Template => ({
  apiVersion: 'config.openshift.io/v1',
  kind: 'ClusterVersion',
  metadata: { name: 'version' },
  spec,
});

/** A Subscription as a policy wants it. */
export const subscription = (spec: Template): Template => ({
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'Subscription',
  metadata: { name: 'sub', namespace: 'operators' },
  spec,
});

/** A CatalogSource as a policy wants it. */
export const catalogSource = (spec: Template): Template => ({
  apiVersion: 'operators.coreos.com/v1alpha1',
  kind: 'CatalogSource',
  metadata: { name: 'catalog', namespace: 'openshift-marketplace' },
  spec,
});
