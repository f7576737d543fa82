import { conditionTime, isSameJson, refOfKey } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import type { ReconcileResult } from '@flotilla/runtime';
import { ignoreGone } from '../hub-writer.ts';
import type { PolicyDeps } from './policy-controller.ts';
import { BY_POLICY, placementOfBinding } from './propagator-caches.ts';
import type { ComplianceState } from './simulated-compliance.ts';

/** One cluster's part in a root policy's status; JSON names are lower-case (spec/ocm 3.3). */
interface ClusterEntry {
  readonly clustername: string;
  readonly clusternamespace: string;
  readonly compliant?: ComplianceState;
}

/** `status` of a root policy as it is written. */
interface RootStatus {
  /** Absent: some cluster has not reported, or there is none. */
  readonly compliant?: ComplianceState;
  /** Sorted by name. */
  readonly status: readonly ClusterEntry[];
}

/** Rolls the clusters up (spec/ocm 3.3): NonCompliant or Pending if any is, in this order; else nothing while any has not reported; else Compliant. */
export function rollUpClusters(states: ReadonlyMap<string, ComplianceState | undefined>): RootStatus {
  const status = [...states]
    .map(([cluster, compliant]) => ({ clustername: cluster, clusternamespace: cluster, ...(compliant && { compliant }) }))
    .sort((a, b) => (a.clustername < b.clustername ? -1 : 1));
  const compliant = overall(new Set(states.values()));
  return { ...(compliant && { compliant }), status };
}

function overall(seen: ReadonlySet<ComplianceState | undefined>): ComplianceState | undefined {
  if (seen.has('NonCompliant')) return 'NonCompliant';
  if (seen.has('Pending')) return 'Pending';
  return seen.has(undefined) || seen.size === 0 ? undefined : 'Compliant';
}

interface StatusDeps extends PolicyDeps {
  readonly now: () => number;
}

/** Writes the roll-up of one root policy (key `namespace/name`) when it changed: one write, however many clusters did. */
export async function reconcileRootStatus(key: string, { caches, compliance, placed, writer }: StatusDeps): Promise<ReconcileResult> {
  const ref = refOfKey(key);
  const root = caches.roots.get(ref);
  if (!root) return {};
  const clusters = [...(placed.get(key)?.keys() ?? [])];
  const { compliant, status } = rollUpClusters(new Map(clusters.map((cluster) => [cluster, compliance.state(key, cluster)])));
  const placement = caches.bindings
    .byIndex(BY_POLICY, key)
    .map((binding) => ({ placement: placementOfBinding(binding)[0]?.split('/')[1] ?? '', placementBinding: binding.metadata.name }))
    .sort((a, b) => (a.placementBinding < b.placementBinding ? -1 : 1));
  const before = root.status ?? {};
  if (isSameJson([compliant, status, placement], [before.compliant, before.status ?? [], before.placement ?? []])) return {};
  const patch = { status: { compliant: compliant ?? null, status, placement } };
  await writer.patch(Policy, ref, patch, { type: 'merge', subresource: 'status' }).catch(ignoreGone);
  return {};
}

/** Writes what a cluster reports into its copy (key `policy namespace/policy name cluster`), as its agent would. */
export async function reconcileChildStatus(key: string, { caches, compliance, writer, now }: StatusDeps): Promise<ReconcileResult> {
  const [policy = '', cluster = ''] = key.split(' ');
  const { namespace, name } = refOfKey(policy);
  const ref = { namespace: cluster, name: `${namespace}.${name}` };
  const child = caches.children.get(ref);
  const root = caches.roots.get({ namespace, name });
  const compliant = compliance.state(policy, cluster);
  if (!child || !root || compliant === undefined || child.status?.compliant === compliant) return {};
  const eventName = `${ref.name}.${now().toString(16)}`;
  const lastTimestamp = conditionTime(now());
  const message = `${compliant}; notification - reported by a simulated cluster`;
  const templateMeta = { name: root.metadata.name };
  const details = [{ templateMeta, compliant, history: [{ lastTimestamp, message, eventName }] }];
  const status = { compliant, details };
  await writer.patch(Policy, ref, { status }, { type: 'merge', subresource: 'status' }).catch(ignoreGone);
  return {};
}

/** Key of `reconcileChildStatus`. */
export const childStatusKey = (policy: string, cluster: string): string => `${policy} ${cluster}`;
