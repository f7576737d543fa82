import type { Node } from '@flotilla/api/core';
import { MachineConfigAnnotation, MachineConfigState, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';

/** Cordon of a node and its start; `unknown` when the taint has no time. */
type Cordon = { readonly sinceMs: number } | 'unknown' | undefined;

/** Reads the cordon: the node is unschedulable and has the taint for it (spec/muo 2.3). */
export function cordonOf({ spec }: Node): Cordon {
  const taint = spec?.taints?.find(({ key, effect }) => key === UNSCHEDULABLE_TAINT && effect === 'NoSchedule');
  if (!spec?.unschedulable || !taint) return undefined;
  const sinceMs = Date.parse(taint.timeAdded ?? '');
  return Number.isNaN(sinceMs) ? 'unknown' : { sinceMs };
}

/** A daemon that gave a drain up is Degraded, while the cordoned node still waits for its pods to go. */
const CHANGING: ReadonlySet<string | undefined> = new Set([
  MachineConfigState.working,
  MachineConfigState.degraded,
  MachineConfigState.unreconcilable,
]);

/** True when the node's configuration changes, or is about to: its cordon serves that (spec/muo 12, 7). */
export function isBeingConfigured({ metadata: { annotations = {} } }: Node): boolean {
  const { state, current, desired } = MachineConfigAnnotation;
  return CHANGING.has(annotations[state]) || (annotations[desired] !== undefined && annotations[desired] !== annotations[current]);
}

/** True for a node of the control plane, which the cluster version operator waits for. */
export const isControlPlaneNode = ({ metadata: { labels = {} } }: Node): boolean =>
  labels[MachineLabel.master] !== undefined || labels[MachineLabel.controlPlane] !== undefined;
