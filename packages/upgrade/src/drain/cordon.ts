import type { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';

/** Whether pods are kept off a node, and since when; `unknown` when its taint does not say. */
type Cordon = { readonly sinceMs: number } | 'unknown' | undefined;

/** Cordoned is what is unschedulable and has the taint that says so (spec/muo 2.3). */
export function cordonOf({ spec }: Node): Cordon {
  const taint = spec?.taints?.find(({ key, effect }) => key === UNSCHEDULABLE_TAINT && effect === 'NoSchedule');
  if (!spec?.unschedulable || !taint) return undefined;
  const sinceMs = Date.parse(taint.timeAdded ?? '');
  return Number.isNaN(sinceMs) ? 'unknown' : { sinceMs };
}

/** A daemon that gave a drain up is Degraded while the node waits on, cordoned, for its pods to go. */
const CHANGING: ReadonlySet<string | undefined> = new Set([
  MachineConfigState.working,
  MachineConfigState.degraded,
  MachineConfigState.unreconcilable,
]);

/** Its configuration is being changed, or is to be: whoever cordoned it did so for that (spec/muo 12, 7). */
export function isBeingConfigured({ metadata: { annotations = {} } }: Node): boolean {
  const { state, current, desired } = MachineConfigAnnotation;
  return CHANGING.has(annotations[state]) || (annotations[desired] !== undefined && annotations[desired] !== annotations[current]);
}

/** Part of the control plane, which the cluster version operator waits for. */
export const isControlPlaneNode = ({ metadata: { labels = {} } }: Node): boolean =>
  labels[MachineLabel.master] !== undefined || labels[MachineLabel.controlPlane] !== undefined;
