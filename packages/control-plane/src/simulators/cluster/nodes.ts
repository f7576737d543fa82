import { conditionTime, type KubeObject } from '@flotilla/api';
import { Node, Pod, PodDisruptionBudget } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';
import { type Client, isNotFound } from '@flotilla/runtime';

/** A Node that is ready, with a configuration. */
export async function createNode(client: Client, name: string, labels: Readonly<Record<string, string>>, config: string): Promise<void> {
  await client.create(Node, {
    metadata: { name, labels: { ...labels }, annotations: { ...annotationsOf({ desired: config }), ...doneWith(config) } },
  });
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastTransitionTime: conditionTime(Date.now()) };
  await client.patch(Node, { name }, { status: { conditions: [ready] } }, { type: 'merge', subresource: 'status' });
}

/** As annotations of a node. */
export const annotationsOf = (facts: Partial<Record<keyof typeof MachineConfigAnnotation, string>>): Record<string, string> =>
  Object.fromEntries(
    (['state', 'reason', 'current', 'desired'] as const).flatMap((fact): [string, string][] => {
      const value = facts[fact];
      return value === undefined ? [] : [[MachineConfigAnnotation[fact], value]];
    }),
  );

const doneWith = (config: string) => annotationsOf({ state: MachineConfigState.done, current: config, reason: '' });

/** Keeps pods off a node from now on, as is done before it is drained. */
export async function cordon(client: Client, node: Node, nowMs: number): Promise<void> {
  const others = (node.spec?.taints ?? []).filter(({ key }) => key !== UNSCHEDULABLE_TAINT);
  const taint = { key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule', timeAdded: conditionTime(nowMs) };
  await client.patch(Node, { name: node.metadata.name }, { spec: { unschedulable: true, taints: [...others, taint] } }, { type: 'merge' });
}

/** The node has another configuration, and takes pods again. */
export async function finishNode(client: Client, node: Node, config: string): Promise<void> {
  const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== UNSCHEDULABLE_TAINT);
  const annotations = doneWith(config);
  await client.patch(
    Node,
    { name: node.metadata.name },
    { metadata: { annotations }, spec: { unschedulable: null, taints } },
    { type: 'merge' },
  );
}

/** Evicts what may be evicted; true when nothing is left that a drain waits for. */
export async function drain(client: Client, name: string): Promise<boolean> {
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${name}` });
  const pods = items.filter(({ metadata }) => !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet'));
  if (pods.length === 0) return true;
  const budgets = (await client.list(PodDisruptionBudget)).items;
  for (const pod of pods)
    if (!pod.metadata.deletionTimestamp && !budgets.some((budget) => holdsBack(budget, pod)))
      await client.delete(Pod, { namespace: pod.metadata.namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 });
  return false;
}

/** The eviction would be refused: budgets here allow no disruption. */
function holdsBack({ metadata, spec }: PodDisruptionBudget, pod: KubeObject): boolean {
  const labels = pod.metadata.labels ?? {};
  return (
    metadata.namespace === pod.metadata.namespace &&
    Object.entries(spec?.selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value)
  );
}

/** For a write to what may have gone meanwhile. */
export function unlessGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
