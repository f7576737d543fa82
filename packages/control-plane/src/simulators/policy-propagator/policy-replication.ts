import { createHash } from 'node:crypto';
import { isJsonObject, type KubeObject, Label } from '@flotilla/api';
import { type PlacementBinding, Policy } from '@flotilla/api/ocm';

/** Effect of a replicated policy on its cluster; `own` is the action of the root. */
export type Action = 'enforce' | 'own';

/** Labels by which copies of one root differ. */
const CLUSTER_LABELS = ['policy.open-cluster-management.io/cluster-name', 'policy.open-cluster-management.io/cluster-namespace'];

/**
 * Decides on which clusters a root policy is placed, and with which action (spec/ocm 3.5). Bindings without `subFilter` place.
 * `restricted` ones never do, and only raise the action of a placed policy. An override raises to enforce and never lowers.
 */
export function placePolicy(
  bindings: readonly PlacementBinding[],
  decisions: (binding: PlacementBinding) => Iterable<string>,
): Map<string, Action> {
  const placed = new Map<string, Action>();
  const restricted = bindings.filter(({ subFilter }) => subFilter === 'restricted');
  for (const binding of bindings.filter((each) => !restricted.includes(each)))
    for (const cluster of decisions(binding)) if (enforces(binding) || !placed.has(cluster)) placed.set(cluster, actionOf(binding));
  for (const binding of restricted.filter(enforces))
    for (const cluster of decisions(binding)) if (placed.has(cluster)) placed.set(cluster, 'enforce');
  return placed;
}

const enforces = ({ bindingOverrides }: PlacementBinding): boolean => isEnforce(bindingOverrides?.remediationAction);
const actionOf = (binding: PlacementBinding): Action => (enforces(binding) ? 'enforce' : 'own');

/** True for a remediation action that changes things; any case. */
export const isEnforce = (action: string | undefined): boolean => action?.toLowerCase() === 'enforce';

/** Key of a root policy: `namespace/name`. */
export const keyOfChild = (child: KubeObject): string => (child.metadata.labels?.[Label.rootPolicy] ?? '').replace('.', '/');

/** Common content of the copies of one root; made once for all clusters. */
export interface ChildTemplate {
  /** Equal for equal contents; see `leanChild`. */
  readonly fingerprint: string;
  build(cluster: string): KubeObject;
}

/** The copy of a root policy (spec/ocm 3.2): name, labels, annotations, and the action its binding raised it to. */
export function childTemplate(root: Policy, action: Action): ChildTemplate {
  const { name, namespace = '' } = root.metadata;
  const labels = { ...root.metadata.labels, [Label.rootPolicy]: `${namespace}.${name}` };
  const annotations = { ...root.metadata.annotations, 'argocd.argoproj.io/compare-options': 'IgnoreExtraneous' };
  const spec = { ...root.spec, ...(action === 'enforce' && { remediationAction: 'enforce' }) };
  return {
    fingerprint: fingerprint({ labels, annotations, spec }),
    build: (cluster) => ({
      apiVersion: Policy.apiVersion,
      kind: Policy.kind,
      metadata: {
        name: `${namespace}.${name}`,
        namespace: cluster,
        labels: { ...labels, ...Object.fromEntries(CLUSTER_LABELS.map((label) => [label, cluster])) },
        annotations,
      },
      spec,
    }),
  };
}

/** A copy as the cache keeps it: `spec.fingerprint` instead of everything that only has to be equal. */
export function leanChild(child: Policy): Policy {
  const { name, namespace, uid, resourceVersion, labels = {}, annotations = {} } = child.metadata;
  const own = Object.fromEntries(Object.entries(labels).filter(([key]) => !CLUSTER_LABELS.includes(key)));
  return {
    metadata: { name, namespace, uid, resourceVersion, labels: { [Label.rootPolicy]: labels[Label.rootPolicy] ?? '' } },
    spec: { fingerprint: fingerprint({ labels: own, annotations, spec: child.spec }) },
    ...(child.status?.compliant && { status: { compliant: child.status.compliant } }),
  };
}

/** Short text that is equal for equal JSON, whatever the order of keys. */
export const fingerprint = (value: unknown): string =>
  createHash('sha1')
    .update(JSON.stringify(value, (_, each: unknown) => (isJsonObject(each) ? sorted(each) : each)) ?? '')
    .digest('base64');

const sorted = (object: object): object => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
