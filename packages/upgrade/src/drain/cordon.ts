import type { Node } from '@flotilla/api/core';
import { MACHINE_CONFIG_STATE, MachineLabel, UNSCHEDULABLE_TAINT } from '@flotilla/api/machine';

/** Whether pods are kept off a node, and since when; `unknown` when its taint does not say. */
export type Cordon = { readonly sinceMs: number } | 'unknown' | undefined;

/** Cordoned is what is unschedulable and has the taint that says so (spec/muo 2.3). */
export function cordonOf({ spec }: Node): Cordon {
  const taint = spec?.taints?.find(({ key, effect }) => key === UNSCHEDULABLE_TAINT && effect === 'NoSchedule');
  if (!spec?.unschedulable || !taint) return undefined;
  const sinceMs = Date.parse(taint.timeAdded ?? '');
  return Number.isNaN(sinceMs) ? 'unknown' : { sinceMs };
}

/** Its configuration is being changed: whoever cordoned it did so for that. */
export const isBeingConfigured = ({ metadata }: Node): boolean => metadata.annotations?.[MACHINE_CONFIG_STATE] === 'Working';

/** Part of the control plane, which the cluster version operator waits for. */
export const isControlPlaneNode = ({ metadata: { labels = {} } }: Node): boolean =>
  labels[MachineLabel.master] !== undefined || labels[MachineLabel.controlPlane] !== undefined;
