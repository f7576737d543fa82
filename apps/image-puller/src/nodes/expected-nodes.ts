/** Decides which nodes of a spoke are to be filled. Pure. */
import type { NodeRules } from '@flotilla/api/ran';

/** A node as its cluster lists it. */
export interface ListedNode {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[];
}

/** Taints that every DaemonSet's pods tolerate. */
const TOLERATED_BY_ALL = [
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/unschedulable',
].map((key) => ({ key, operator: 'Exists' as const }));

/** Lists the nodes on which the DaemonSet's pods run: the labels are right and every taint that keeps pods away is tolerated. */
export function expectedNodes(nodes: readonly ListedNode[], { selector, tolerations }: NodeRules): ListedNode[] {
  const all = [...tolerations, ...TOLERATED_BY_ALL];
  return nodes.filter(
    ({ labels, taints }) =>
      Object.entries(selector).every(([name, value]) => labels[name] === value) &&
      taints
        .filter(({ effect }) => effect !== 'PreferNoSchedule')
        .every((taint) => all.some((toleration) => isTolerated(taint, toleration))),
  );
}

function isTolerated(taint: ListedNode['taints'][number], { key, operator, value, effect }: NodeRules['tolerations'][number]): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === undefined) return operator === 'Exists';
  return key === taint.key && (operator === 'Exists' || (value ?? '') === (taint.value ?? ''));
}
