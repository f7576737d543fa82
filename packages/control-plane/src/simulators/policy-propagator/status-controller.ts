import { conditionTime, refOfKey } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import type { ReconcileResult } from '@flotilla/runtime';
import { ignoreGone } from '../hub-writer.ts';
import type { PolicyDeps } from './policy-controller.ts';
import { BY_POLICY, placementOfBinding } from './propagator-caches.ts';
import { rollUpClusters } from './root-status.ts';

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
  const { compliant: oldCompliant, status: oldStatus, placement: oldPlacement } = root.status ?? {};
  if (JSON.stringify([compliant, status, placement]) === JSON.stringify([oldCompliant, sameOrder(oldStatus ?? []), oldPlacement ?? []]))
    return {};
  const patch = { status: { compliant: compliant ?? null, status, placement } };
  await writer.patch(Policy, ref, patch, { type: 'merge', subresource: 'status' }).catch(ignoreGone);
  return {};
}

/** Keys in the order in which they are made. */
const sameOrder = (entries: readonly { clustername: string; clusternamespace?: string; compliant?: string }[]) =>
  entries.map(({ clustername, clusternamespace, compliant }) => ({ clustername, clusternamespace, ...(compliant && { compliant }) }));

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
