import type { UpgradeConfigSpec, UpgradeType } from '@flotilla/api/managed';
import type { OcmCluster, OcmPolicy } from '../clients/ocm-answers.ts';

/** States in which a policy wants no upgrade (any more). */
const IDLE: ReadonlySet<string> = new Set(['pending', 'completed', 'cancelled']);

/** True when a policy in that state wants an upgrade (spec/muo 3.5). */
export const isActionable = ({ version, problem }: OcmPolicy, state: string): boolean =>
  !IDLE.has(state.toLowerCase()) && (version !== '' || problem !== undefined);

/** Policies by when they are due; those without a readable moment come last. */
export const byNextRun = (policies: readonly OcmPolicy[]): OcmPolicy[] => policies.toSorted((a, b) => momentOf(a) - momentOf(b));

const momentOf = ({ next_run }: OcmPolicy): number => {
  const moment = Date.parse(next_run);
  return Number.isNaN(moment) ? Number.POSITIVE_INFINITY : moment;
};

/** The UpgradeConfig that a policy asks for; a text says what in it cannot be read. */
export function specOf(policy: OcmPolicy, cluster: OcmCluster, type: UpgradeType): UpgradeConfigSpec | string {
  if (policy.problem !== undefined) return policy.problem;
  const channel = channelOf(policy.version, cluster.version.channel_group);
  if (channel === undefined) return `version ${JSON.stringify(policy.version)} has no major and minor number`;
  const moment = momentOf(policy);
  if (!Number.isFinite(moment)) return `next_run ${JSON.stringify(policy.next_run)} is no moment`;
  return {
    type,
    upgradeAt: `${new Date(moment).toISOString().slice(0, 19)}Z`,
    PDBForceDrainTimeout: minutesOf(cluster.node_drain_grace_period),
    desired: { version: policy.version, channel },
    capacityReservation: policy.capacity_reservation,
  };
}

/** `<group>-<major>.<minor>`; extended updates have even minors alone. */
export function channelOf(version: string, channelGroup: string): string | undefined {
  const [, major, minor] = /^(\d{1,9})\.(\d{1,9})\.\d/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return undefined;
  const group = channelGroup || 'stable';
  const even = group === 'eus' && Number(minor) % 2 === 1 ? Number(minor) + 1 : Number(minor);
  return `${group}-${major}.${even}`;
}

const MINUTES: Readonly<Record<string, number>> = { second: 1 / 60, minute: 1, hour: 60, day: 1440 };

/** Whole minutes of a time with its unit; without one it is minutes. */
function minutesOf({ value, unit }: { readonly value: number; readonly unit: string }): number {
  const factor = MINUTES[unit.toLowerCase().replace(/s$/, '')] ?? 1;
  return Math.max(0, Math.min(2 ** 31 - 1, Math.trunc(value * factor)));
}
